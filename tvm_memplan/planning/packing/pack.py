"""Placement: given an order, put every buffer into the first pool that has room, at an offset that is free.

An order says who chooses first (`tvm_memplan.planning.packing.orders`), a fit says which gap is chosen; the two are
independent. Pinned buffers are in place before anybody chooses, and buffers of no bytes need no choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_memplan.planning.bounds.bound import effective_alignment, stack
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Problem
from tvm_memplan.planning.packing.kernel import compiled_place, place

#: Up to so many buffers conflicts are kept as lists; above, live ranges are compared where they are needed.
MOST_LISTED = 3000

#: Comparisons that plain Python does in about a second; beyond, waiting for the compiler pays.
WORTH_COMPILING = 10_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Where an order ended up: the kernel's own sequences, which nobody writes to again.

    `cost` compares layouts: bytes beyond capacities first, then the arenas, the least preferred pool first.
    """

    order: list[int]
    rank: Any
    offset: Any
    pool_of: Any
    placed: Any
    count: int
    top: Any
    cost: tuple[int, ...]


class Packer:
    """Packs one problem, many times over.

    Parameters
    ----------
    conflicts : Conflicts
        The problem and its conflict graph.
    rounds : int
        How many packings are likely to be asked for; it decides only whether compiling is worth the wait.

    Attributes
    ----------
    tables : tuple
        The problem as the kernel sees it.
    fast : bool
        Whether the compiled kernel is used.
    """

    def __init__(self, conflicts: Conflicts, rounds: int = 1) -> None:
        problem = conflicts.problem
        self.conflicts = conflicts
        self.problem = problem
        count = len(problem.buffers)
        index = {pool.name: k for k, pool in enumerate(problem.pools)}
        self.capacity = [-1 if pool.capacity is None else pool.capacity for pool in problem.pools]
        candidates = [problem.candidates(buffer) for buffer in problem.buffers]
        by_rows = problem.conflicts is None and count > MOST_LISTED
        rows = [b.live_ranges if by_rows else () for b in problem.buffers]
        times = {t: k for k, t in enumerate(sorted({t for spans in rows for r in spans for t in (r.start, r.stop)}))}
        if by_rows:
            listed: list[set[int]] = [set() for _ in problem.buffers]
            for i, j in (*problem.separate, *problem.in_place):
                listed[i].add(j)
                listed[j].add(i)
            near: list[Iterable[int]] = [sorted(js) for js in listed]
        else:
            near = [conflicts.of(i).tolist() for i in range(count)]
        coarse = max(pool.alignment for pool in problem.pools)
        total = sum(b.size + max(b.alignment, coarse) + (b.pinned.offset if b.pinned else 0) for b in problem.buffers)
        largest = max(total, *self.capacity) << len(self.capacity)  # no number in the kernels is larger
        fast = largest < 2**62 and rounds * count * count > WORTH_COMPILING
        self.fast = fast
        self._kernel: Callable[..., Any] = compiled_place() if fast else place
        self.tables = (
            self.sequence([b.size for b in problem.buffers]),
            *self._split([[index[p.name] for p in pools] for pools in candidates]),
            self._split([[effective_alignment(problem, i, p) for p in pools] for i, pools in enumerate(candidates)])[1],
            self.sequence(self.capacity),
            *self._split(near),
            *self._split([[times[r.start] for r in spans] for spans in rows]),
            self._split([[times[r.stop] for r in spans] for spans in rows])[1],
            *self._split([sorted(conflicts.partners.get(i, ())) for i in range(count)]),
            by_rows,
        )
        pinned = [(b.pinned.offset, i) for i, b in enumerate(problem.buffers) if b.pinned]
        # Pinned buffers that are empty take no bytes: like every empty buffer they stay out of the list.
        self._pinned = [i for _, i in sorted(pinned) if problem.buffers[i].size]
        self._offset = [b.pinned.offset if b.pinned else 0 for b in problem.buffers]
        self._pool_of = [index[pools[0].name] for pools in candidates]

    def sequence(self, values: Sequence[int]) -> Any:
        """Return a copy of `values` of the kind that the kernel works on."""
        return np.array(values, dtype=np.int64) if self.fast else [int(value) for value in values]

    def pack(self, order: Sequence[int], best_fit: bool = False) -> Layout:
        """Place all buffers in the given order (pinned and empty ones in it are skipped)."""
        free = [i for i in order if not self.problem.buffers[i].pinned and self.problem.buffers[i].size]
        rank = [len(free)] * len(self.problem.buffers)
        for i in self._pinned:
            rank[i] = -1
        for position, i in enumerate(free):
            rank[i] = position
        placed = self._pinned + [0] * (len(rank) - len(self._pinned))
        top = [0] * len(self.capacity)
        start = Layout(
            free,
            self.sequence(rank),
            self.sequence(self._offset),
            self.sequence(self._pool_of),
            self.sequence(placed),
            len(self._pinned),
            self.sequence(top),
            (),
        )
        layout = self.repack(start, free, 0, best_fit=best_fit)
        assert layout is not None
        return layout

    def repack(
        self, layout: Layout, order: list[int], first: int, *, best_fit: bool = False, ceiling: int = -1
    ) -> Layout | None:
        """Place ``order[first:]`` anew; up to there it is the order of `layout`, whose placements are kept.

        Returns None when an arena grew beyond `ceiling` bytes.
        """
        rank = self.sequence(layout.rank)
        for position in range(first, len(order)):
            rank[order[position]] = position
        offset, pool_of = self.sequence(layout.offset), self.sequence(layout.pool_of)
        placed, top, mark = self.sequence(layout.placed), self.sequence(layout.top), self.sequence(layout.rank)
        count = self._kernel(
            self.sequence(order),
            first,
            rank,
            layout.placed,
            layout.count,
            self.tables,
            best_fit,
            ceiling,
            mark,
            offset,
            pool_of,
            placed,
            top,
        )
        if count < 0:
            return None
        return Layout(order, rank, offset, pool_of, placed, count, top, self._cost(top))

    def placements(self, layout: Layout) -> list[Placement]:
        """Return the placement of every buffer."""
        pools = self.problem.pools
        return [Placement(pools[int(p)].name, int(at)) for p, at in zip(layout.pool_of, layout.offset)]

    def _cost(self, top: Iterable[int]) -> tuple[int, ...]:
        sizes = [int(size) for size in top]
        beyond = sum(max(0, size - room) for size, room in zip(sizes, self.capacity) if room >= 0)
        return (beyond, *reversed(sizes))

    def _split(self, lists: Sequence[Iterable[int]]) -> tuple[Any, Any]:
        """Return one list with everything, and where each part of it starts: as (starts, everything)."""
        starts = [0]
        flat: list[int] = []
        for part in lists:
            flat.extend(part)
            starts.append(len(flat))
        return self.sequence(starts), self.sequence(flat)


def cost(problem: Problem, placements: Sequence[Placement]) -> tuple[int, ...]:
    """Return what `Layout.cost` means for any placements."""
    top = {pool.name: 0 for pool in problem.pools}
    for buffer, where in zip(problem.buffers, placements):
        top[where.pool] = max(top[where.pool], where.offset + buffer.size)
    beyond = sum(max(0, top[p.name] - p.capacity) for p in problem.pools if p.capacity is not None)
    return (beyond, *reversed(top.values()))


def no_worse_than_a_stack(problem: Problem, placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """Put the buffers of a pool side by side where that takes less than what was found (odd alignments can do that).

    This is what makes planned <= naive a law. A pool with pinned buffers is left as it is.
    """
    result = list(placements)
    for pool in problem.pools:
        members = [i for i, where in enumerate(placements) if where.pool == pool.name]
        if any(problem.buffers[i].pinned for i in members):
            continue
        highest = max((placements[i].offset + problem.buffers[i].size for i in members), default=0)
        if highest <= sum(problem.buffers[i].size for i in members):
            continue  # no stack can be lower
        offsets, end = stack(problem, members, pool)
        if end < highest:
            for i in members:
                result[i] = Placement(pool.name, offsets[i])
    return tuple(result)
