"""`build`: TVM's usual build of a model, with every buffer where the plan says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.model import Kind, Plan
from tvm_memplan.relay.plan_model import PlannedModel, Planner, Pools, checked_configuration, chosen_pools, plan_lowered
from tvm_memplan.relay.problem import CALLER
from tvm_memplan.relay.usmp import Lowered, build_with
from tvm_memplan.report.memory import MemoryReport


class Built(NamedTuple):
    """What a build returns: ``module, report = build(...)``.

    Parameters
    ----------
    module : tvm.relay.backend.executor_factory.AOTExecutorFactoryModule
        TVM's usual module.
    report : MemoryReport
        The figures of the plan that is in it.
    """

    module: Any
    report: MemoryReport


def build(
    mod: Any,
    params: Mapping[str, Any] | None = None,
    target: Any = "llvm",
    *,
    pools: Pools | None = None,
    weight_pools: Pools | None = None,
    board: Any = None,
    reserve: Any = 0,
    planner: Planner = "auto",
    executor: Any = None,
    runtime: Any = None,
    io_in_pool: bool = False,
    opt_level: int = 3,
    mod_name: str = "default",
    model: str = "",
) -> Built:
    """Build a model with its memory planned; parameters and errors as for `tvm_memplan.relay.plan`.

    One activation pool becomes TVM's own workspace. Several, or one with `io_in_pool`, become pools that the
    caller of the model supplies, called ``workspace_<name>``. Compile C with GCC, or with
    ``-fno-strict-aliasing``: tenants of different types follow each other on the same bytes.
    """
    config = checked_configuration(target, executor, runtime, io_in_pool)
    places = chosen_pools(pools, weight_pools, board, reserve)
    made: list[PlannedModel] = []

    def decide(lowered: Lowered) -> Plan:
        made.append(plan_lowered(lowered, config, *places, planner, model))
        return made[-1].plan

    module = build_with(mod, params, config, decide, opt_level=opt_level, io_in_pool=io_in_pool, mod_name=mod_name)
    _check_written(module, made[-1].plan)
    return Built(module, made[-1].report)


def _check_written(module: Any, plan: Plan) -> None:
    """Refuse a build whose pools are not those of the plan: TVM builds without a word when offsets get lost."""
    kinds = {place.pool: buffer.kind for buffer, place in zip(plan.problem.buffers, plan.placements)}
    planned = {pool: size for pool, size in plan.pool_sizes.items() if pool in kinds and pool != CALLER}
    infos = module.executor_codegen_metadata.pool_inputs
    written = [int(info.allocated_size) for info in infos.values()] if infos else []
    if not written and all(kinds[pool] is Kind.WEIGHTS for pool in planned):
        return  # weights alone stay in the code
    if sorted(written) != sorted(planned.values()):
        raise BadPlan(f"TVM wrote pools of {sorted(written)} bytes, where the plan has {planned}")
