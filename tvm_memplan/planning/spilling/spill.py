"""Several memories in order of preference: what does not fit the fast one, and costs least, goes to the next.

The cost of a buffer is the bytes that a run moves to and from it (`tvm_memplan.planning.spilling.traffic`). For each
pool in turn, the buffers that may stay are chosen so that those which leave cost as little as is found::

    fast    |  a  |  b  |          a: 4 kB, moved 90 kB       alive together; fast has 6 kB
            |-----+-----+--        b: 4 kB, moved 10 kB  ->   b goes
    slow    |  b  |

Where too much is alive, one of the buffers there has to leave: branch on which, the cheapest per byte first, and give
up a branch when what has left already, plus the least (fractional) cost of the bytes that are still too many, is no
better than the best that is known. A set that fits by its bound may still not pack; then any of it may leave. This
is exact up to a number of sets and of packings. It begins with a greedy choice, so ending it early costs nothing but
quality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning import planners
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Placement, Plan, Pool, Problem
from tvm_memplan.planning.preparing.parts import part, parts

#: How many sets of buffers the search looks at, per pool.
MOST_SETS = 400

#: How often a set that should fit by its bound may be given to the planner.
MOST_PACKINGS = 40

Planner = Callable[[Problem], Plan]


def plan_pools(
    problem: Problem,
    traffic: Mapping[str, int],
    planner: str = "auto",
    time_limit: float | None = planners.DEFAULT_SECONDS,
) -> Plan:
    """Plan a problem whose pools are memories of different worth, and have the plan judged.

    Parameters
    ----------
    problem : Problem
        Pools in order of preference; capacities are limits.
    traffic : mapping of str to int
        The cost of not being in the preferred pool, by buffer; a buffer that is not listed costs nothing.
    planner, time_limit
        As for `tvm_memplan.planning.planners.plan`, which places the buffers within each pool; the limit is for each
        of its calls.

    Raises
    ------
    BadInput, BadProblem, DoesNotFit, BadPlan
        As `tvm_memplan.planning.planners.plan` does.
    """

    def place(own: Problem) -> Plan:
        return planners.plan(own, planner, time_limit)

    groups = parts(problem)
    if not any(_limited(own) for _, own in groups):
        return place(problem)
    placements: dict[int, Placement] = {}
    for members, own in groups:
        made = _spilled(own, traffic, place) if _limited(own) else place(own)
        placements.update(zip(members, made.placements))
    made = Plan(problem, tuple(placements[i] for i in range(len(problem.buffers))), planner)
    check_plan(made)
    return made


def spill_cost(plan: Plan, traffic: Mapping[str, int]) -> int:
    """Return the bytes that a run moves to and from buffers that are not in their preferred pool."""
    return sum(traffic.get(plan.problem.buffers[i].name, 0) for i in spilled(plan))


def spilled(plan: Plan) -> tuple[int, ...]:
    """Return the buffers that are not in the pool they prefer."""
    return tuple(
        i
        for i, (buffer, place) in enumerate(zip(plan.problem.buffers, plan.placements))
        if buffer.size and place.pool != plan.problem.candidates(buffer)[0].name
    )


def spill_notes(plan: Plan, traffic: Mapping[str, int]) -> tuple[str, ...]:
    """Say what does not lie in its preferred pool, and what that costs; nothing where all does."""
    away = spilled(plan)
    if not away:
        return ()
    buffers = plan.problem.buffers
    homes = {plan.problem.candidates(buffers[i])[0].name for i in away}
    all_in = [i for i, b in enumerate(buffers) if len(plan.problem.candidates(b)) > 1]
    total = sum(traffic.get(buffers[i].name, 0) for i in all_in)
    where = ", ".join(sorted({plan.placements[i].pool for i in away}))
    return (
        f"{', '.join(sorted(homes))} cannot hold all: {len(away)} of {len(all_in)} buffers "
        f"({sum(buffers[i].size for i in away):,} B) lie in {where}; a run moves {spill_cost(plan, traffic):,} of "
        f"{total:,} B there",
    )


def _limited(problem: Problem) -> bool:
    return len(problem.pools) > 1 and problem.pools[0].capacity is not None


def _spilled(problem: Problem, traffic: Mapping[str, int], place: Planner) -> Plan:
    try:
        return _one_by_one(problem, traffic, place)
    except DoesNotFit:
        # A later pool is too small for what the earlier ones sent away. A planner that looks at all of them at once
        # knows nothing of costs, but may find a way.
        return place(problem)


def _one_by_one(problem: Problem, traffic: Mapping[str, int], place: Planner) -> Plan:
    left = list(range(len(problem.buffers)))
    placements: dict[int, Placement] = {}
    for pool in problem.pools:
        here = [i for i in left if pool in problem.candidates(problem.buffers[i])]
        if not here:
            continue
        chosen = _Chosen(problem, pool, traffic, place)
        later = problem.pools[problem.pools.index(pool) + 1 :]
        free = [
            i
            for i in here
            if not problem.buffers[i].pinned and set(later) & set(problem.candidates(problem.buffers[i]))
        ]
        made = chosen.search(here, free)
        placements.update(made)
        left = [i for i in left if i not in made]
    if left:
        raise DoesNotFit(f"no pool has room for buffer {problem.buffers[left[0]].name!r}")
    return Plan(problem, tuple(placements[i] for i in range(len(problem.buffers))))


class _Chosen:
    """The choice of what stays in one pool."""

    def __init__(self, problem: Problem, pool: Pool, traffic: Mapping[str, int], place: Planner) -> None:
        self.problem = problem
        self.pool = pool
        self.place = place
        self.cost = [traffic.get(buffer.name, 0) for buffer in problem.buffers]
        self.size = [buffer.size for buffer in problem.buffers]
        self.best: dict[int, Placement] = {}
        self.best_cost: int | None = None
        self.free: frozenset[int] = frozenset()
        self.sets = MOST_SETS
        self.packings = MOST_PACKINGS

    def search(self, members: Sequence[int], free: Iterable[int]) -> dict[int, Placement]:
        """Return where the buffers that stay lie; `DoesNotFit` when those that have to stay do not fit."""
        self.free = frozenset(free)
        fixed = [i for i in members if i not in self.free]
        self._greedy(list(members))
        self._branch(list(members), frozenset(), 0)
        if self.best_cost is None:
            placed = self.packed(fixed)
            if placed is None:
                raise DoesNotFit(f"pool {self.pool.name!r} cannot hold the buffers that may go nowhere else")
            self.best = placed
        return self._tight(self.best)

    def _tight(self, placed: dict[int, Placement]) -> dict[int, Placement]:
        """Return where the planner puts the buffers that stay, if its arena is smaller than that of `placed`."""
        members = list(placed)
        if not members:
            return placed
        own = self._own(members)
        with suppress(DoesNotFit):
            made = self.place(own)
            if made.size() < Plan(own, tuple(placed[i] for i in members)).size():
                return dict(zip(members, made.placements))
        return placed

    def _own(self, members: Sequence[int]) -> Problem:
        own = part(self.problem, members)
        buffers = tuple(replace(buffer, pools=(self.pool.name,)) for buffer in own.buffers)
        return replace(own, buffers=buffers, pools=(self.pool,))

    def packed(self, members: Sequence[int]) -> dict[int, Placement] | None:
        """Return where `members` lie within the pool's capacity, or None."""
        if not members:
            return {}
        own = self._own(members)
        for planner in (planners.greedy_by_size, planners.greedy_by_conflicts, planners.first_fit_by_start):
            with suppress(DoesNotFit):
                return dict(zip(members, planner(own).placements))
        if self.packings > 0 and self.pool.capacity is not None and bound(own).bytes <= self.pool.capacity:
            self.packings -= 1
            with suppress(DoesNotFit):
                return dict(zip(members, self.place(own).placements))
        return None

    def _greedy(self, members: list[int]) -> None:
        """Send away the cheapest per byte until it fits; then take back whatever there is room for."""
        gone: list[int] = []
        placed = self.packed(members)
        while placed is None:
            crowd = [i for i in self._crowd(members) if i in self.free] or [i for i in members if i in self.free]
            if not crowd:
                return
            leaves = min(crowd, key=lambda i: (self.cost[i] / max(self.size[i], 1), -self.size[i], i))
            members = [i for i in members if i != leaves]
            gone.append(leaves)
            placed = self.packed(members)
        for i in sorted(gone, key=lambda i: (-self.cost[i], i)):
            more = self.packed(sorted([*members, i]))
            if more is not None:
                members, placed = sorted([*members, i]), more
                gone.remove(i)
        self.best, self.best_cost = placed, sum(self.cost[i] for i in gone)

    def _branch(self, members: list[int], kept: frozenset[int], cost: int) -> None:
        """Look at `members` and at what is left when one after the other leaves; `kept` stay in this branch."""
        if self.sets <= 0 or (self.best_cost is not None and cost >= self.best_cost):
            return
        self.sets -= 1
        found = bound(self.problem, members, self.pool)
        excess = found.bytes - (self.pool.capacity if self.pool.capacity is not None else found.bytes)
        if excess <= 0:
            placed = self.packed(members)
            if placed is not None:
                self.best, self.best_cost = placed, cost
                return
            crowd = members
        else:
            crowd = list(found.members)
        leaving = [i for i in crowd if i in self.free and i not in kept]
        if self.best_cost is not None and cost + self._least(leaving, excess) >= self.best_cost:
            return
        for i in sorted(leaving, key=lambda i: (self.cost[i] / max(self.size[i], 1), -self.size[i], i)):
            self._branch([j for j in members if j != i], kept, cost + self.cost[i])
            kept |= {i}

    def _least(self, leaving: Sequence[int], excess: int) -> float:
        """Return the least that it costs to free `excess` bytes, were buffers divisible."""
        total = 0.0
        for i in sorted(leaving, key=lambda i: self.cost[i] / max(self.size[i], 1)):
            if excess <= 0:
                return total
            total += self.cost[i] * min(1.0, excess / max(self.size[i], 1))
            excess -= self.size[i]
        return total if excess <= 0 else float("inf")

    def _crowd(self, members: Sequence[int]) -> tuple[int, ...]:
        found = bound(self.problem, members, self.pool)
        too_many = self.pool.capacity is not None and found.bytes > self.pool.capacity
        return found.members if too_many else ()
