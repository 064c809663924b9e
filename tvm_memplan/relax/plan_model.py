"""`plan`: the memory of a whole Relax model, and no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.budget import BoardPools, chosen_pools
from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput, MemPlanError
from tvm_memplan.planning.model import Pool
from tvm_memplan.relax.pipeline import known_target, pipeline
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.transform.graphs.ends import Outputs
from tvm_memplan.transform.graphs.modules import ModulePlan
from tvm_memplan.transform.graphs.plan import GraphPlan, Planner, plan_graph
from tvm_memplan.transform.graphs.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS


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
    graph : GraphPlan
        The judged plan of the main function, with what it was made from.
    notes : tuple of str
        What the reader must know, whatever the plan; the report has these and those of the plan.
    """

    report: MemoryReport
    function: str
    reports: Mapping[str, MemoryReport]
    graph: GraphPlan
    notes: tuple[str, ...]

    def again(self, pools: Sequence[Pool], weight_pools: Sequence[Pool], planner: Planner) -> MemoryReport:
        """Plan the main function once more, into other pools, without lowering anything again."""
        made = plan_graph(
            self.graph.graph,
            pools,
            planner,
            weight_pools=weight_pools,
            callees=self.graph.callees,
            slots=self.graph.slots,
            ends=self.graph.ends,
        )
        return replace(made.report(self.report.target, self.notes), model=self.report.model)


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
    outputs: Outputs = "own",
    donated: Sequence[str] = (),
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
    planner, bounds, lift, in_place, outputs, donated :
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
    line = Line(target, planner, places, bounds, fused, lift, in_place, outputs, donated)
    with line.target:
        line.passes(relax_dialect().with_sources(mod))
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
        outputs: Outputs,
        donated: Sequence[str],
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
            outputs=outputs,
            donated=donated,
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
        others = (f"function {f} needs {made.own_bytes:,} B by itself" for f, made in functions.items() if f != name)
        told = (*notes, *others)
        report = replace(functions[name].report(target, told), model=model or name)
        return PlannedModel(report, name, reports, functions[name], told)


def main_function(functions: Mapping[str, GraphPlan]) -> str:
    """The function that people mean by the model."""
    if "main" in functions:
        return "main"
    return max(functions, key=lambda name: (functions[name].own_bytes, name))
