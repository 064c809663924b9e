"""The plan of one Relax function: what goes to an arena at which offset, and what stays at the run time's.

::

    sizes known, or bounded           one arena per device and scope, at fixed offsets
    sizes with a common factor        one more, whose size and offsets are multiples of that factor
    all else                          allocated by the run time when needed, and freed after its last use

On devices whose pointers cannot be computed with on the host, a tensor at an offset would be copied by the run time.
There tensors that share bytes share a *slot*, which is a storage of its own, and start at offset 0 of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import Any, Union

from tvm_memplan.errors import BadInput
from tvm_memplan.planning import planners
from tvm_memplan.planning.check import check_plan
from tvm_memplan.planning.colour import stacked
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Plan, Pool, Problem, round_up
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import LeftAlone, MemoryReport
from tvm_memplan.transform.graph_problem import (
    ALIGNMENT,
    DEFAULT_POOLS,
    DEFAULT_WEIGHT_POOLS,
    RUN_TIME,
    SCRATCH,
    Callees,
    GraphProblem,
    graph_problem,
)
from tvm_memplan.transform.graph_symbolic import SymbolicArena, symbolic_arenas

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
    """

    graph: Any
    made: GraphProblem
    plan: Plan
    symbolic: tuple[SymbolicArena, ...]
    left_alone: tuple[LeftAlone, ...]
    callees: Callees
    slots: bool

    @property
    def arenas(self) -> dict[str, int]:
        """Bytes of each pool that holds tensors between kernels."""
        sizes: dict[str, int] = {}
        for buffer, place in zip(self.plan.problem.buffers, self.plan.placements):
            if buffer.name in self.made.homes:
                sizes[place.pool] = max(sizes.get(place.pool, 0), place.offset + buffer.size)
        return sizes

    @property
    def own_bytes(self) -> int:
        """Bytes that a call of the function needs besides its arguments and its result, as far as they are known."""
        sizes = self.plan.pool_sizes
        return sum(self.arenas.values()) + sizes.get(RUN_TIME, 0) + sizes.get(SCRATCH, 0)

    @property
    def sharing(self) -> tuple[str, ...]:
        """The kernels of which two arguments have a byte in common at some call."""
        spans = {
            buffer.name: (place.pool, place.offset, place.offset + buffer.size)
            for buffer, place in zip(self.plan.problem.buffers, self.plan.placements)
            if buffer.name in self.made.homes
        }
        found: dict[str, None] = {}
        for call in self.graph.calls:
            # One tensor may be several arguments, which is for whoever made the call to answer for.
            here = {name: spans[name] for names in call.arguments for name in names if name in spans}
            if any(p == q and a < d and c < b for (p, a, b), (q, c, d) in combinations(here.values(), 2)):
                found[call.function] = None
        return tuple(found)

    @property
    def counted_on(self) -> tuple[Any, ...]:
        """The variables whose upper bound the plan relies on."""
        names = (*self.made.homes, *(name for arena in self.symbolic for name in arena.tensors))
        return tuple(dict.fromkeys(v for name in names for v in self.graph.tensors[name].size.at_bound))

    def report(self, target: str = "", notes: Sequence[str] = ()) -> MemoryReport:
        """The figures."""
        told = (*notes, *(arena.note for arena in self.symbolic))
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

    Raises
    ------
    BadInput
        A pool's name is taken, or the planner returned a plan of another problem.
    DoesNotFit
        A tensor has no place within the capacities.
    BadPlan
        The plan was refused.
    """

    def planned(inside: frozenset[int]) -> tuple[GraphProblem, Plan]:
        made = graph_problem(graph, pools, weight_pools, callees, inside)
        return made, _in_slots(made.problem, planner) if slots else _planned(made.problem, planner)

    made, plan = _best(graph, callees, planned)
    symbolic, left = symbolic_arenas(graph, slots)
    return GraphPlan(graph, made, plan, symbolic, (*graph.left_alone, *left), callees, slots)


def _best(
    graph: Any, callees: Callees, planned: Callable[[frozenset[int]], tuple[GraphProblem, Plan]]
) -> tuple[GraphProblem, Plan]:
    """Plan with as few kernels looked into as it takes.

    Where arguments of one kernel share bytes, the compiler has to be told, and its code may be slower for it. So that
    is done only at calls that would need more memory than the best plan has.
    """
    plain = planned(frozenset())
    everywhere = frozenset(call.step for call in graph.calls if call.function in callees.bodies)
    if not everywhere:
        return plain
    most = planned(everywhere)
    room = _arena_bytes(*most)
    if room >= _arena_bytes(*plain):
        return plain
    few = planned(everywhere & _above(plain[0], room))
    return few if _arena_bytes(*few) <= room else most


def _arena_bytes(made: GraphProblem, plan: Plan) -> int:
    ends: dict[str, int] = {}
    for buffer, place in zip(plan.problem.buffers, plan.placements):
        if buffer.name in made.homes:
            ends[place.pool] = max(ends.get(place.pool, 0), place.offset + buffer.size)
    return sum(ends.values())


def _above(made: GraphProblem, room: int) -> frozenset[int]:
    """The steps at which more is alive than there is room for."""
    alive = [0] * (len(made.steps) + 1)
    for buffer in made.problem.buffers:
        if buffer.name in made.homes:
            for span in buffer.live_ranges:
                alive[span.start] += round_up(buffer.size, ALIGNMENT)
                alive[span.stop] -= round_up(buffer.size, ALIGNMENT)
    return frozenset(step for step, total in enumerate(accumulate(alive)) if total > room)


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
