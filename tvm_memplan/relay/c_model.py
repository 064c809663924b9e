"""A Relay model built for C, as the values that `tvm_memplan.export` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.errors import BadInput, DoesNotFit, UnsupportedIR
from tvm_memplan.export.model import Arena, CModel, Tensor, Weight
from tvm_memplan.export.names import identifier, identifiers
from tvm_memplan.planning.bounds.bound import effective_alignment
from tvm_memplan.planning.model import Kind, Plan, Pool, round_up
from tvm_memplan.planning.planners import DEFAULT_SECONDS
from tvm_memplan.relay.operators_c import entry_parameters, operators_source
from tvm_memplan.relay.plan_model import PlannedModel, Planner, Pools, checked_configuration, chosen_pools, plan_lowered
from tvm_memplan.relay.pools import c_name
from tvm_memplan.relay.targets import Configuration
from tvm_memplan.relay.usmp import Lowered, build_with

#: Generated calls are put right by `operators_source`, so there may be more pools than TVM keeps in order.
MOST_MEMORIES = 64


@dataclass(frozen=True)
class Options:
    """How a model is exported; see `tvm_memplan.relay.export`."""

    target: Any
    planner: Planner = "auto"
    time_limit: float | None = DEFAULT_SECONDS
    io_in_pool: bool = True
    weights_in: str = ""
    name: str = "model"
    title: str = "model"
    opt_level: int = 3


def c_model(
    mod: Any,
    params: Mapping[str, Any] | None,
    options: Options,
    pools: Pools | None = None,
    weight_pools: Pools | None = None,
) -> CModel:
    """Build a model and return it as it is to be written; errors as for `tvm_memplan.relay.export`."""
    config = checked_configuration(options.target, None, None, options.io_in_pool)
    _check(config, options)
    activations, constants = chosen_pools(pools, weight_pools, None, 0)
    kept: list[tuple[Lowered, PlannedModel]] = []

    def decide(lowered: Lowered) -> Plan:
        room = _beside_weights(activations, options.weights_in, weights_bytes(lowered, config))
        made = plan_lowered(lowered, config, room, constants, options.planner, options.title, options.time_limit)
        kept.append((lowered, made))
        return made.plan

    module = build_with(
        mod,
        params,
        config,
        decide,
        opt_level=options.opt_level,
        io_in_pool=options.io_in_pool,
        mod_name=options.name,
        most_pools=MOST_MEMORIES,
    )
    lowered, made = kept[-1]
    return _model(module, lowered, made, options)


def weights_bytes(lowered: Lowered, config: Configuration) -> int:
    """Bytes of all weights, each aligned."""
    from tvm_memplan.planning.trace import Alloc

    sizes = [n.size for n in lowered.program.trace.body if isinstance(n, Alloc) and n.kind is Kind.WEIGHTS]
    return sum(round_up(size, config.constant_alignment) for size in sizes)


def _check(config: Configuration, options: Options) -> None:
    if config.target.split()[0] != "c" or config.interface_api != "c" or not config.unpacked_api:
        raise BadInput(f"export writes plain C, and target {config.target!r} is not built as such; use micro_config()")
    if identifier(options.name) != options.name or not options.name.islower():
        raise BadInput(f"name {options.name!r}: it starts every name in C; use lower-case letters, digits and _")


def _beside_weights(pools: tuple[Pool, ...], region: str, size: int) -> tuple[Pool, ...]:
    """Return the pools with room for the weights taken off the one that they are copied to."""
    made = []
    for pool in pools:
        if pool.name == region and pool.capacity is not None:
            if size > pool.capacity:
                raise DoesNotFit(f"a copy of the weights takes {size} bytes, and pool {region!r} has {pool.capacity}")
            pool = replace(pool, capacity=pool.capacity - size)
        made.append(pool)
    return tuple(made)


def _model(module: Any, lowered: Lowered, made: PlannedModel, options: Options) -> CModel:
    for left in made.report.left_alone:
        raise UnsupportedIR(f"buffer {left.name!r} of {left.function} is not planned ({left.reason}): export needs all")
    for name in lowered.program.unwritten:
        raise UnsupportedIR(f"nothing is written to output {name!r}: it is returned more than once; return it once")
    entry = f"tvmgen_{options.name}___tvm_main__"
    operators = operators_source(module, entry)
    tensors = _tensors(module, made.plan, options.io_in_pool)
    weights = _weights(lowered, made.plan)
    meta = module.executor_codegen_metadata
    arguments = [] if options.io_in_pool else [tensor.identifier for tensor in tensors]
    written = _written(made.plan)
    names = {c_name(pool): pool for pool in written} | ({"global_workspace": written[0]} if len(written) == 1 else {})
    for var in meta.pools or ():
        name = str(meta.pool_inputs[var].pool_info.pool_name)
        arguments.append("" if name == "global_const_workspace" else names[name])
    found = entry_parameters(operators, entry)
    if len(found) != len(arguments):
        raise UnsupportedIR(
            f"{entry} takes {len(found)} arguments ({', '.join(found)}), where {len(arguments)} are known"
        )
    return CModel(
        name=options.name,
        title=options.title,
        tensors=tensors,
        arenas=_arenas(made.plan, written),
        weights=weights,
        weights_alignment=made.configuration.constant_alignment,
        weights_pool=options.weights_in or next((_pool(made.plan, weight.name) for weight in weights), ""),
        weights_in_ram=bool(options.weights_in and weights),
        entry=entry,
        arguments=tuple(arguments),
        operators=operators,
        plan=made.plan,
        report=made.report,
    )


def _pool(plan: Plan, name: str) -> str:
    return next(place.pool for buffer, place in zip(plan.problem.buffers, plan.placements) if buffer.name == name)


def _written(plan: Plan) -> list[str]:
    """Return the pools that hold arenas, in the plan's order."""
    from tvm_memplan.relay.problem import CALLER

    used = {
        place.pool
        for buffer, place in zip(plan.problem.buffers, plan.placements)
        if buffer.kind is not Kind.WEIGHTS and place.pool != CALLER
    }
    return [pool.name for pool in plan.problem.pools if pool.name in used]


