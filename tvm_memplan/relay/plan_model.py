"""`plan`: place every buffer of a model and stop before code generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Union

from tvm_memplan import budget
from tvm_memplan.errors import BadInput
from tvm_memplan.planning import planners
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Plan, Pool, Problem
from tvm_memplan.planning.spilling.spill import plan_pools, spill_notes
from tvm_memplan.relay.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS, program_problem
from tvm_memplan.relay.targets import Configuration, configuration_for
from tvm_memplan.relay.tvm_pools import as_pools
from tvm_memplan.relay.usmp import Lowered, build_with
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.origin import Origin

#: A planner's name, or a function that makes a plan; what either makes is judged.
Planner = Union[str, Callable[[Problem], Plan]]

#: Pools of ours, or TVM's ``PoolInfo`` objects, in a sequence or in TVM's ``WorkspaceMemoryPools``.
Pools = Any


@dataclass(frozen=True)
class PlannedModel:
    """A judged plan of a whole model.

    Parameters
    ----------
    report : MemoryReport
        The figures, the allocation table and what holds the peak.
    plan : Plan
        The problem and where each buffer lies.
    configuration : Configuration
        What it was planned for.
    notes : tuple of str
        What the reader must know of the program, whatever the plan; the report has these and those of the plan.
    traffic : mapping of str to int
        Bytes that a run moves to and from each buffer.
    origins : mapping of str to Origin
        What tensors the buffers are, by name.
    step_layers : tuple of str
        The layer of the model that each step belongs to; empty where none is known.
    """

    report: MemoryReport
    plan: Plan
    configuration: Configuration
    notes: tuple[str, ...] = ()
    traffic: Mapping[str, int] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    step_layers: tuple[str, ...] = ()


def plan(
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
) -> PlannedModel:
    """Plan the memory of a whole model: activations and workspace together, weights in a pool of their own.

    The model is lowered as `build` lowers it, so the figures are those of the build.

    Parameters
    ----------
    mod : tvm.IRModule
        A Relay module.
    params : mapping of str to tvm.nd.NDArray or None
        Its parameters, bound as constants.
    target : Configuration, str or tvm.target.Target
        What it is built for; C for a Cortex-M gets `micro_config`, all else `host_config`.
    pools, weight_pools : sequence of Pool or of tvm.ir.memory_pools.PoolInfo, or None
        Where activations with workspace, and weights, may go, in order of preference. Without capacities
        they are as large as it takes, which is the default. What does not fit the first pool, and is moved least by a
        run, goes to the next.
    board : Board or None
        Instead of pools: a board, whose regions become the pools.
    reserve : int or Reserve
        With `board`: bytes to keep free.
    planner : str or callable
        A name of `tvm_memplan.planning.planners.PLANNERS`, or a function from Problem to Plan, such
        as one that calls `tvm_memplan.planning.planners.plan` with another time limit.
    executor, runtime : tvm.relay.backend.Executor, Runtime or None
        Replace those of the configuration; the executor has to be ``aot``.
    io_in_pool : bool
        Plan inputs and outputs into the activation pools; needs the C interface.
    opt_level : int
        Relay's optimisation level; all else comes from the `PassContext` around the call.
    mod_name : str
        The prefix of generated functions.
    model : str
        What the report calls it.

    Raises
    ------
    BadInput
        An option is wrong.
    DoesNotFit
        A buffer has no place within the capacities.
    BadPlan
        The plan of `planner` was refused.
    UnsupportedIR
        TVM cannot build the model, or it holds something that cannot be planned.
    """
    config = checked_configuration(target, executor, runtime, io_in_pool)
    places = chosen_pools(pools, weight_pools, board, reserve)

    def decide(lowered: Lowered) -> NoReturn:
        raise _Planned(plan_lowered(lowered, config, *places, planner, model))

    try:
        build_with(mod, params, config, decide, opt_level=opt_level, io_in_pool=io_in_pool, mod_name=mod_name)
    except _Planned as done:
        return done.result
    raise AssertionError("TVM never asked for a plan")


class _Planned(Exception):
    """Carries the result out of TVM's lowering."""

    def __init__(self, result: PlannedModel) -> None:
        super().__init__("planned")
        self.result = result


def plan_lowered(
    lowered: Lowered,
    config: Configuration,
    pools: Sequence[Pool],
    weight_pools: Sequence[Pool],
    planner: Planner,
    model: str,
    time_limit: float | None = planners.DEFAULT_SECONDS,
) -> PlannedModel:
    """Plan and judge one lowered program; arguments as for `plan`, `time_limit` as for `planners.plan`."""
    made = program_problem(lowered, config, pools, weight_pools)
    if callable(planner):
        result = planner(made.problem)
        if result.problem != made.problem:
            raise BadInput("the planner returned a plan of another problem")
        check_plan(result)
    else:
        result = plan_pools(made.problem, made.traffic, planner, time_limit)
    notes = (*made.notes, *spill_notes(result, made.traffic))
    report = memory_report(
        result, made.steps, model, config.target, made.left_alone, notes, made.origins, made.step_layers
    )
    return PlannedModel(report, result, config, made.notes, made.traffic, made.origins, made.step_layers)


def chosen_pools(pools: Pools | None, weight_pools: Pools | None, board: Any, reserve: Any) -> budget.BoardPools:
    """The activation and weight pools that the options name."""
    usual = budget.BoardPools(DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS)
    activations = None if pools is None else as_pools(pools)
    weights = None if weight_pools is None else as_pools(weight_pools, "weight_pools")
    return budget.chosen_pools(activations, weights, board, reserve, usual)


def checked_configuration(target: Any, executor: Any, runtime: Any, io_in_pool: bool) -> Configuration:
    """The configuration that the options name."""
    config = configuration_for(target, executor, runtime)
    if io_in_pool and config.interface_api != "c":
        raise BadInput(
            f"io_in_pool needs the C interface (interface-api=c with the crt runtime), not "
            f"{config.interface_api!r}; use micro_config()"
        )
    return config
