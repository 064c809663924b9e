"""Placement of very many buffers: first fit in any order, with an index over time instead of a conflict graph.

Placed buffers lie in *buckets* of time. Level 0 has narrow buckets, each next level twice as wide ones, and a live
range goes to the level where it is no wider than a bucket, so to one bucket or two::

    level 2   |               0               |               1         ...       long ranges
    level 1   |       0       |       1       |       2       |         ...
    level 0   |   0   |   1   |   2   |   3   |   4   |   5   |         ...       short ranges
              +-------+-------+-------+-------+-------+-------+--> step

To place a buffer, the buckets that its live range touches are looked through on every level; nearly all of what is in
them is alive with it, so the work is about the number of conflicts, while the memory is a few numbers per range.
How full each bucket will get is counted beforehand. Buckets are slices of one array, each sorted by offset, and are
merged by a heap until a gap is wide enough, so that whoever lies above it is not even looked at.

Everything is in arrays of int64 and compiled by numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.compiling import compiled_together

Array = npt.NDArray[np.int64]


def fit(
    order: Array,
    size: Array,
    align: Array,
    ptr: Array,
    start: Array,
    stop: Array,
    best_fit: bool = False,
    limit: int = -1,
) -> tuple[Array, int, int]:
    """Put every buffer at the lowest offset that is free, or into the narrowest gap.

    Parameters
    ----------
    order : array
        The buffers, first to choose first; those not in it are left out.
    size, align : array
        Bytes.
    ptr, start, stop : array
        Buffer ``i`` has the live ranges ``[start[k], stop[k])`` for ``ptr[i] <= k < ptr[i + 1]``, sorted and apart;
        steps from 0 on.
    best_fit : bool
        Take the narrowest gap that is wide enough instead of the lowest.
    limit : int
        Give up when the arena grows beyond this many bytes; -1 for never.

    Returns
    -------
    array
        Offsets in bytes.
    int
        The arena in bytes; -1 when it gave up.
    int
        The work that was done, in looks at a buffer.
    """
    shift, first = _levels(start, stop)
    level, slots = _slots(start, stop, shift, first)
    offset = np.zeros(len(size), dtype=np.int64)
    top, work = _compiled()(order, size, align, ptr, start, stop, best_fit, limit, shift, first, level, slots, offset)
    return offset, int(top), int(work)


def _levels(start: Array, stop: Array) -> tuple[int, Array]:
    """How many bits the narrowest bucket is wide, and the number of the first bucket of each level."""
    end = int(stop.max(initial=1))
    usual = int(np.median(stop - start)) if len(start) else 1
    shift = max(usual, end // max(1, len(start)), 1).bit_length() - 1
    first = [0]
    bits = shift
    while True:
        first.append(first[-1] + (end >> bits) + 1)
        if end >> bits == 0:
            return shift, np.array(first, dtype=np.int64)
        bits += 1


def _slots(start: Array, stop: Array, shift: int, first: Array) -> tuple[Array, Array]:
    """The level of every live range, and where the slice of each bucket begins."""
    width = np.int64(1) << (shift + np.arange(len(first) - 1, dtype=np.int64))
    level = np.minimum(np.searchsorted(width, stop - start), len(width) - 1).astype(np.int64)
    low = first[level] + (start >> (shift + level))
    high = first[level] + ((stop - 1) >> (shift + level))
    count = np.bincount(low, minlength=int(first[-1])) + np.bincount(high[high > low], minlength=int(first[-1]))
    return level, np.concatenate([[0], np.cumsum(count)]).astype(np.int64)


def _fit(
    order: Any,
    size: Any,
    align: Any,
    ptr: Any,
    start: Any,
    stop: Any,
    best_fit: bool,
    limit: int,
    shift: int,
    first: Any,
    level: Any,
    slots: Any,
    offset: Any,
) -> Any:
    fill = slots[:-1].copy()
    entry = np.empty((slots[-1], 4), dtype=np.int64)  # start, stop, offset and end of a placed live range
    room = 64
    lows = np.empty(room, dtype=np.int64)  # a heap of offsets, and which cursor each belongs to
    whose = np.empty(room, dtype=np.int64)
    cursor = np.empty((room, 4), dtype=np.int64)  # entry, end of the bucket, least start, the live range that asks
    stored = np.zeros(len(first) - 1, dtype=np.int64)
    top = 0
    work = 0
    for position in range(len(order)):
        i = order[position]
        # The lowest of each bucket who is alive with it.
        met = 0
        for k in range(ptr[i], ptr[i + 1]):
            for at in range(len(stored)):
                if stored[at] == 0:
                    continue
                low_bucket = first[at] + (start[k] >> (shift + at))
                high_bucket = first[at] + ((stop[k] - 1) >> (shift + at))
                work += high_bucket - low_bucket + 1
                for bucket in range(low_bucket, high_bucket + 1):
                    if fill[bucket] == slots[bucket]:
                        continue
                    # Who reaches in from the bucket before was seen there, unless that is out of sight.
                    least = (bucket - first[at]) << (shift + at) if bucket > low_bucket else 0
                    e = _next(entry, slots[bucket], fill[bucket], least, start[k], stop[k])
                    work += e - slots[bucket]
                    if e == fill[bucket]:
                        continue
                    if met == len(lows):
                        lows = np.concatenate((lows, lows))
                        whose = np.concatenate((whose, whose))
                        cursor = np.concatenate((cursor, cursor))
                    lows[met] = entry[e, 2]
                    whose[met] = met
                    cursor[met, 0] = e
                    cursor[met, 1] = fill[bucket]
                    cursor[met, 2] = least
                    cursor[met, 3] = k
                    met += 1
        for root in range(met // 2 - 1, -1, -1):
            _sift(lows, whose, root, met)
        end = 0
        best = -1
        narrowest = 0
        while met > 0:
            low = (end + align[i] - 1) // align[i] * align[i]
            if lows[0] - low >= size[i] and (best < 0 or lows[0] - end < narrowest):
                best = low
                narrowest = lows[0] - end
                if not best_fit:
                    break
            c = whose[0]
            e = cursor[c, 0]
            end = max(end, entry[e, 3])
            k = cursor[c, 3]
            after = _next(entry, e + 1, cursor[c, 1], cursor[c, 2], start[k], stop[k])
            work += after - e
            if after < cursor[c, 1]:
                cursor[c, 0] = after
                lows[0] = entry[after, 2]
            else:
                met -= 1
                lows[0] = lows[met]
                whose[0] = whose[met]
            _sift(lows, whose, 0, met)
        low = best if best >= 0 else (end + align[i] - 1) // align[i] * align[i]
        offset[i] = low
        top = max(top, low + size[i])
        if limit >= 0 and top > limit:
            return -1, work
        for k in range(ptr[i], ptr[i + 1]):
            at = level[k]
            bucket = first[at] + (start[k] >> (shift + at))
            while bucket <= first[at] + ((stop[k] - 1) >> (shift + at)):
                e = fill[bucket]
                while e > slots[bucket] and entry[e - 1, 2] > low:
                    entry[e, 0] = entry[e - 1, 0]
                    entry[e, 1] = entry[e - 1, 1]
                    entry[e, 2] = entry[e - 1, 2]
                    entry[e, 3] = entry[e - 1, 3]
                    e -= 1
                entry[e, 0] = start[k]
                entry[e, 1] = stop[k]
                entry[e, 2] = low
                entry[e, 3] = low + size[i]
                fill[bucket] += 1
                bucket += 1
            stored[at] += 1
    return top, work


def _next(entry: Any, e: int, last: int, least: int, start: int, stop: int) -> int:
    """Return the first entry from `e` on that starts at `least` or later and is alive in ``[start, stop)``."""
    while e < last and not (entry[e, 0] < stop and entry[e, 1] > start and entry[e, 0] >= least):
        e += 1
    return e


def _sift(lows: Any, whose: Any, root: int, count: int) -> None:
    """Let the entry at `root` sink to its place in the heap of `count` entries."""
    if root >= count:
        return
    low = lows[root]
    own = whose[root]
    while True:
        child = 2 * root + 1
        if child >= count:
            break
        if child + 1 < count and lows[child + 1] < lows[child]:
            child += 1
        if lows[child] >= low:
            break
        lows[root] = lows[child]
        whose[root] = whose[child]
        root = child
    lows[root] = low
    whose[root] = own


@cache
def _compiled() -> Callable[..., Any]:
    return compiled_together(globals(), _sift, _next, _fit)