def _arenas(plan: Plan, written: Sequence[str]) -> tuple[Arena, ...]:
    names = identifiers(written)
    pools = {pool.name: pool for pool in plan.problem.pools}
    made = []
    for name in written:
        members = [i for i, place in enumerate(plan.placements) if place.pool == name]
        alignment = max(effective_alignment(plan.problem, i, pools[name]) for i in members)
        made.append(Arena(name, names[name].lower(), plan.size(name), max(alignment, pools[name].alignment)))
    return tuple(arena for arena in made if arena.size)


def _tensors(module: Any, plan: Plan, io_in_pool: bool) -> tuple[Tensor, ...]:
    meta = module.executor_codegen_metadata
    inputs = [(str(var.name), kind) for var, kind in zip(meta.inputs, meta.input_tensor_types)]
    outputs = [(str(name), kind) for name, kind in zip(meta.outputs, meta.output_tensor_types)]
    names = identifiers([*(f"{name}" for name, _ in inputs), *(name for name, _ in outputs)])
    places = {c_name(pool): pool for pool in _written(plan)}
    made = []
    for kind, tensors in ((Kind.INPUT, inputs), (Kind.OUTPUT, outputs)):
        for name, declared in tensors:
            shape = tuple(int(extent) for extent in declared.shape)
            tensor = Tensor(name, names[name].lower(), kind, str(declared.dtype), shape)
            if io_in_pool:
                found = meta.io_pool_allocations[name]
                tensor = replace(tensor, pool=places[str(found.pool_info.pool_name)], offset=int(found.byte_offset))
            made.append(tensor)
    return tuple(made)


def _weights(lowered: Lowered, plan: Plan) -> tuple[Weight, ...]:
    placed = [
        (place.offset, buffer.name)
        for buffer, place in zip(plan.problem.buffers, plan.placements)
        if buffer.kind is Kind.WEIGHTS and buffer.size
    ]
    names = identifiers(name for _, name in sorted(placed))
    return tuple(
        Weight(name, names[name], offset, lowered.program.statements[name].data.numpy())
        for offset, name in sorted(placed)
    )
