"""The inner loop of packing: place buffers one after another, each in a gap between those it conflicts with.

Placed buffers are kept in a list sorted by offset, so that one pass meets the gaps from below::

    offset  0        cursor          lo
            |########|      gap      |####|###|  ...      # = conflicting buffers, in ascending order

`place` is plain Python over sequences of integers. With lists it is exact for integers of any size and needs no
compiler, which suits small problems; `compiled` is the same function through numba, for arrays of int64, and gives
the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import cache
from typing import Any

Ints = Sequence[int]

#: A problem as the kernel sees it; ``x_ptr`` splits lists per buffer: ``i`` owns ``x_ptr[i]`` to ``x_ptr[i + 1] - 1``.
#:
#: - size: bytes per buffer
#: - candidate_ptr, candidate_pool, candidate_align: candidate pools in order of preference, effective alignments
#: - capacity: bytes per pool, -1 for none
#: - near_ptr, near: conflicts as lists
#: - row_ptr, row_start, row_stop: live ranges, whose overlaps are conflicts too if the last entry says so
#: - pair_ptr, pair: in-place partners; a buffer starts together with one where nothing else is in the way
#: - whether live ranges count
Tables = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, bool]


def place(
    order: Ints,
    first: int,
    rank: Ints,
    before: Ints,
    before_count: int,
    tables: Tables,
    best_fit: bool,
    ceiling: int,
    mark: MutableSequence[int],
    offset: MutableSequence[int],
    pool_of: MutableSequence[int],
    placed: MutableSequence[int],
    top: MutableSequence[int],
) -> int:
    """Place ``order[first:]``, keeping what an earlier call did for ``order[:first]`` and for pinned buffers.

    Parameters
    ----------
    order, first, rank
        Buffers in placement order; ``rank`` is the position of each in it (-1 when pinned, too large to be reached
        when not in it). Only positions from ``first`` on are placed anew.
    before, before_count
        The sorted list of the earlier call; buffers in it with a rank below ``first`` are kept.
    tables
        The problem, see `Tables`.
    best_fit
        Take the smallest gap that holds the buffer instead of the lowest.
    ceiling
        Give up as soon as an arena grows beyond this many bytes; -1 for never.
    mark, offset, pool_of, placed, top
        Scratch and results; ``top`` is the size of each arena.

    Returns
    -------
    int
        How many buffers ``placed`` holds, or -1 when it gave up. A buffer that fits no candidate goes to the last
        one, beyond its capacity.
    """
    size, candidate_ptr, candidate_pool, candidate_align, capacity = tables[:5]
    near_ptr, near, row_ptr, row_start, row_stop, pair_ptr, pair, by_rows = tables[5:]
    for k in range(len(mark)):
        mark[k] = -1
    for k in range(len(top)):
        top[k] = 0
    count = 0
    for k in range(before_count):
        j = before[k]
        if rank[j] < first:
            placed[count] = j
            count += 1
            top[pool_of[j]] = max(top[pool_of[j]], offset[j] + size[j])

    for position in range(first, len(order)):
        i = order[position]
        for k in range(near_ptr[i], near_ptr[i + 1]):
            mark[near[k]] = position
        at = 0
        pool = 0
        for candidate in range(candidate_ptr[i], candidate_ptr[i + 1]):
            pool = candidate_pool[candidate]
            align = candidate_align[candidate]
            at = -1
            # On top of an in-place partner?
            for k in range(pair_ptr[i], pair_ptr[i + 1]):
                partner = pair[k]
                if at >= 0 or rank[partner] >= position or pool_of[partner] != pool or offset[partner] % align:
                    continue
                low = offset[partner]
                free = True
                for m in range(count):
                    j = placed[m]
                    if pool_of[j] == pool and j != partner and offset[j] < low + size[i] and offset[j] + size[j] > low:
                        hit = mark[j] == position
                        if by_rows and not hit:
                            for r in range(row_ptr[i], row_ptr[i + 1]):
                                for s in range(row_ptr[j], row_ptr[j + 1]):
                                    hit = hit or (row_start[r] < row_stop[s] and row_start[s] < row_stop[r])
                        if hit and offset[j] == low:
                            for s in range(pair_ptr[i], pair_ptr[i + 1]):
                                hit = hit and pair[s] != j
                        if hit:
                            free = False
                            break
                if free:
                    at = low
            # In a gap?
            if at < 0:
                cursor = 0
                smallest = -1
                for m in range(count):
                    j = placed[m]
                    if pool_of[j] != pool:
                        continue
                    if mark[j] != position:
                        if not by_rows:
                            continue
                        hit = False
                        for r in range(row_ptr[i], row_ptr[i + 1]):
                            for s in range(row_ptr[j], row_ptr[j + 1]):
                                hit = hit or (row_start[r] < row_stop[s] and row_start[s] < row_stop[r])
                        if not hit:
                            continue
                    low = (cursor + align - 1) // align * align
                    if offset[j] - low >= size[i] and (smallest < 0 or offset[j] - cursor < smallest):
                        smallest = offset[j] - cursor
                        at = low
                        if not best_fit:
                            break
                    cursor = max(cursor, offset[j] + size[j])
                if at < 0:
                    at = (cursor + align - 1) // align * align
            if capacity[pool] < 0 or at + size[i] <= capacity[pool]:
                break
        offset[i] = at
        pool_of[i] = pool
        top[pool] = max(top[pool], at + size[i])
        if ceiling >= 0 and top[pool] > ceiling:
            return -1
        m = count
        while m > 0 and offset[placed[m - 1]] > at:
            placed[m] = placed[m - 1]
            m -= 1
        placed[m] = i
        count += 1
    return count


@cache
def compiled() -> Callable[..., Any]:
    """Return `place` compiled by numba; the first call in a process loads or compiles it."""
    import numba

    try:
        return numba.njit(cache=True)(place)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep the compiled code
        return numba.njit(place)  # type: ignore[no-any-return]
