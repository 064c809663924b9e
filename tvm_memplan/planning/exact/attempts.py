"""Attempts of the exact search: a part of a problem as tables for the kernel, in one order, and one height to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact import kernel
from tvm_memplan.planning.exact.kernel import FOUND, UNDECIDED, State, Tables
from tvm_memplan.planning.exact.sections import Sections

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
    ("cfz", False),
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


class Ranked:
    """The buffers of a part in one of the `ORDERS`, as tables for the search."""

    def __init__(self, parts: Sections, order: tuple[str, bool], fast: bool) -> None:
        self.parts, self.crowded, self.fast = parts, order[1], fast
        self.order = ranked(parts, order[0])
        rank = {i: k for k, i in enumerate(self.order)}
        of: list[list[int]] = [[] for _ in self.order]
        for section, clique in enumerate(parts.cliques):
            for i in clique:
                of[i].append(section)
        self.tables = Tables(
            self.copy([parts.size[i] for i in self.order]),
            self.copy([parts.align[i] for i in self.order]),
            self.copy([parts.pin[i] for i in self.order]),
            *self._split([sorted(rank[j] for j in parts.near[i]) for i in self.order]),
            *self._split([of[i] for i in self.order]),
            *self._split([[rank[i] for i in clique] for clique in parts.cliques]),
            self.copy([parts.spans[i][0] for i in self.order]),
            self.copy([parts.spans[i][1] for i in self.order]),
            self.copy(_twins(parts, self.order)),
        )

    def begin(self) -> State:
        """Return the state of a search that has not begun."""
        parts, count, sections = self.parts, len(self.order), len(self.parts.cliques)
        cuts = [0] * sections
        for first, last in parts.spans:
            for c in range(first, last):
                cuts[c] += 1
        lowest = [max(0, pin) for pin in parts.pin]
        given = {
            "low": [lowest[i] for i in self.order],
            "floor": [min(lowest[i] for i in clique) for clique in parts.cliques],
            "total": [sum(parts.size[i] for i in clique) for clique in parts.cliques],
            "cuts": cuts,
        }
        sizes = {
            **dict.fromkeys(("lift_who", "lift_low"), len(self.tables.near) + 1),
            **dict.fromkeys(("floor_who", "floor_old"), count * sections + 1),
            **dict.fromkeys(("part_from", "part_size", "part_first", "part_last"), 2 * count + 2),
            **dict.fromkeys(("todo_part", "todo_next", "todo_depth"), 2 * count + 2),
            **dict.fromkeys(("seen", "touched"), sections),
            "listed": count * (count + 3) // 2 + 1,
            "tally": kernel.WORK + 1,
        }
        fields = (
            self.copy(given[name]) if name in given else self._zeros(sizes.get(name, count + 2))
            for name in State._fields
        )
        state = State(*fields)
        state.listed[:count] = self.copy(range(count))
        state.part_size[0], state.part_last[0] = count, sections - 1
        state.tally[kernel.PARTS], state.tally[kernel.LISTED] = 1, count
        state.at[0] = state.rank[0] = state.parent[0] = state.rest[0] = -1
        return state

    def copy(self, values: Sequence[int]) -> Any:
        """Return `values` as the kind of sequence that the search works on."""
        return np.array(values, dtype=np.int64) if self.fast else list(values)

    def _split(self, lists: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        ends = [0]
        for own in lists:
            ends.append(ends[-1] + len(own))
        return self.copy(ends), self.copy([value for own in lists for value in own])

    def _zeros(self, count: int) -> Any:
        return np.zeros(count, dtype=np.int64) if self.fast else [0] * count


def _twins(parts: Sections, order: Sequence[int]) -> list[int]:
    """For each rank, the last earlier rank of a buffer that could change places with it, or -1."""
    twins: list[int] = []
    last: dict[object, int] = {}
    for rank, i in enumerate(order):
        looks = (parts.size[i], parts.align[i], parts.spans[i], frozenset((*parts.near[i], i)))
        twins.append(last.get(looks, -1) if parts.pin[i] < 0 else -1)
        if parts.pin[i] < 0:
            last[looks] = rank
    return twins


def attempt(ranked: Ranked, height: int, limit: int, effort: Effort) -> tuple[int, list[int]]:
    """Search for a packing within `height` units, until `limit` looks are done or the effort is over.

    Returns
    -------
    int
        FOUND, NONE or UNDECIDED.
    list of int
        The offsets found, in units, in the order of `ranked.parts`; empty when none were.
    """
    run: Any = kernel.compiled_search() if ranked.fast else kernel.search
    state = ranked.begin()
    result, done = UNDECIDED, 0
    limit = min(limit, effort.work)
    while result == UNDECIDED and done < limit and not effort.over:
        result = int(run(ranked.tables, state, height, min(limit, done + PORTION), ranked.crowded))
        now = int(state.tally[kernel.WORK])
        effort.spend(now - done)
        done = now
    if result != FOUND:
        return result, []
    offsets = [0] * len(ranked.order)
    for rank, i in enumerate(ranked.order):
        offsets[i] = int(state.low[rank])
    return result, offsets


def dive(parts: Sections) -> int:
    """About how much work it takes to put one packing together."""
    return 16 * (len(parts.size) ** 2 + sum(map(len, parts.near)))
