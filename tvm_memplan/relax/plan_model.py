"""`plan`: the memory of a whole Relax model, and no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.budget import BoardPools, chosen_pools
from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput, MemPlanError
from tvm_memplan.planning.model import Plan, Pool
from tvm_memplan.relax.pipeline import known_target, pipeline
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.transform.graph_plan import GraphPlan, Planner
from tvm_memplan.transform.graph_problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS
from tvm_memplan.transform.module_plan import ModulePlan


@dataclass(frozen=True)
class PlannedModel:
    """The plans of a model.

    Parameters
    ----------
    report : MemoryReport
        The figures of its main function.
    function : str
        Which that is: ``main``, or the only one, or the one that needs most.
    reports : mapping of str to MemoryReport
        The figures of every function.
    plan : Plan
        The judged plan of the main function.
    """

    report: MemoryReport
    function: str
    reports: Mapping[str, MemoryReport]
    plan: Plan


USUAL = BoardPools(DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS)


def plan(
    mod: Any,
    target: Any = "llvm",
    *,
    pools: Sequence[Pool] | None = None,
    weight_pools: Sequence[Pool] | None = None,
    board: Any = None,
    reserve: Any = 0,
    planner: Planner = "auto",
    bounds: Mapping[str, int] | None = None,
    fused: bool = False,
    lift: bool = True,
    in_place: bool = True,
    model: str = "",
) -> PlannedModel:
    """Plan the memory of a whole model, as `build` does it, and generate no code.

    Parameters
    ----------
    mod : tvm.IRModule
        A Relax module, such as a front end makes it; not changed.
    target : str or tvm.target.Target
        What it is built for.
    pools, weight_pools : sequence of Pool or None
        Where tensors between kernels may go, and where weights are counted, in order of preference. Without capacities
        they are as large as it takes, which is the default.
    board : Board or None
        Instead of pools: a board, whose regions become the pools.
    reserve : int or Reserve
        With `board`: bytes to keep free.
    planner, bounds, lift, in_place :
        As for `tvm_memplan.relax.PlanBlockMemory`.
    fused : bool
        As for `tvm_memplan.relax.pipeline`.
    model : str
        What the report calls it; by default, by its main function.

    Raises
    ------
    BadInput
        An option is wrong.
    DoesNotFit
        A tensor has no place within the capacities.
    BadPlan
        The plan of `planner` was refused.
    UnsupportedIR
        The model holds something that cannot be planned.
    """
    places = chosen_pools(pools, weight_pools, board, reserve, USUAL)
    line = Line(target, planner, places, bounds, fused, lift, in_place)
    with line.target:
        line.passes(mod)
    return line.planned(model)


class Line:
    """A pipeline that remembers the plans which it made; parameters as for `plan`."""

    def __init__(
        self,
        target: Any,
        planner: Planner,
        places: BoardPools,
        bounds: Mapping[str, int] | None,
        fused: bool,
        lift: bool,
        in_place: bool,
    ) -> None:
        relax_dialect()
        self.target = known_target(target)
        self.made: list[ModulePlan] = []
        self.passes = pipeline(
            self.target,
            planner,
            fused=fused,
            pools=places.activations,
            weight_pools=places.weights,
            bounds=bounds,
            lift=lift,
            in_place=in_place,
            look=self.made.append,
        )

    def planned(self, model: str) -> PlannedModel:
        """What was planned, after the passes have run."""
        if not self.made:
            raise MemPlanError("TVM's pipeline has no StaticPlanBlockMemory in it, whose place ours would take")
        functions, notes = self.made[-1].functions, self.made[-1].notes
        if not functions:
            raise BadInput("the module has no Relax function")
        name = main_function(functions)
        target = str(self.target.kind.name)
        reports = {other: made.report(target, notes) for other, made in functions.items()}
        report = replace(reports[name], model=model or name)
        others = tuple(
            f"function {other} needs {made.own_bytes:,} B by itself"
            for other, made in functions.items()
            if other != name
        )
        return PlannedModel(replace(report, notes=(*report.notes, *others)), name, reports, functions[name].plan)


def main_function(functions: Mapping[str, GraphPlan]) -> str:
    """The function that people mean by the model."""
    if "main" in functions:
        return "main"
    return max(functions, key=lambda name: (functions[name].own_bytes, name))
