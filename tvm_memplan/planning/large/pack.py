"""Packing of thousands to millions of buffers: a few orders, the best of them, no conflict graph."""

from __future__ import annotations

import numpy as np

from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.large.columns import Array, Columns
from tvm_memplan.planning.large.fit import fit

#: A look at a buffer somewhere in a large memory takes so many times as long as one in the exact search.
DEARER = 2

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
