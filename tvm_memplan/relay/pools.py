"""From placements to TVM's pools.

::

    ours                    TVM's                       in the generated code
    weights                 global_const_workspace      C: a struct of constants; C++ runtime: one array
    one activation pool     global_workspace            C: a static array; C++ runtime: one array
    several, or with        workspace_<name> each       C: pointers that the caller supplies
    inputs and outputs

What TVM would take without a word and then get wrong is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tvm_memplan.errors import BadInput, BadPlan, UnsupportedIR
from tvm_memplan.planning.model import Kind, Plan, round_up
from tvm_memplan.relay.targets import Configuration

# TVM passes pools in the order of a map that keeps insertion order only up to this many entries.
MOST_POOLS = 4
MOST_BYTES = 2**31 - 1


def pool_allocations(
    plan: Plan, names: Mapping[Any, str], config: Configuration, io_in_pool: bool, most_pools: int = MOST_POOLS
) -> dict[Any, Any]:
    """Return what a USMP algorithm returns: a `PoolAllocation` per `BufferInfo`.

    Parameters
    ----------
    plan : Plan
        A judged plan.
    names : mapping of tvm.tir.usmp.BufferInfo to str
        The buffers that TVM asks about, by the plan's names.
    config : Configuration
        What is built.
    io_in_pool : bool
        Whether inputs and outputs are among them.
    most_pools : int
        How many pools the generated calls can be trusted with.

    Raises
    ------
    UnsupportedIR
        There are more or larger pools than TVM can take.
    BadPlan
        The weights are not laid out as C lays out a struct.
    BadInput
        Two pools have one name in C.
    """
    from tvm.tir.usmp.utils import PoolAllocation

    here = set(names.values())
    kinds = {buffer.name: buffer.kind for buffer in plan.problem.buffers if buffer.name in here}
    placed = {b.name: place for b, place in zip(plan.problem.buffers, plan.placements) if b.name in here}
    constant = {place.pool for name, place in placed.items() if kinds[name] is Kind.WEIGHTS}
    written = {place.pool for name, place in placed.items() if kinds[name] is not Kind.WEIGHTS}
    check_pools(plan, written, constant, most_pools)
    if config.runtime == "crt":
        check_c_layout(plan, config.constant_alignment)
    if config.runtime == "cpp" and not written:
        # Without a workspace pool the C++ runtime does not pass the constants either; they stay in the code.
        return {}
    usual = {kinds[name] is Kind.WEIGHTS: info.pool_candidates[0] for info, name in names.items() if name in kinds}
    pools = dict.fromkeys(constant, usual.get(True))
    # An entry function with neither inputs nor pools as arguments ends the process that generates it.
    if len(written) == 1 and not io_in_pool:
        pools |= dict.fromkeys(written, usual[False])
    elif written:
        pools |= _supplied_pools(plan, written, usual[False].targets)
    return {
        info: PoolAllocation(pools[placed[name].pool], placed[name].offset)
        for info, name in names.items()
        if name in placed
    }


def check_pools(plan: Plan, written: set[str], constant: set[str], most_pools: int = MOST_POOLS) -> None:
    """Refuse more pools, or larger ones, than TVM can take."""
    if len(constant) > 1:
        raise UnsupportedIR(f"weights in several pools ({', '.join(sorted(constant))}): TVM takes one")
    if len(written) + len(constant) > most_pools:
        raise UnsupportedIR(f"{len(written) + len(constant)} pools are in use: TVM takes {most_pools} at most")
    c_names = {pool: c_name(pool) for pool in sorted(written)}
    for pool, name in c_names.items():
        if list(c_names.values()).count(name) > 1:
            raise BadInput(f"pool {pool!r}: another pool is called {name!r} in C, too")
    for pool in (*written, *constant):
        if plan.size(pool) > MOST_BYTES:
            raise UnsupportedIR(f"pool {pool!r} needs {plan.size(pool)} bytes: TVM counts up to {MOST_BYTES}")


def check_c_layout(plan: Plan, alignment: int) -> None:
    """Refuse weights that C would put elsewhere: they become members of a struct, each aligned to `alignment`."""
    weights = [
        (place.offset, buffer)
        for buffer, place in zip(plan.problem.buffers, plan.placements)
        if buffer.kind is Kind.WEIGHTS
    ]
    end = 0
    for offset, buffer in sorted(weights, key=lambda pair: pair[0]):
        if offset != round_up(end, alignment):
            raise BadPlan(
                f"weights {buffer.name!r} at offset {offset}: the C struct of weights puts them at "
                f"{round_up(end, alignment)}; weights have to be stacked"
            )
        end = offset + buffer.size


def c_name(pool: str) -> str:
    """What a pool that the caller supplies is called in C; it has to sort after the constants' pool."""
    name = re.sub(r"[^0-9A-Za-z_]", "_", pool)
    return name if name.startswith("workspace") else f"workspace_{name}"


def _supplied_pools(plan: Plan, names: set[str], targets: Any) -> dict[str, Any]:
    from tvm.ir.memory_pools import PoolInfoProperties, WorkspacePoolInfo

    capacities = {pool.name: pool.capacity for pool in plan.problem.pools}
    return {
        name: WorkspacePoolInfo(
            c_name(name),
            targets,
            PoolInfoProperties(size_hint_bytes=-1 if capacities[name] is None else capacities[name]),
        )
        for name in sorted(names)
    }
