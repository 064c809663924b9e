"""What any packing must take at least, and what it takes without sharing.

All figures of one set of buffers are counted in the same **granule** ``g``: the smallest effective alignment (the
larger of the buffer's and the pool's) among them. Alignments are powers of two, so every offset is a multiple of
``g``, and the tail of a buffer up to the next multiple of ``g`` is of no use to anybody: rounding every size, and
the arena, up to ``g`` changes no packing. Hence for a plan without pins ::

    bound    sum of rounded sizes that must lie side by side      (valid: they are disjoint, tails included)
    <= planned   the arena, rounded up
    <= naive     all buffers stacked in order of descending alignment, the end rounded up

Where alignments are mixed, the buffers of alignment ``a`` and more are looked at alone, too, for every ``a`` that
occurs: of those that lie side by side, each but the topmost takes its size rounded up to ``a``, since the next one
starts at a multiple of ``a``, and the topmost takes its size rounded up to ``g``. Taking away the largest difference of
the two roundings that any of them has allows for any of them to be the topmost.

The last step holds because planners fall back to that very stack. In descending order of alignment a stack wastes
only the tails that a larger alignment makes, which is why naive is not simply the sum of the sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tvm_memplan.planning.bounds.clique import heaviest_clique
from tvm_memplan.planning.bounds.pressure import pressure
from tvm_memplan.planning.model import Plan, Pool, Problem, round_up


@dataclass(frozen=True)
class Bound:
    """A size no packing can beat.

    Parameters
    ----------
    bytes : int
        The bound.
    kind : str
        "pressure": the largest sum alive at one step. "clique": the heaviest set of buffers that was found of which
        no two may share, be it for given conflicts, for several live ranges or because they are separate; there may
        be a heavier one, so it is a bound but perhaps not the best.
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
        Where the buffers and their conflicts are. Of an in-place pair only the larger member counts.
    members : iterable of int or None
        The buffers that share the arena; None means all.
    pool : Pool or None
        The pool they are put in; None counts with the smallest alignment among each buffer's candidates.
    """
    chosen = sorted(range(len(problem.buffers)) if members is None else set(members))
    align = {i: effective_alignment(problem, i, pool) for i in chosen}
    least = min(align.values(), default=1)
    best = Bound(0, "pressure" if problem.conflicts is None else "clique", None, ())
    for a in sorted({*align.values(), least}):
        own = [i for i in chosen if align[i] >= a]
        weight = {i: round_up(problem.buffers[i].size, a) for i in own}
        topmost = max((weight[i] - round_up(problem.buffers[i].size, least) for i in own), default=0)
        for found in _bounds(problem, chosen, weight):
            total = found.bytes - topmost
            if total > best.bytes or (best.step is None and not best.members):
                best = Bound(total, found.kind, found.step, found.members)
    return best


def _bounds(problem: Problem, chosen: Sequence[int], weight: dict[int, int]) -> Iterable[Bound]:
    """Yield the bounds of weighted buffers that must lie side by side, however they are found."""
    if problem.conflicts is None:
        best, step = pressure(problem, weight)
        alive = (
            i
            for i in chosen
            if step is not None and any(r.start <= step < r.stop for r in problem.buffers[i].live_ranges)
        )
        yield Bound(best, "pressure", step, tuple(alive))
        # Buffers of one live range each that are alive together in pairs are all alive at one step; others need not.
        several = any(len(problem.buffers[i].live_ranges) > 1 for i in weight)
        apart = any(i in weight and j in weight for i, j in problem.separate)
        if several or apart:
            best, clique = heaviest_clique(problem, weight, floor=best)
            yield Bound(best, "clique", None, clique)
    else:
        best, clique = heaviest_clique(problem, weight)
        yield Bound(best, "clique", None, clique)


def granule(problem: Problem, members: Sequence[int], pool: Pool | None = None) -> int:
    """Return the smallest effective alignment among `members`, in bytes (1 when there are none)."""
    return min((effective_alignment(problem, i, pool) for i in members), default=1)


def effective_alignment(problem: Problem, index: int, pool: Pool | None = None) -> int:
    """Return the larger of a buffer's alignment and the pool's (or the least of its candidates'), granularity included.

    A granularity acts as an alignment: where all offsets are multiples of it, rounding sizes up to it changes only
    the end of the arena.
    """
    buffer = problem.buffers[index]
    pools = (pool,) if pool else problem.candidates(buffer)
    return max(buffer.alignment, min(max(p.alignment, p.granularity) for p in pools))


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
