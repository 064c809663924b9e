"""Cutting an arena where no buffer lies across the cut, so that every piece can be an allocation of its own.

A code generator tells allocations apart and not the places in one: of two buffers in one arena it has to believe that
a store to one may change the other. So buffers stay together only where they share bytes, with each other or through
others::

    bytes   0        64       128      192            an arena of 192 bytes is cut at 128:
            +-----------------+--------+              a and b share bytes, so do b and c, and d
            |        a        |        |              shares with none of them
            |   +--------+    |   d    |
            |   |   b    +----|        |
            |   |        |  c |        |
            +---+--------+----+--------+

Pieces lie side by side and are as long together as the arena: what is left between two of them for the sake of
alignment belongs to the first. A piece begins at a multiple of every alignment in it, so that places counted from its
start are aligned as they were, and is long enough to be an array of the widest element in it; where there is no room
for either, two pieces stay one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.model import Placement, Plan, round_up


def cuts(plan: Plan, elements: Sequence[int]) -> tuple[int, ...]:
    """Where the pieces of an arena begin.

    Parameters
    ----------
    plan : Plan
        Of one pool.
    elements : sequence of int
        Bytes of an element of each buffer.

    Returns
    -------
    tuple of int
        Byte offsets in the arena, ascending; the first is 0.
    """
    found: list[_Piece] = []
    places = sorted((p.offset, i) for i, p in enumerate(plan.placements) if plan.problem.buffers[i].size)
    for offset, i in places:
        buffer = plan.problem.buffers[i]
        piece = _Piece(offset, offset + buffer.size, buffer.alignment, elements[i])
        if found and offset < found[-1].stop:
            piece = found.pop().with_(piece)
        while found and piece.begin < found[-1].end:
            piece = found.pop().with_(piece)
        found.append(piece)
    return (0, *(piece.begin for piece in found[1:]))


class _Piece:
    """A piece in the making: the bytes ``[start, stop)`` of buffers, their widest alignment and element."""

    def __init__(self, start: int, stop: int, alignment: int, element: int) -> None:
        self.start, self.stop, self.alignment, self.element = start, stop, alignment, element

    @property
    def begin(self) -> int:
        return self.start - self.start % self.alignment

    @property
    def end(self) -> int:
        return self.begin + round_up(self.stop - self.begin, self.element)

    def with_(self, other: _Piece) -> _Piece:
        return _Piece(
            min(self.start, other.start),
            max(self.stop, other.stop),
            max(self.alignment, other.alignment),
            max(self.element, other.element),
        )


def in_pieces(plan: Plan, starts: Sequence[int]) -> Plan:
    """The same plan with a pool for each piece of its arena, which the judge knows how to judge.

    Parameters
    ----------
    plan : Plan
        Of one pool.
    starts : sequence of int
        Where the pieces begin.

    Raises
    ------
    BadPlan
        When the starts do not begin at 0 and ascend. (Whether a buffer lies across a cut, the judge says.)
    """
    size, (pool,) = plan.size(), plan.problem.pools
    ends = (*starts[1:], size)
    bounds = (*starts, size) if size else tuple(starts)
    if bounds[:1] != (0,) or any(start >= end for start, end in pairwise(bounds)):
        raise BadPlan(f"the pieces of an arena begin at 0 and ascend, not at {list(starts)}")
    pools = tuple(
        replace(pool, name=f"{pool.name}#{number}", capacity=end - start)
        for number, (start, end) in enumerate(zip(starts, ends))
    )
    places = []
    for buffer, place in zip(plan.problem.buffers, plan.placements):
        if not buffer.size and len(pools) > 1:
            # It has no bytes, but a type, and a piece may be too short for an array of that. The last ends the arena.
            places.append(Placement(pools[-1].name, 0))
            continue
        number = bisect_right(starts, place.offset) - 1
        places.append(Placement(pools[number].name, place.offset - starts[number]))
    return Plan(replace(plan.problem, pools=pools), tuple(places), plan.planner)
