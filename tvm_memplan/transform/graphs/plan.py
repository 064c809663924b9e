"""The plan of one Relax function: what goes to an arena at which offset, and what stays at the run time's.

::

    sizes known, or bounded           one arena per device and scope, at fixed offsets
    sizes with a common factor        one more, whose size and offsets are multiples of that factor
    all else                          allocated by the run time when needed, and freed after its last use

On devices whose pointers cannot be computed with on the host, a tensor at an offset would be copied by the run time.
There tensors that share bytes share a *slot*, which is a storage of its own, and start at offset 0 of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Union

from tvm_memplan.errors import BadInput
from tvm_memplan.planning import planners
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, Placement, Plan, Pool, Problem
from tvm_memplan.planning.slots.colour import stacked
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import LeftAlone, MemoryReport
from tvm_memplan.transform.graphs.calls import SharingCall, sharing_calls
from tvm_memplan.transform.graphs.ends import OWN, Ends
from tvm_memplan.transform.graphs.notes import ends_notes
from tvm_memplan.transform.graphs.problem import (
    CALLER,
    DEFAULT_POOLS,
    DEFAULT_WEIGHT_POOLS,
    RUN_TIME,
    SCRATCH,
    Callees,
    GraphProblem,
    graph_problem,
)
from tvm_memplan.transform.graphs.search import arena_sizes, fewest_inside
from tvm_memplan.transform.graphs.symbolic import SymbolicArena, symbolic_arenas

#: A planner's name, or a function that makes a plan; what either makes is judged.
Planner = Union[str, Callable[[Problem], Plan]]

NO_CALLEES = Callees()


@dataclass(frozen=True)
class GraphPlan:
    """A Relax function with a judged plan.

    Parameters
    ----------
    graph : Graph
        The function as `tvm_memplan.dialects.relax.capture` reads it.
    made : GraphProblem
        What was planned.
    plan : Plan
        Where the tensors of known sizes lie, and what is counted only.
    symbolic : tuple of SymbolicArena
        Where tensors of unknown sizes lie.
    left_alone : tuple of LeftAlone
        What stays at the run time's, and why.
    callees : Callees
        What was known of the functions that are called.
    slots : bool
        Whether every tensor starts at offset 0 of the storage of its slot.
    ends : Ends
        What was asked for its outputs and inputs.
    """

    graph: Any
    made: GraphProblem
    plan: Plan
    symbolic: tuple[SymbolicArena, ...]
    left_alone: tuple[LeftAlone, ...]
    callees: Callees
    slots: bool
    ends: Ends = OWN

    @property
    def placed(self) -> Iterator[tuple[Buffer, Placement]]:
        """What is placed by us, in arenas or in donated inputs, and where."""
        for buffer, place in zip(self.plan.problem.buffers, self.plan.placements):
            if buffer.name in self.made.homes and place.pool != CALLER:
                yield buffer, place

    @property
    def arenas(self) -> dict[str, int]:
        """Bytes of each pool that holds tensors between kernels, other than donated inputs."""
        return arena_sizes(self.made, self.plan)

    @property
    def own_bytes(self) -> int:
        """Bytes that a call of the function needs besides its arguments and its result, as far as they are known."""
        sizes = self.plan.pool_sizes
        return sum(self.arenas.values()) + sizes.get(RUN_TIME, 0) + sizes.get(SCRATCH, 0)

    @cached_property
    def sharing(self) -> tuple[SharingCall, ...]:
        """The calls of which two arguments have a byte in common."""
        known = () if self.slots else (place.pool for _, place in self.placed)
        return sharing_calls(self.graph, self._spans, frozenset(known))

    @cached_property
    def _spans(self) -> dict[str, tuple[str, int, int]]:
        """Everything that may share bytes: the pool, the first byte, and the byte behind the last.

        Of tensors of open size they are counted in units of their arena.
        """
        spans = {b.name: (at.pool, at.offset, at.offset + b.size) for b, at in self.placed}
        for i, arena in enumerate(self.symbolic):
            spans |= {name: (f"unbounded {i}", at, at + arena.sizes[name]) for name, at in arena.tensors.items()}
        return spans | {name: (one.pool.name, 0, one.pool.capacity or 0) for name, one in self.made.given.items()}

    @property
    def counted_on(self) -> tuple[Any, ...]:
        """The variables whose upper bound the plan relies on."""
        names = (*(b.name for b, _ in self.placed), *(name for arena in self.symbolic for name in arena.tensors))
        return tuple(dict.fromkeys(v for name in names for v in self.graph.allocation(name).size.at_bound))

    def report(self, target: str = "", notes: Sequence[str] = ()) -> MemoryReport:
        """The figures."""
        rows = [(b.name, place.pool) for b, place in self.placed]
        told = [*notes, *ends_notes(self.graph, self.ends, self.made.given, rows), *(a.note for a in self.symbolic)]
        steps, layers = self.made.steps, self.graph.layers
        step_layers = tuple(layers.get(step, "") for step in steps) if layers else ()
        return memory_report(
            self.plan, steps, self.graph.function, target, self.left_alone, told, self.graph.origins, step_layers
        )


def plan_graph(
    graph: Any,
    pools: Sequence[Pool] = DEFAULT_POOLS,
    planner: Planner = "auto",
    *,
    weight_pools: Sequence[Pool] = DEFAULT_WEIGHT_POOLS,
    callees: Callees = NO_CALLEES,
    slots: bool = False,
    ends: Ends = OWN,
) -> GraphPlan:
    """Plan a Relax function.

    Parameters
    ----------
    graph : Graph
        The function as read.
    pools, weight_pools : sequence of Pool
        Where tensors in the global memory of the first device, and weights, may go, in order of preference. Other
        devices and scopes get a pool each.
    planner : str or callable
        A planner's name, or a function from Problem to Plan.
    callees : Callees
        What is known of the functions that are called.
    slots : bool
        Whether every tensor has to start at offset 0 of a storage.
    ends : Ends
        What becomes of its outputs, and which inputs it may overwrite.

    Raises
    ------
    BadInput
        A pool's name is taken, the planner returned a plan of another problem, or an input cannot be donated.
    DoesNotFit
        A tensor has no place within the capacities.
    BadPlan
        The plan was refused.
    """

    @cache
    def problem(inside: frozenset[int]) -> GraphProblem:
        return graph_problem(graph, pools, weight_pools, callees, inside, ends)

    def planned(made: GraphProblem) -> tuple[GraphProblem, Plan]:
        return made, _in_slots(made.problem, planner) if slots else _planned(made.problem, planner)

    made, plan = fewest_inside(graph, callees, problem, planned)
    symbolic, left = symbolic_arenas(graph, slots, callees)
    return GraphPlan(graph, made, plan, symbolic, (*graph.left_alone, *left), callees, slots, ends)


def _planned(problem: Problem, planner: Planner) -> Plan:
    if isinstance(planner, str):
        return planners.plan(problem, planner)
    plan = planner(problem)
    if plan.problem != problem:
        raise BadInput("the planner returned a plan of another problem")
    check_plan(plan)
    return plan


def _in_slots(problem: Problem, planner: Planner) -> Plan:
    if isinstance(planner, str) and planner not in ("auto", "colour"):
        raise BadInput(f"this device needs a storage per slot, which planner {planner!r} cannot give: use 'auto'")
    plan = Plan(problem, tuple(stacked(Conflicts(problem))), "slots")
    check_plan(plan)
    return plan
