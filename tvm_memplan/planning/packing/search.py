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

from collections.abc import Sequence

from tvm_memplan.planning.packing import kernel
from tvm_memplan.planning.packing.pack import MOST_LISTED, Layout, Packer

#: What a search may cost in comparisons of two buffers; it sets the number of moves.
EFFORT = 2_000_000_000


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
    run = kernel.compiled_climb() if packer.fast else kernel.climb
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
