"""Planning problems of thousands to millions of buffers: columns instead of objects, a few orders, no graph.

A problem qualifies when nothing but time says who conflicts, and all buffers prefer one pool. Its columns are made
once; who holds such columns already can call `pack` and never make a million `Buffer` values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.bounds.pressure import most_alive
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.large.fit import fit
from tvm_memplan.planning.model import Pool, Problem

Array = npt.NDArray[np.int64]

#: A look at a buffer somewhere in a large memory takes so many times as long as one in the exact search.
DEARER = 2


@dataclass(frozen=True, eq=False)
class Columns:
    """The buffers of one arena as arrays of int64.

    Parameters
    ----------
    size, align : array
        Bytes.
    ptr, start, stop : array
        Buffer ``i`` is alive in ``[start[k], stop[k])`` for ``ptr[i] <= k < ptr[i + 1]``, sorted and apart.
    """

    size: Array
    align: Array
    ptr: Array
    start: Array
    stop: Array

    @property
    def pressure(self) -> int:
        """The largest sum of sizes alive at one step, each rounded up to the smallest alignment."""
        return most_alive(self.rounded[self.owner], self.start, self.stop)[0]

    @property
    def owner(self) -> Array:
        """The buffer of each live range."""
        return np.repeat(np.arange(len(self.size), dtype=np.int64), np.diff(self.ptr))

    @property
    def rounded(self) -> Array:
        """Sizes, rounded up to the smallest alignment."""
        g = self.align.min(initial=1 << 62) if len(self.align) else 1
        result: Array = -(-self.size // g) * g
        return result


def columns(problem: Problem) -> tuple[Columns, Pool] | None:
    """Return a problem as columns, with the pool that all its buffers prefer, or None if it does not qualify."""
    if problem.conflicts is not None or problem.separate or problem.in_place or not problem.buffers:
        return None
    if len(problem.pools) == 1:
        pool = problem.pools[0]
    else:
        preferred = {problem.candidates(buffer)[0] for buffer in problem.buffers}
        if len(preferred) > 1:
            return None
        pool = preferred.pop()
    buffers = problem.buffers
    if any(buffer.pinned for buffer in buffers):
        return None
    ranges = [buffer.live_ranges for buffer in buffers]
    earliest = min(own[0].start for own in ranges)
    latest = max(own[-1].stop for own in ranges)
    total = sum(b.size for b in buffers) + max(pool.alignment, max(b.alignment for b in buffers)) * len(buffers)
    if max(total, latest - earliest) >= 2**62:  # only Python's own integers are exact there
        return None
    return Columns(
        np.array([buffer.size for buffer in buffers], dtype=np.int64),
        np.maximum(np.array([buffer.alignment for buffer in buffers], dtype=np.int64), pool.alignment),
        np.concatenate([[0], np.cumsum([len(own) for own in ranges])]).astype(np.int64),
        np.array([r.start - earliest for own in ranges for r in own], dtype=np.int64),
        np.array([r.stop - earliest for own in ranges for r in own], dtype=np.int64),
    ), pool


#: The orders to try.
ORDERS = ("size", "crowded", "area", "size_then_stop", "duration")


def arrange(given: Columns, order: str) -> Array:
    """Return the buffers in one of the `ORDERS`. Ties go by start, then by position in the columns.

    Largest first, born first among equals: buffers of one size, of which large networks have many, are then laid out
    as an interval graph is coloured, without waste. Or largest and most crowded first, by size times conflicts.
    """
    born = given.start[given.ptr[:-1]]
    if order == "size":
        return np.lexsort((born, -given.size)).astype(np.int64)
    size = given.size.astype(np.float64)
    if order == "crowded":
        return np.lexsort((born, -size * (1 + conflicts(given)))).astype(np.int64)
    dead = given.stop[given.ptr[1:] - 1]
    if order == "area":
        return np.lexsort((born, -given.size, -size * (dead - born))).astype(np.int64)
    if order == "duration":
        return np.lexsort((born, -given.size, born - dead)).astype(np.int64)
    return np.lexsort((-dead, -given.size)).astype(np.int64)


def conflicts(given: Columns) -> Array:
    """Return how many live ranges overlap those of each buffer."""
    met = np.searchsorted(np.sort(given.start), given.stop, "left")
    met -= np.searchsorted(np.sort(given.stop), given.start, "right") + 1
    return np.bincount(given.owner, met, len(given.size)).astype(np.int64)


#: Orders, and whether gaps are chosen by best fit.
TRIALS = [("size", False), ("crowded", False), ("size", True), ("area", True), ("duration", True), ("area", False)]


def pack(given: Columns, effort: Effort) -> tuple[Array, int]:
    """Return offsets and the arena in bytes: the best of some orders, as many as the effort allows (one at least).

    Buffers of no bytes lie at 0. Takes about 0.3 s per order for 100,000 buffers of which a hundred are alive at a
    time.
    """
    goal = given.pressure
    solid = given.size > 0
    best = np.zeros(len(given.size), dtype=np.int64)
    least = -1
    spent = 0
    for name, best_fit in TRIALS:
        # The next trial costs about as much as the last; who could not finish does not begin.
        if least >= 0 and (least <= goal or effort.work < spent or effort.over):
            break
        order = arrange(given, name)
        order = order[solid[order]]
        offset, top, spent = fit(order, given.size, given.align, given.ptr, given.start, given.stop, best_fit, least)
        spent *= DEARER
        effort.spend(spent)
        if top >= 0 and (least < 0 or top < least):
            best, least = offset, top
    return best, max(least, 0)
