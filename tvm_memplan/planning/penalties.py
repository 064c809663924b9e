"""Less sharing that costs: buffers move to where they pay less, and no arena grows.

A penalty is a tie-break: it chooses among plans of one size. If the planner finds a plan of that size in which nobody
pays, with penalties as separations, that is it. Else one buffer after another looks for a cheaper place among the
offsets where it would touch a neighbour or an end::

    offset                          x pays where it is, and not above b or below c
      |####c####|
      |         |   <- here            candidates: 0, the end of any other buffer, its own size below the start of
      |####b####|                                  any other, and below the end of the arena
      |  x paid |

Pinned buffers stay, and everything else is checked as it always is: a move is made only where it meets no conflict.
This is hill climbing by single moves; the cost it ends at need not be the least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.bound import effective_alignment
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Plan, Problem, round_up


def with_less_penalty(
    plan: Plan, planner: Callable[[Problem], Plan] | None = None, room: Mapping[str, int] | None = None
) -> Plan:
    """Return a plan of the same problem with as little penalty as is found.

    Parameters
    ----------
    plan : Plan
        A right plan.
    planner : callable or None
        What is asked for a plan without penalties; None for single moves only.
    room : mapping of str to int or None
        Bytes up to which each pool's arena may be used; None for as much as the plan uses already.
    """
    problem = plan.problem
    if not plan.penalty:
        return plan
    limits = plan.pool_sizes if room is None else {**plan.pool_sizes, **room}
    free = planner and _free(plan, planner)
    if free and all(free.pool_sizes[name] <= limit for name, limit in limits.items()):
        return free
    costs: dict[int, dict[int, int]] = {}
    for i, j, cost in problem.penalties:
        costs.setdefault(i, {})[j] = cost
        costs.setdefault(j, {})[i] = cost
    pairs = sorted(problem.penalties, key=lambda p: (-p[2], p))
    moves = _Moves(plan, costs, limits)
    moved = True
    while moved and plan.penalty:
        # A move pays at least one unit less, so this ends.
        paying = dict.fromkeys(i for pair in pairs if plan.share(pair[0], pair[1]) for i in pair[:2])
        moved = False
        for i in paying:
            better = moves.cheaper(i, plan)
            if better is not None:
                places = [*plan.placements[:i], better, *plan.placements[i + 1 :]]
                plan = Plan(problem, tuple(places), plan.planner)
                moved = True
    return plan


def _free(plan: Plan, planner: Callable[[Problem], Plan]) -> Plan | None:
    """Return a plan in which nobody pays; None where the capacities are too small for what the planner finds."""
    problem = plan.problem
    apart = problem.separate | {(i, j) for i, j, _ in problem.penalties}
    try:
        made = planner(replace(problem, separate=apart, penalties=frozenset()))
    except DoesNotFit:
        return None
    return Plan(problem, made.placements, plan.planner)


class _Moves:
    """Where single buffers may go."""

    def __init__(self, plan: Plan, costs: Mapping[int, Mapping[int, int]], limits: Mapping[str, int]) -> None:
        self.problem = plan.problem
        self.conflicts = Conflicts(plan.problem)
        self.costs = costs
        self.limits = limits

    def cheaper(self, i: int, plan: Plan) -> Placement | None:
        """Return the cheapest place for buffer `i` if it is cheaper than its present one; the lowest of equals."""
        problem, buffers = self.problem, self.problem.buffers
        if buffers[i].pinned or not buffers[i].size:
            return None
        size, partners = buffers[i].size, self.conflicts.partners.get(i, frozenset())
        near = {int(j) for j in self.conflicts.of(i)}
        costs = self.costs[i]
        least = sum(cost for j, cost in costs.items() if plan.share(i, j))
        best = None
        for pool in problem.candidates(buffers[i]):
            align = effective_alignment(problem, i, pool)
            spans = {
                j: (place.offset, place.offset + buffers[j].size)
                for j, place in enumerate(plan.placements)
                if j != i and place.pool == pool.name and (j in near or j in costs)
            }
            limit = self.limits[pool.name]
            wanted = {0, limit - size, *(end for _, end in spans.values()), *(low - size for low, _ in spans.values())}
            offsets = {round_up(at, align) for at in wanted} | {at // align * align for at in wanted}
            for at in sorted(offsets):
                if at < 0 or at + size > limit:
                    continue
                met = [j for j, (low, high) in spans.items() if low < at + size and at < high]
                if any(j in near and not (j in partners and spans[j][0] == at) for j in met):
                    continue
                paid = sum(costs.get(j, 0) for j in met)
                if paid < least:
                    least, best = paid, Placement(pool.name, at)
        return best
