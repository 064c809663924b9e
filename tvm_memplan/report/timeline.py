"""When how much of a pool is in use: the pressure curve of a plan.

::

    held   4    7     8      3         4 bytes from step 0, 7 from step 1, ...; nothing from step 6 on
    step   0    1     2      4     6   the moments: only where something is born or dies

A byte that two buffers hold at once (an in-place pair, the two sides of a branch) counts once, so ``planned - held`` is
what lies idle in the arena at that moment. No rounding to alignments: the curve may stay a little below the bound.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from tvm_memplan.report.memory import Allocation, MemoryReport


@dataclass(frozen=True)
class Timeline:
    """Bytes of one pool in use: ``held[i]`` from step ``moments[i]`` to the next moment; the last is always 0."""

    moments: tuple[int, ...]
    held: tuple[int, ...]

    def at(self, step: int) -> int:
        """Bytes in use at `step`."""
        i = bisect_right(self.moments, step) - 1
        return self.held[i] if i >= 0 else 0

    @property
    def most(self) -> int:
        """The largest number of bytes in use at once."""
        return max(self.held, default=0)

    @property
    def mean(self) -> float:
        """Bytes in use on average, from the first moment to the last."""
        if len(self.moments) < 2:
            return 0.0
        total = sum(n * (stop - start) for n, (start, stop) in zip(self.held, pairwise(self.moments)))
        return total / (self.moments[-1] - self.moments[0])


def pool_timeline(report: MemoryReport, pool: str) -> Timeline:
    """Return the pressure curve of the pool called `pool`; buffers without live ranges do not count."""
    return timeline([row for row in report.allocations if row.pool == pool])


def timeline(rows: Sequence[Allocation]) -> Timeline:
    """Return the pressure curve of buffers of one pool, by a sweep over births and deaths."""
    edges = sorted({edge for row in rows for edge in (row.offset, row.end)})
    cover = np.zeros(max(len(edges) - 1, 0), dtype=np.int64)
    small = not edges or edges[-1] < 2**62
    width = np.array([b - a for a, b in pairwise(edges)], dtype=np.int64 if small else object)
    spans = [slice(bisect_left(edges, row.offset), bisect_left(edges, row.end)) for row in rows]
    events = sorted(
        (step, born, i)
        for i, row in enumerate(rows)
        for live in row.live_ranges
        for step, born in ((live.start, True), (live.stop, False))
    )
    moments, held, total = [], [], 0
    for step, group in groupby(events, key=lambda event: event[0]):
        for _, born, i in group:
            part = cover[spans[i]]
            if born:
                total += int(width[spans[i]][part == 0].sum())
                part += 1
            else:
                part -= 1
                total -= int(width[spans[i]][part == 0].sum())
        moments.append(step)
        held.append(total)
    return Timeline(tuple(moments), tuple(held))
