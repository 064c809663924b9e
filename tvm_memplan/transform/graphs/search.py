"""How few kernels need to be looked into for a plan that is as small as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.model import Plan, round_up
from tvm_memplan.transform.graphs.problem import ALIGNMENT, CALLER, Callees, GraphProblem


def fewest_inside(
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
