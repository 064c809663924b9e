"""Colours for a conflict graph: neighbours get different colours, and whoever has one colour can share a slot.

Each function takes the graph and returns a colour per vertex, 0 and up. They differ in who chooses first; everybody
takes the lowest colour that no neighbour has::

    largest_first    the largest buffer first, so that a slot never grows
    smallest_last    whoever has fewest neighbours left is set aside, and chooses after all others; never more than one
                     colour above the largest number of neighbours left (Matula and Beck, J. ACM 1983)
    dsatur           whoever sees most colours already first; two colours for every two-colourable graph (Brelaz,
                     Comm. ACM 1979)
    left_edge        for intervals, without a graph: born first, any colour that is free; as many colours as are alive
                     at once, which is the fewest there can be (Hashimoto and Stevens, DAC 1971)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from tvm_memplan.planning.model import LiveRange

#: The neighbours of every vertex.
Graph = Sequence[Collection[int]]


def largest_first(near: Graph, sizes: Sequence[int]) -> list[int]:
    """Colour in order of size, the largest first."""
    return _coloured(near, sorted(range(len(near)), key=lambda i: (-sizes[i], i)))


def smallest_last(near: Graph) -> list[int]:
    """Colour in the reverse of the order in which the vertex of least degree is taken away."""
    degree = [len(others) for others in near]
    buckets: list[dict[int, None]] = [{} for _ in range(max(degree, default=0) + 1)]
    for i in range(len(near)):
        buckets[degree[i]][i] = None
    order: list[int] = []
    gone = [False] * len(near)
    least = 0
    for _ in near:
        while not buckets[least]:
            least += 1
        i, _none = buckets[least].popitem()
        gone[i] = True
        order.append(i)
        for j in near[i]:
            if not gone[j]:
                del buckets[degree[j]][j]
                degree[j] -= 1
                buckets[degree[j]][j] = None
        least = max(least - 1, 0)
    return _coloured(near, order[::-1])


def dsatur(near: Graph) -> list[int]:
    """Colour whoever has most different colours around it, then most neighbours."""
    colours = [-1] * len(near)
    seen: list[set[int]] = [set() for _ in near]
    heap = [(0, -len(others), i) for i, others in enumerate(near)]
    heapify(heap)
    while heap:
        saturation, _, i = heappop(heap)
        if colours[i] >= 0 or -saturation != len(seen[i]):
            continue  # an entry from before its neighbours were coloured
        colours[i] = _lowest(seen[i])
        for j in near[i]:
            if colours[j] < 0 and colours[i] not in seen[j]:
                seen[j].add(colours[i])
                heappush(heap, (-len(seen[j]), -len(near[j]), j))
    return colours


def left_edge(spans: Sequence[LiveRange], sizes: Sequence[int]) -> list[int]:
    """Colour intervals by start; of the colours that are free, the one whose largest member fits best.

    That is the smallest that is not smaller, or else the largest: any choice gives the fewest colours, this one keeps
    slots from growing.
    """
    colours = [-1] * len(spans)
    largest: list[int] = []
    free: list[tuple[int, int]] = []  # size and colour, ascending
    ends: list[tuple[int, int]] = []
    for i in sorted(range(len(spans)), key=lambda i: (spans[i].start, -sizes[i], i)):
        while ends and ends[0][0] <= spans[i].start:
            _, colour = heappop(ends)
            insort(free, (largest[colour], colour))
        if free:
            at = bisect_left(free, (sizes[i], -1))
            _, colour = free.pop(min(at, len(free) - 1))
            largest[colour] = max(largest[colour], sizes[i])
        else:
            colour = len(largest)
            largest.append(sizes[i])
        colours[i] = colour
        heappush(ends, (spans[i].stop, colour))
    return colours


def _coloured(near: Graph, order: Sequence[int]) -> list[int]:
    colours = [-1] * len(near)
    for i in order:
        colours[i] = _lowest({colours[j] for j in near[i]})
    return colours


def _lowest(taken: Collection[int]) -> int:
    colour = 0
    while colour in taken:
        colour += 1
    return colour
