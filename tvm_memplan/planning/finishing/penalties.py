"""Less sharing that costs: buffers move to where they pay less, and no arena grows.

A penalty is a tie-break: it chooses among plans of one size. First come plans in which some penalties are separations:
all of them, and, one by one from the dearest, as many as fit. Then one buffer after another looks for a cheaper place
among the offsets where it would touch a neighbour or an end::

    offset                          x pays where it is, and not above b or below c
      |####c####|
      |         |   <- here            candidates: 0, the end of any other buffer, its own size below the start of
      |####b####|                                  any other, and below the end of the arena
      |  x paid |

Pinned buffers stay, and everything else is checked as it always is: a move is made only where it meets no conflict.
This is hill climbing by single moves; the cost it ends at need not be the least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.bounds.bound import effective_alignment
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Plan, Problem, round_up

#: Up to so many penalties times squared buffers, penalties are tried one by one.
EFFORT = 3_000_000


def with_less_penalty(
    plan: Plan,
    planner: Callable[[Problem], Plan] | None = None,
    quick: Sequence[Callable[[Problem], Plan]] = (),
    room: Mapping[str, int] | None = None,
) -> Plan:
    """Return a plan of the same problem with as little penalty as is found.

    Parameters
    ----------
    plan : Plan
        A right plan.
    planner : callable or None
        What is asked once for a plan in which nobody pays.
    quick : sequence of callable
        What is asked, penalty by penalty, for plans in which some do not pay (on problems of moderate size).
    room : mapping of str to int or None
        Bytes up to which each pool's arena may be used; None for as much as the plan uses already.
    """
    problem = plan.problem
    if not plan.penalty:
        return plan
    limits = plan.pool_sizes if room is None else {**plan.pool_sizes, **room}
    pairs = sorted(problem.penalties, key=lambda p: (-p[2], p))
    free = planner and _apart(plan, [planner], {(i, j) for i, j, _ in pairs}, limits)
    if free:
        return free
    starts = []
    if len(pairs) * len(problem.buffers) ** 2 <= EFFORT:
        held: set[tuple[int, int]] = set()
        for i, j, _ in pairs:
            found = _apart(plan, quick, {*held, (i, j)}, limits)
            if found:
                held.add((i, j))
                starts.append(found)
    # From where the planner ended and from the cheapest of the others: neither is always better.
    moves = _Moves(plan, limits)
    ends = [moves.descend(start) for start in (plan, min(starts, key=lambda plan: plan.penalty, default=plan))]
    return min(ends, key=lambda plan: plan.penalty)


def _apart(
    plan: Plan,
    planners: Sequence[Callable[[Problem], Plan]],
    pairs: set[tuple[int, int]],
    limits: Mapping[str, int],
) -> Plan | None:
    """Return the first plan within the limits in which these pairs do not share; None where none is found."""
    problem = replace(plan.problem, separate=plan.problem.separate | pairs, penalties=frozenset())
    for planner in planners:
        with suppress(DoesNotFit):
            made = replace(plan, placements=planner(problem).placements)
            if all(made.pool_sizes[name] <= limit for name, limit in limits.items()):
                return made
    return None


class _Moves:
    """Moves of single buffers within the limits of the arenas."""

    def __init__(self, plan: Plan, limits: Mapping[str, int]) -> None:
        self.problem = plan.problem
        self.conflicts = Conflicts(plan.problem)
        self.limits = {p.name: limits[p.name] // p.granularity * p.granularity for p in plan.problem.pools}
        self.costs: dict[int, dict[int, int]] = {}
        for i, j, cost in plan.problem.penalties:
            self.costs.setdefault(i, {})[j] = cost
            self.costs.setdefault(j, {})[i] = cost
        self.pairs = sorted(plan.problem.penalties, key=lambda p: (-p[2], p))

    def descend(self, plan: Plan) -> Plan:
        """Move buffers for as long as somebody pays less for it."""
        moved = True
        while moved and plan.penalty:
            # A move pays at least one unit less, so this ends.
            paying = dict.fromkeys(i for pair in self.pairs if plan.share(pair[0], pair[1]) for i in pair[:2])
            moved = False
            for i in paying:
                better = self.cheaper(i, plan)
                if better is not None:
                    plan = replace(plan, placements=(*plan.placements[:i], better, *plan.placements[i + 1 :]))
                    moved = True
        return plan

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
