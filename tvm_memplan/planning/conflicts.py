"""Who may not share bytes with whom.

Live ranges are kept as rows sorted by start, so that the conflicts of one buffer are found by two comparisons
over arrays and nothing quadratic is ever stored::

    start  0 0 1 3 3 4 7 8         a buffer alive in [3, 5) meets the rows that start before 5 and stop after 3
    stop   2 9 4 5 8 6 9 9

Given conflicts replace live ranges; `separate` pairs come on top of either. An in-place pair is a conflict too, of
a milder kind: its members may start at one offset, or lie apart, and nothing in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.model import Problem

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Conflicts:
    """The conflict graph of a problem, answered buffer by buffer.

    Parameters
    ----------
    problem : Problem
        Buffers are named by their index in it.
    """

    problem: Problem

    @cached_property
    def rows(self) -> tuple[Indices, Indices, Indices]:
        """Starts, stops and owners of all live ranges, sorted by start; times are ranks of the steps that occur."""
        rows = sorted((r.start, r.stop, i) for i, b in enumerate(self.problem.buffers) for r in b.live_ranges)
        rank = {step: k for k, step in enumerate(sorted({t for row in rows for t in row[:2]}))}
        table = np.array([(rank[a], rank[b], i) for a, b, i in rows], dtype=np.int64).reshape(-1, 3)
        return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()

    @cached_property
    def partners(self) -> dict[int, frozenset[int]]:
        """For every buffer in an in-place pair, whom it may start together with. `separate` overrules."""
        found: dict[int, set[int]] = {}
        for i, j in self.problem.in_place:
            if (min(i, j), max(i, j)) not in self.problem.separate:
                found.setdefault(i, set()).add(j)
                found.setdefault(j, set()).add(i)
        return {i: frozenset(js) for i, js in found.items()}

    def of(self, index: int) -> Indices:
        """The buffers that conflict with buffer `index`, ascending; partners of in-place pairs included."""
        extra = self._pairs.get(index, ())
        if self.problem.conflicts is not None:
            return np.array(sorted(extra), dtype=np.int64)
        starts, stops, owners = self.rows
        alive = np.zeros(len(starts), dtype=bool)
        for k in self._rows_of[index]:
            alive |= (starts < stops[k]) & (stops > starts[k])
        met = np.unique(np.concatenate([owners[alive], np.array(sorted(extra), dtype=np.int64)]))
        others: Indices = met[met != index]
        return others

    @cached_property
    def degrees(self) -> list[int]:
        """How many conflicts each buffer has."""
        if self.problem.conflicts is None and not self._pairs and len(self.rows[0]) == len(self.problem.buffers):
            # One range each: all but those that stop before, and those that start after.
            starts, stops, owners = self.rows
            met = np.searchsorted(starts, stops, "left") - np.searchsorted(np.sort(stops), starts, "right") - 1
            by_owner = np.empty_like(met)
            by_owner[owners] = met
            return [int(n) for n in by_owner]
        return [len(self.of(i)) for i in range(len(self.problem.buffers))]

    @cached_property
    def _pairs(self) -> dict[int, set[int]]:
        """What is known pair by pair: given conflicts, separations, in-place pairs."""
        found: dict[int, set[int]] = {}
        for i, j in (*(self.problem.conflicts or ()), *self.problem.separate, *self.problem.in_place):
            found.setdefault(i, set()).add(j)
            found.setdefault(j, set()).add(i)
        return found

    @cached_property
    def _rows_of(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.problem.buffers]
        for k, owner in enumerate(self.rows[2]):
            found[int(owner)].append(k)
        return found
