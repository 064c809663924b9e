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
from itertools import accumulate
from typing import Any, Union

from tvm_memplan.errors import BadInput
from tvm_memplan.planning import planners
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, Placement, Plan, Pool, Problem, round_up
from tvm_memplan.planning.slots.colour import stacked
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import LeftAlone, MemoryReport
from tvm_memplan.transform.graph_calls import SharingCall, sharing_calls
from tvm_memplan.transform.graph_ends import OWN, Ends
from tvm_memplan.transform.graph_notes import ends_notes
from tvm_memplan.transform.graph_problem import (
    ALIGNMENT,
    CALLER,
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

    made, plan = _best(graph, callees, problem, planned)
    symbolic, left = symbolic_arenas(graph, slots, callees)
    return GraphPlan(graph, made, plan, symbolic, (*graph.left_alone, *left), callees, slots, ends)


def _best(
    graph: Any,
    callees: Callees,
    problem: Callable[[frozenset[int]], GraphProblem],
    planned: Callable[[GraphProblem], tuple[GraphProblem, Plan]],
) -> tuple[GraphProblem, Plan]:
    """Plan with as few kernels looked into as it takes, and in place sooner than in any other way.

    Every kernel that is called with arguments in common bytes is made anew. In place, its code is as good as before;
    where one argument is dead before another is written over it, the compiler cannot tell their accesses apart any
    more. So that is done only where nothing else gives as small a plan.
    """
    everywhere = frozenset(call.step for call in graph.calls if call.function in callees.bodies)
    plain = problem(frozenset())
    if not everywhere:
        return planned(plain)
    in_place = _fewest(plain, everywhere, lambda inside: problem(inside).in_place_only, planned)
    whole = problem(everywhere)
    least = _least(whole)
    if not whole.by_time or (least is not None and _arena_bytes(*in_place) <= least):
        return in_place
    by_time = _fewest(plain, everywhere, problem, planned)
    return by_time if _arena_bytes(*by_time) < _arena_bytes(*in_place) else in_place


def _fewest(
    plain: GraphProblem,
    everywhere: frozenset[int],
    problem: Callable[[frozenset[int]], GraphProblem],
    planned: Callable[[GraphProblem], tuple[GraphProblem, Plan]],
) -> tuple[GraphProblem, Plan]:
    """Plan with only those kernels looked into whose calls would need more memory than the best plan has."""
    whole = problem(everywhere)
    goal = _least(whole)
    if goal is not None:
        # Where no plan can be smaller, the other ones need not be made.
        above = _above(plain, goal)
        first = planned(plain if not above else problem(everywhere & above) if everywhere - above else whole)
        if _arena_bytes(*first) <= goal:
            return first
    most = planned(whole)
    room = _arena_bytes(*most)
    above = _above(plain, _room(*most))
    if everywhere <= above:
        return most
    few = planned(problem(everywhere & above) if above else plain)
    return few if _arena_bytes(*few) <= room else most


def arena_sizes(made: GraphProblem, plan: Plan) -> dict[str, int]:
    """Bytes of each pool that holds what is placed by us, other than donated inputs."""
    others = {CALLER, *(one.pool.name for one in made.given.values())}
    sizes: dict[str, int] = {}
    for buffer, place in zip(plan.problem.buffers, plan.placements):
        if buffer.name in made.homes and place.pool not in others:
            sizes[place.pool] = max(sizes.get(place.pool, 0), place.offset + buffer.size)
    return sizes


def _arena_bytes(made: GraphProblem, plan: Plan) -> int:
    """Bytes that depend on the plan: of the arenas, and of outputs that did not find a place in donated inputs."""
    return sum(arena_sizes(made, plan).values()) + sum(_apart(made, plan))


def _apart(made: GraphProblem, plan: Plan) -> Iterator[int]:
    """Bytes of each output that could have been in a donated input and is not."""
    for buffer, place in zip(plan.problem.buffers, plan.placements):
        if buffer.name in made.homes and place.pool == CALLER:
            yield buffer.size


def _least(made: GraphProblem) -> int | None:
    """Bytes that no arena can be smaller than, where there is only one place for all tensors."""
    members = [i for i, buffer in enumerate(made.problem.buffers) if buffer.name in made.homes]
    pools = {buffer.pools for buffer in (made.problem.buffers[i] for i in members)}
    if len(pools) != 1 or len(next(iter(pools))) != 1:
        return None
    (name,) = next(iter(pools))
    return bound(made.problem, members, next(pool for pool in made.problem.pools if pool.name == name)).bytes


def _room(made: GraphProblem, plan: Plan) -> int:
    """What may be alive at one step of a plan that is no larger, counted in whole units of the alignment."""
    ends = (*arena_sizes(made, plan).values(), *(one.pool.capacity or 0 for one in made.given.values()))
    return sum(round_up(size, ALIGNMENT) for size in (*ends, *_apart(made, plan)))


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
