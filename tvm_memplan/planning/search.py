"""Improvement: hill climbing over the order in which buffers are placed.

The arena is as large as the buffers at its top make it. One of those, or of those it rests on, could lie lower if it
chose before somebody that it conflicts with, so every move takes one and lets it choose earlier (the idea of the
hill-climb allocators of Arm's Vela and of USMP). A move is kept unless it is worse than both the present cost and that
of some moves ago: *late acceptance* (Burke and Bykov, EJOR 2017), which gets across small hills with no
temperature to tune.

Nothing depends on the clock: the number of moves follows from the number of buffers, and the random numbers from a
fixed seed, so the answer is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from tvm_memplan.planning.kernel import Tables, compiled, place
from tvm_memplan.planning.pack import MOST_LISTED, Layout, Packer

#: What a search may cost in comparisons of two buffers; it sets the number of moves.
EFFORT = 2_000_000_000

#: order, rank, offset, pool_of, placed, top of a layout.
State = tuple[MutableSequence[int], ...]


def moves_for(buffers: int) -> int:
    """How many moves `climb` tries on a problem of so many buffers (none where conflicts are too many to list)."""
    if not buffers or buffers > MOST_LISTED:
        return 0
    return min(60 * buffers, EFFORT // buffers**2)


def improve(packer: Packer, layouts: Sequence[Layout], goal: int, moves: int) -> Layout:
    """Climb from several first-fit layouts, then some more from the best that was reached.

    Many starts matter more than long climbs: each order leads to hills of its own. `goal` is as for `climb`, and
    `moves` is for all of it together.
    """
    later = (1, 100, 20, 100)
    share = moves // (len(layouts) + len(later))
    best = min(layouts, key=lambda layout: layout.cost)
    for seed, (start, memory) in enumerate([*((layout, 1) for layout in layouts), *((None, m) for m in later)], 1):
        if not any(best.cost[:-1]) and best.cost[-1] <= goal:
            break
        found = climb(packer, start or best, goal, share, seed, memory)
        if found.cost < best.cost:
            best = found
    return best


def climb(packer: Packer, layout: Layout, goal: int, moves: int, seed: int = 1, memory: int = 1) -> Layout:
    """Improve a first-fit layout.

    Parameters
    ----------
    packer : Packer
        What made `layout`.
    layout : Layout
        Where to start.
    goal : int
        Bytes; reaching it (with only the most preferred pool in use, within capacity) ends the search.
    moves : int
        How many moves to try.
    seed : int
        Picks one of many sequences of moves.
    memory : int
        How many moves ago the cost lies that a move may go back to; 1 is plain hill climbing.
    """
    copy = packer.sequence
    if not layout.order:
        return layout
    now = tuple(
        copy(part) for part in (layout.order, layout.rank, layout.offset, layout.pool_of, layout.placed, layout.top)
    )
    new = tuple(copy(part) for part in now)
    best = copy(layout.order)
    run = compiled_climb() if packer.fast else _climb
    run(
        packer.tables,
        moves,
        goal,
        moves,
        seed,
        False,
        layout.count,
        now,
        new,
        copy(layout.rank),
        copy([0] * memory),
        best,
    )
    return packer.pack([int(i) for i in best])


@cache
def compiled_climb() -> Callable[..., Any]:
    """Return the search compiled by numba, calling the compiled `place`."""
    import numba

    python = FunctionType(_climb.__code__, {**globals(), "place": compiled()}, "_climb")
    python.__module__, python.__qualname__ = __name__, "_climb"
    try:
        return numba.njit(cache=True)(python)  # type: ignore[no-any-return]
    except RuntimeError:  # nowhere to keep the compiled code
        return numba.njit(python)  # type: ignore[no-any-return]


def _climb(
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
    """Do what `climb` says, in integers only, so that it can be compiled together with `place`.

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
