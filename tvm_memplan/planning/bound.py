"""What any packing must take at least, and what it takes without sharing.

All figures of one set of buffers are counted in the same **granule** ``g``: the smallest effective alignment (the
larger of the buffer's and the pool's) among them. Alignments are powers of two, so every offset is a multiple of
``g``, and the tail of a buffer up to the next multiple of ``g`` is of no use to anybody: rounding every size, and
the arena, up to ``g`` changes no packing. Hence for a plan without pins ::

    bound    sum of rounded sizes that must lie side by side      (valid: they are disjoint, tails included)
    <= planned   the arena, rounded up
    <= naive     all buffers stacked in order of descending alignment, the end rounded up

The last step holds because planners fall back to that very stack. In descending order of alignment a stack wastes
only the tails that a larger alignment makes, which is why naive is not simply the sum of the sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.large import most_alive
from tvm_memplan.planning.model import Plan, Pool, Problem, round_up

#: Beyond so many buffers the sweep is done on arrays.
MANY = 2000


@dataclass(frozen=True)
class Bound:
    """A size no packing can beat.

    Parameters
    ----------
    bytes : int
        The bound.
    kind : str
        "pressure": the largest sum alive at one step. "clique": the heaviest set of mutually conflicting
        buffers that was found; there may be a heavier one, so it is a bound but perhaps not the best.
    step : int or None
        Where the pressure is largest (the first such step); None for a clique.
    members : tuple of int
        The buffers alive there, or in the clique, ascending.
    """

    bytes: int
    kind: str
    step: int | None
    members: tuple[int, ...]


def bound(problem: Problem, members: Iterable[int] | None = None, pool: Pool | None = None) -> Bound:
    """Return a lower bound of the bytes that one arena for `members` takes.

    Parameters
    ----------
    problem : Problem
        Where the buffers and their conflicts are. Separations are left out, which keeps the bound valid; of an
        in-place pair only the larger member counts.
    members : iterable of int or None
        The buffers that share the arena; None means all.
    pool : Pool or None
        The pool they are put in; None counts with the smallest alignment among each buffer's candidates.
    """
    chosen = sorted(range(len(problem.buffers)) if members is None else set(members))
    g = granule(problem, chosen, pool)
    weight = {i: round_up(problem.buffers[i].size, g) for i in chosen}
    if problem.conflicts is None:
        return _pressure(problem, weight)
    return _clique(problem, weight)


def granule(problem: Problem, members: Sequence[int], pool: Pool | None = None) -> int:
    """Return the smallest effective alignment among `members`, in bytes (1 when there are none)."""
    return min((effective_alignment(problem, i, pool) for i in members), default=1)


def effective_alignment(problem: Problem, index: int, pool: Pool | None = None) -> int:
    """Return the larger of a buffer's alignment and that of the pool (or of its least aligned candidate)."""
    buffer = problem.buffers[index]
    of_pool = pool.alignment if pool else min(p.alignment for p in problem.candidates(buffer))
    return max(buffer.alignment, of_pool)


def stack(problem: Problem, members: Sequence[int], pool: Pool | None = None) -> tuple[dict[int, int], int]:
    """Return the offsets of `members` side by side, most aligned first, and where the last one ends (bytes)."""
    offsets: dict[int, int] = {}
    end = 0
    align = {i: effective_alignment(problem, i, pool) for i in members}
    for i in sorted(members, key=lambda i: (-align[i], problem.buffers[i].name)):
        size = problem.buffers[i].size
        offsets[i] = round_up(end, align[i]) if size else 0
        end = max(end, offsets[i] + size)
    return offsets, end


def naive(problem: Problem, members: Iterable[int] | None = None, pool: Pool | None = None) -> int:
    """Return the bytes that `members` take when nothing shares, counted with the same granule as `bound`."""
    chosen = sorted(range(len(problem.buffers)) if members is None else set(members))
    return round_up(stack(problem, chosen, pool)[1], granule(problem, chosen, pool))


def planned(plan: Plan, pool: Pool) -> int:
    """Return the bytes of one pool's arena, counted with the same granule as `bound` and `naive`."""
    members = [i for i, place in enumerate(plan.placements) if place.pool == pool.name]
    return round_up(plan.size(pool.name), granule(plan.problem, members, pool))


