"""Improvement: hill climbing over the order in which buffers are placed.

The arena is as large as the buffers at its top make it. One of those could lie lower if it chose before somebody
that it conflicts with, so every move takes a buffer at the top and lets it choose earlier; a move is kept unless it
makes things worse. (The idea is that of the hill-climb allocators of Arm's Vela and of USMP.)

Nothing depends on the clock: the number of moves follows from the number of buffers, and the random numbers from a
fixed seed, so the answer is the same on every machine.
"""

from __future__ import annotations

from random import Random

from tvm_memplan.planning.pack import Layout, Packer

#: Placements of single buffers that are spent on a problem; they set the number of moves.
EFFORT = 1_600_000


def moves_for(buffers: int) -> int:
    """How many moves `climb` tries on a problem of so many buffers."""
    return min(4000, 20 * buffers, EFFORT // max(buffers, 1))


def climb(packer: Packer, layout: Layout, goal: int, moves: int, seed: int = 1) -> Layout:
    """Improve a first-fit `layout`.

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
    """
    random = Random(seed)
    best = layout
    size = [buffer.size for buffer in packer.problem.buffers]
    near: dict[int, list[int]] = {}
    several = len(packer.capacity) > 1
    for _ in range(moves):
        if not any(best.cost[:-1]) and best.cost[-1] <= goal:
            break
        # The arena that counts most is the least preferred one in use.
        pool = max(k for k, top in enumerate(layout.top) if top)
        end = int(layout.top[pool])
        tops = [i for i in layout.order if layout.pool_of[i] == pool and layout.offset[i] + size[i] == end]
        if not tops:
            break  # a pinned buffer is the top
        i = tops[int(random.random() * len(tops))]
        if i not in near:
            near[i] = packer.conflicts.of(i).tolist()
        at = int(layout.rank[i])
        earlier = [j for j in near[i] if 0 <= layout.rank[j] < at]
        if not earlier:
            break  # it chose before everybody that matters to it
        j = earlier[int(random.random() * len(earlier))]
        to = int(layout.rank[j])
        order = layout.order.copy()
        if random.random() < 0.5:
            order[at], order[to] = order[to], order[at]
        else:
            order.insert(to, order.pop(at))
        moved = packer.repack(layout, order, to, ceiling=-1 if several else end)
        if moved is not None and moved.cost <= layout.cost:
            layout = moved
            if layout.cost < best.cost:
                best = layout
    return best
