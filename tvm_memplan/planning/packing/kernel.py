"""The inner loops of packing and of the search: integers in, integers out.

`place` puts buffers one after another, each in a gap between those it conflicts with; `climb` improves their order.

Placed buffers are kept in a list sorted by offset, so that one pass meets the gaps from below::

    offset  0        cursor          lo
            |########|      gap      |####|###|  ...      # = conflicting buffers, in ascending order

Both are plain Python over sequences of integers. With lists they are exact for integers of any size and need no
compiler, which suits small problems; through numba they take arrays of int64 and give the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from tvm_memplan.planning.compiling import compiled

Ints = Sequence[int]

#: order, rank, offset, pool_of, placed, top of a layout.
State = tuple[MutableSequence[int], ...]

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


def climb(
    tables: Tables,
    moves: int,
    goal: int,
    patience: int,
    seed: int,
    best_fit: bool,
    count: int,
    now: State,
    new: State,
    mark: MutableSequence[int],
    history: MutableSequence[int],
    best: MutableSequence[int],
) -> int:
    """Do what `tvm_memplan.planning.packing.search.climb` says.

    Parameters
    ----------
    tables
        The problem; its conflicts must be listed.
    moves, goal, patience, seed
        How many moves to try, the cost at which to stop, and after how many moves without a new best.
    best_fit
        As for `place`.
    count, now
        Where to start: a layout of ``count`` placed buffers. Overwritten.
    new, mark, history
        Scratch; ``history`` has the length of the memory that late acceptance compares with.
    best
        Receives the best order.

    Returns
    -------
    int
        The cost of the best order: bytes, those of less preferred pools and those beyond a capacity weigh more.
    """
    order, rank, offset, pool_of, placed, top = now
    order2, rank2, offset2, pool_of2, placed2, top2 = new
    size, capacity, near_ptr, near = tables[0], tables[4], tables[5], tables[6]
    pools = len(top)
    length = len(order)
    cost = 0
    for p in range(pools):
        cost += top[p] << p
        if 0 <= capacity[p] < top[p]:
            cost += (top[p] - capacity[p]) << pools
    lowest = cost
    found = 0
    for k in range(length):
        best[k] = order[k]
    for k in range(len(history)):
        history[k] = cost
    for move in range(moves):
        if lowest <= goal or move - found > patience:
            break
        # A buffer at the top of the least preferred arena in use; each of several with the same chance.
        pool = 0
        for p in range(pools):
            if top[p]:
                pool = p
        i = -1
        seen = 0
        for k in range(length):
            j = order[k]
            if pool_of[j] == pool and offset[j] + size[j] == top[pool]:
                seen += 1
                seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
                if (seed >> 8) % seen == 0:
                    i = j
        if i < 0:
            break  # a pinned buffer is the top
        # Or one of those it rests on.
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        down = (seed >> 8) % 4
        while down > 0:
            down -= 1
            below = -1
            for k in range(near_ptr[i], near_ptr[i + 1]):
                j = near[k]
                if pool_of[j] == pool and offset[j] + size[j] == offset[i] and 0 <= rank[j] < length:
                    below = j
            if below < 0:
                break
            i = below
        # Somebody it conflicts with and who chose earlier.
        at = rank[i]
        to = at  # (not -1: a constant would have `place` compiled once more)
        seen = 0
        for k in range(near_ptr[i], near_ptr[i + 1]):
            r = rank[near[k]]
            if 0 <= r < at:
                seen += 1
                seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
                if (seed >> 8) % seen == 0:
                    to = r
        if to == at:
            continue
        for k in range(length):
            order2[k] = order[k]
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        if (seed >> 8) % 2:
            order2[to] = i
            order2[at] = order[to]
        else:
            for k in range(to, at):
                order2[k + 1] = order[k]
            order2[to] = i
        for k in range(len(rank)):
            rank2[k] = rank[k]
            offset2[k] = offset[k]
            pool_of2[k] = pool_of[k]
        for k in range(to, at + 1):
            rank2[order2[k]] = k
        slot = move % len(history)
        limit = max(cost, history[slot])
        ceiling = limit if pools == 1 and capacity[0] < 0 else -1
        count2 = place(
            order2, to, rank2, placed, count, tables, best_fit, ceiling, mark, offset2, pool_of2, placed2, top2
        )
        if count2 >= 0:
            cost2 = 0
            for p in range(pools):
                cost2 += top2[p] << p
                if 0 <= capacity[p] < top2[p]:
                    cost2 += (top2[p] - capacity[p]) << pools
            if cost2 <= limit:
                cost = cost2
                count = count2
                for k in range(length):
                    order[k] = order2[k]
                for k in range(len(rank)):
                    rank[k] = rank2[k]
                    offset[k] = offset2[k]
                    pool_of[k] = pool_of2[k]
                for k in range(count):
                    placed[k] = placed2[k]
                for p in range(pools):
                    top[p] = top2[p]
                if cost < lowest:
                    lowest = cost
                    found = move
                    for k in range(length):
                        best[k] = order[k]
        history[slot] = cost
    return lowest


@cache
def compiled_place() -> Callable[..., Any]:
    """Return `place` compiled by numba; the first call in a process loads or compiles it."""
    return compiled(place)


@cache
def compiled_climb() -> Callable[..., Any]:
    """Return `climb` compiled by numba; it calls the compiled `place`."""
    fast = FunctionType(climb.__code__, {**globals(), "place": compiled_place()}, climb.__name__)
    fast.__module__, fast.__qualname__ = climb.__module__, climb.__qualname__
    return compiled(fast)