def _pressure(problem: Problem, weight: dict[int, int]) -> Bound:
    """Sweep over the steps at which something is born or dies; deaths first, as live ranges are half-open."""
    partners = {i: js for i, js in Conflicts(problem).partners.items() if i in weight}
    if not partners and len(weight) > MANY:
        rows = [(r.start, r.stop, w) for i, w in weight.items() for r in problem.buffers[i].live_ranges]
        if all(abs(number) < 2**62 for row in rows for number in row) and sum(weight.values()) < 2**62:
            start, stop, size = np.array(rows, dtype=np.int64).T
            return _at(problem, weight, *most_alive(size, start, stop))
    events = sorted(
        (time, born, i)
        for i in weight
        for span in problem.buffers[i].live_ranges
        for time, born in ((span.start, True), (span.stop, False))
    )
    alive: dict[int, None] = {}
    best, step = 0, min((time for time, _, _ in events), default=None)
    total = 0
    for k, (time, born, i) in enumerate(events):
        if born:
            alive[i] = None
            total += weight[i]
        else:
            del alive[i]
            total -= weight[i]
        # `total` counts both of a pair, so it can only be too large: look closer when it would be a new record.
        last = k + 1 == len(events) or events[k + 1][0] != time
        if last and total > best:
            exact = total - _shared(alive, partners, weight) if partners else total
            if exact > best:
                best, step = exact, time
    return _at(problem, weight, best, step)


def _at(problem: Problem, weight: Iterable[int], best: int, step: int | None) -> Bound:
    members = tuple(
        i for i in weight if step is not None and any(r.start <= step < r.stop for r in problem.buffers[i].live_ranges)
    )
    return Bound(best, "pressure", step, members)


def _shared(alive: Iterable[int], partners: dict[int, frozenset[int]], weight: dict[int, int]) -> int:
    """Return what in-place pairs among `alive` can save at most, group by connected group."""
    left = {i for i in alive if i in partners}
    saved = 0
    while left:
        group, todo = set(), [left.pop()]
        while todo:
            i = todo.pop()
            group.add(i)
            met = partners[i] & left
            left -= met
            todo.extend(met)
        saved += sum(weight[i] for i in group) - _side_by_side(group, partners, weight)
    return saved


def _side_by_side(group: set[int], partners: dict[int, frozenset[int]], weight: dict[int, int]) -> int:
    """Return the heaviest choice of buffers of which no two are partners: those must lie side by side."""
    if len(group) > 24:  # the largest alone is a choice too, and the rest takes exponential time
        return max(weight[i] for i in group)
    most = max(group, key=lambda i: (len(partners[i] & group), i), default=None)
    if most is None or not partners[most] & group:
        return sum(weight[i] for i in group)
    rest = group - {most}
    return max(
        weight[most] + _side_by_side(rest - partners[most], partners, weight), _side_by_side(rest, partners, weight)
    )


def _clique(problem: Problem, weight: dict[int, int]) -> Bound:
    """Find a heavy clique among given conflicts.

    Maximum cardinality search visits the graph so that, if it is chordal (as conflicts that come from intervals of
    time are), every maximal clique is some buffer with its neighbours visited before it (Tarjan and Yannakakis,
    SIAM J. Comput. 1984). Elsewhere such a set is thinned out to a clique, heaviest first.
    """
    # Members of an in-place pair may overlap, so they cannot both be counted: not an edge here.
    near: dict[int, set[int]] = {i: set() for i in weight}
    in_place = {(min(pair), max(pair)) for pair in problem.in_place}
    for i, j in (problem.conflicts or frozenset()) - in_place:
        if i in near and j in near:
            near[i].add(j)
            near[j].add(i)
    best: tuple[int, tuple[int, ...]] = (0, ())
    visited: dict[int, int] = {i: 0 for i in weight}
    buckets: list[dict[int, None]] = [dict.fromkeys(weight)]
    done: set[int] = set()
    top = 0
    for _ in weight:
        while not buckets[top]:
            top -= 1
        i = next(iter(buckets[top]))
        del buckets[top][i]
        clique = [i]
        for j in sorted(near[i] & done, key=lambda j: (-weight[j], j)):
            if all(k in near[j] for k in clique):
                clique.append(j)
        total = sum(weight[j] for j in clique)
        if total > best[0]:
            best = total, tuple(sorted(clique))
        done.add(i)
        for j in sorted(near[i] - done):
            del buckets[visited[j]][j]
            visited[j] += 1
            if visited[j] == len(buckets):
                buckets.append({})
            buckets[visited[j]][j] = None
        top = min(top + 1, len(buckets) - 1)
    return Bound(best[0], "clique", None, best[1])
