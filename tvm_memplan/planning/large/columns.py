"""A problem of very many buffers as columns instead of objects.

A problem qualifies when nothing but time says who conflicts, and all buffers prefer one pool. Its columns are made
once; who holds such columns already need never make a million `Buffer` values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.bounds.pressure import most_alive
from tvm_memplan.planning.model import Pool, Problem

Array = npt.NDArray[np.int64]


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
