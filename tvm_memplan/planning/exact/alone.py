"""Improve a plan by the exact search, where all buffers could lie in one arena.

The search knows one arena and no in-place pairs. With several pools it is asked whether the preferred one can hold
everything, which is better than any plan that spills; with in-place pairs it is not asked at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact.hunt import Hunt, hunt
from tvm_memplan.planning.exact.sections import sections
from tvm_memplan.planning.model import Outcome, Placement, Pool, Problem
from tvm_memplan.planning.packing.orders import arrange, by_size
from tvm_memplan.planning.packing.pack import MOST_LISTED, Packer, cost


def arena(problem: Problem) -> Pool | None:
    """Return the pool that every buffer prefers, if there is one and the exact search can deal with the problem."""
    if problem.in_place or len(problem.buffers) > MOST_LISTED:
        return None
    preferred = {problem.candidates(buffer)[0] for buffer in problem.buffers}
    return preferred.pop() if len(preferred) == 1 else None


def improve(problem: Problem, pool: Pool, best: Sequence[Placement], effort: Effort) -> tuple[list[Placement], Outcome]:
    """Return the better of `best` and what the exact search finds in `pool`.

    Parameters
    ----------
    problem, pool
        A problem and its `arena`.
    best : sequence of Placement
        A plan that breaks no rule, except perhaps capacities.
    effort : Effort
        What may be spent.
    """
    one = replace(
        problem,
        buffers=tuple(replace(b, pools=(), scope=pool.scopes[0]) for b in problem.buffers),
        pools=(replace(pool, capacity=None),),
    )
    conflicts = Conflicts(one)
    start = best
    if len(problem.pools) > 1:
        packer = Packer(conflicts)
        start = packer.placements(packer.pack(arrange(conflicts, by_size)))
    hunts = [
        Hunt.begin(parts, [start[i].offset // parts.unit for i in parts.members]) for parts in sections(conflicts, pool)
    ]
    if not hunts:
        return list(best), Outcome(0, True)
    unit = hunts[0].parts.unit
    least = max(hunt(hunts, effort) * unit, bound(one).bytes)
    offsets = [place.offset for place in start]
    for found in hunts:
        for i, at in zip(found.parts.members, found.offsets):
            offsets[i] = at * unit
    improved = [
        buffer.pinned or Placement(pool.name, at if buffer.size else 0) for buffer, at in zip(problem.buffers, offsets)
    ]
    high = max(h.high for h in hunts) * unit
    better = min(best, improved, key=lambda placements: cost(problem, placements))
    inside = all(place.pool == pool.name for place in better)
    return list(better), Outcome(least, inside and high <= least, effort.cut)
