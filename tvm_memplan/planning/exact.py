"""Drive the exact search from the bound upwards, so that nobody has to say which height to try.

For each independent part of a problem (`tvm_memplan.planning.sections`) two heights close in on each other::

    low    no packing is lower: the bound at first, one more whenever a search for `low` comes back empty
    high   the best packing known

A round first tries `low` itself, since the search is often fastest where there is no slack, then bisects between the
two, taking "not found within the limit" for "too low". Several orders take turns, as each is lost on other problems,
and the limit grows fourfold from round to round (a portfolio with restarts, as in MiniMalloc). Only parts that stand
out above everybody's `low` are worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_memplan.planning import exact_kernel
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact_kernel import FOUND, NONE, UNDECIDED, State, Tables
from tvm_memplan.planning.sections import Sections

#: The limit of the first round, and how it grows.
FIRST_LIMIT, GROWTH = 500_000, 4

#: Attempts above `low` get this part of the limit.
ASIDE = 8

#: Work up to which the search runs uncompiled, as it would be done before the compiler is.
WORTH_COMPILING = 1_000_000

#: Work between two looks at the clock.
PORTION = 5_000_000

#: Ranks by: fullest section, steps alive, area, number of sections, size, last step; and whether parts that split off
#: are ranked anew.
ORDERS = (
    ("fwa", True),
    ("faw", True),
    ("fca", True),
    ("fwa", False),
    ("wfa", False),
    ("fua", True),
    ("zfw", True),
)


def ranked(parts: Sections, order: str) -> list[int]:
    """Return the buffers by descending keys, see `ORDERS`."""
    full = [0] * len(parts.size)
    sections = [0] * len(parts.size)
    for clique in parts.cliques:
        total = sum(parts.size[i] for i in clique)
        for i in clique:
            full[i] = max(full[i], total)
            sections[i] += 1
    alive = [stop - start or n for (start, stop), n in zip(parts.steps, sections)]
    keys: dict[str, Callable[[int], int]] = {
        "f": lambda i: full[i],
        "w": lambda i: alive[i],
        "a": lambda i: alive[i] * parts.size[i],
        "c": lambda i: sections[i],
        "z": lambda i: parts.size[i],
        "u": lambda i: parts.steps[i][1],
    }
    return sorted(range(len(parts.size)), key=lambda i: (*(-keys[key](i) for key in order), i))


class Attempt:
    """One search for a packing within `height`; it can be continued.

    Parameters
    ----------
    parts : Sections
        What to pack.
    order : tuple of (str, bool)
        One of `ORDERS`.
    height : int
        Units.
    fast : bool
        Whether to use the compiled search.
    """

    def __init__(self, parts: Sections, order: tuple[str, bool], height: int, fast: bool) -> None:
        self.height, self.crowded, self.fast = height, order[1], fast
        self._order = ranked(parts, order[0])
        self._tables = self._prepare(parts)
        self._state = self._begin(parts)

    def run(self, limit: int, effort: Effort) -> int:
        """Search until found, proved impossible, or out of work or time."""
        run: Any = exact_kernel.compiled_search() if self.fast else exact_kernel.search
        result = UNDECIDED
        before = 0
        limit = min(limit, effort.work)
        while result == UNDECIDED and before < limit and not effort.over:
            result = run(self._tables, self._state, self.height, min(limit, before + PORTION), self.crowded)
            done = int(self._state.count[exact_kernel.WORK])
            effort.spend(done - before)
            before = done
        return int(result)

    def offsets(self) -> list[int]:
        """Return the offsets of what was found, in units, in the order of the problem."""
        offsets = [0] * len(self._order)
        for rank, i in enumerate(self._order):
            offsets[i] = int(self._state.low[rank])
        return offsets

    def _prepare(self, parts: Sections) -> Tables:
        order = self._order
        rank = {i: k for k, i in enumerate(order)}
        of: list[list[int]] = [[] for _ in order]
        for section, clique in enumerate(parts.cliques):
            for i in clique:
                of[i].append(section)
        twins: list[int] = []
        last: dict[Any, int] = {}
        for k, i in enumerate(order):
            looks = (parts.size[i], parts.align[i], parts.pin[i], parts.spans[i], frozenset((*parts.near[i], i)))
            twins.append(last.get(looks, -1) if parts.pin[i] < 0 else -1)
            last[looks] = k
        near = [sorted(rank[j] for j in parts.near[i]) for i in order]
        copy = self._copy
        return Tables(
            copy([parts.size[i] for i in order]),
            copy([parts.align[i] for i in order]),
            copy([parts.pin[i] for i in order]),
            *self._split(near),
            *self._split([of[i] for i in order]),
            *self._split([[rank[i] for i in clique] for clique in parts.cliques]),
            copy([parts.spans[i][0] for i in order]),
            copy([parts.spans[i][1] for i in order]),
            copy(twins),
        )

    def _begin(self, parts: Sections) -> State:
        count, sections = len(parts.size), len(parts.cliques)
        cuts = [0] * sections
        for first, last in parts.spans:
            for c in range(first, last):
                cuts[c] += 1
        total = [sum(parts.size[i] for i in clique) for clique in parts.cliques]
        low = [max(0, parts.pin[i]) for i in self._order]
        depths, pieces = count + 2, 2 * count + 2
        sizes = {
            **dict.fromkeys(("lift_who", "lift_low"), len(self._tables.near) + 1),
            **dict.fromkeys(("floor_who", "floor_old"), count * sections + 1),
            **dict.fromkeys(("part_from", "part_size", "part_first", "part_last"), pieces),
            **dict.fromkeys(("todo_part", "todo_next", "todo_depth"), pieces),
            "listed": count * (count + 3) // 2 + 1,
            **dict.fromkeys(("seen", "touched"), sections),
            "count": exact_kernel.WORK + 1,
        }
        rank = {i: k for k, i in enumerate(self._order)}
        floor = [min(low[rank[i]] for i in clique) for clique in parts.cliques]
        given = {"low": low, "floor": floor, "total": total, "cuts": cuts}
        state = State(
            *(
                self._copy(given[name]) if name in given else self._zeros(sizes.get(name, depths))
                for name in State._fields
            )
        )
        for k in range(count):
            state.listed[k] = k
        state.part_size[0], state.part_last[0] = count, sections - 1
        state.count[exact_kernel.PARTS], state.count[exact_kernel.LISTED] = 1, count
        state.at[0] = state.rank[0] = state.parent[0] = state.rest[0] = -1
        return state

    def _split(self, lists: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        ends = [0]
        for own in lists:
            ends.append(ends[-1] + len(own))
        return self._copy(ends), self._copy([value for own in lists for value in own])

    def _copy(self, values: Sequence[int]) -> Any:
        return np.array(values, dtype=np.int64) if self.fast else list(values)

    def _zeros(self, count: int) -> Any:
        return np.zeros(count, dtype=np.int64) if self.fast else [0] * count


@dataclass
class Hunt:
    """The two heights of one independent part, in units, and the packing that is `high`."""

    parts: Sections
    offsets: list[int]
    low: int
    high: int

    @classmethod
    def begin(cls, parts: Sections, offsets: Sequence[int]) -> Hunt:
        """Start from a valid packing (offsets in units)."""
        high = max(at + size for at, size in zip(offsets, parts.size))
        return cls(parts, list(offsets), parts.least, high)

    def round(self, limit: int, goal: int, effort: Effort) -> None:
        """Try to come down to `goal`, or to `low` if that is higher, with so much work per attempt."""
        for order in ORDERS:
            self._attempt(order, max(self.low, goal), limit, effort)
        below = max(self.low, goal)
        while self.high - below > 1 and not effort.over:
            height = (below + self.high) // 2
            for order in ORDERS:
                if self.high <= height or self.low > height or effort.over:
                    break
                self._attempt(order, height, limit // ASIDE, effort)
            if self.high > height:
                below = height

    def _attempt(self, order: tuple[str, bool], height: int, limit: int, effort: Effort) -> None:
        if self.high <= height or effort.over:
            return
        fast = effort.used + limit > WORTH_COMPILING and self.high < exact_kernel.NEVER
        attempt = Attempt(self.parts, order, height, fast)
        result = attempt.run(limit, effort)
        if result == FOUND:
            self.offsets = attempt.offsets()
            self.high = max(at + size for at, size in zip(self.offsets, self.parts.size))
        elif result == NONE:
            self.low = max(self.low, height + 1)


def hunt(hunts: Sequence[Hunt], effort: Effort) -> int:
    """Lower the highest of the parts until it is proved lowest or the effort is over; return the least height."""
    limit = FIRST_LIMIT
    while True:
        goal = max((h.low for h in hunts), default=0)
        above = [h for h in hunts if h.high > goal]
        if not above or effort.over:
            return goal
        for h in sorted(above, key=lambda h: (-h.high, h.parts.members)):
            h.round(limit, goal, effort)
        limit *= GROWTH
