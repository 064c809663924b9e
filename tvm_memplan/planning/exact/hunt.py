"""Drive the exact search from the bound upwards, so that nobody has to say which height to try.

For each independent part of a problem (`tvm_memplan.planning.exact.sections`) two heights close in on each other::

    low    no packing is lower: the bound at first, one more whenever a search for `low` comes back empty
    high   the best packing known

A round first tries `low` itself, since the search is often fastest where there is no slack, then bisects between the
two, taking "not found within the limit" for "too low". Several orders take turns, as each is lost on other problems,
and the limit grows fourfold from round to round (a portfolio with restarts, as in MiniMalloc). Only parts that stand
out above everybody's `low` are worked on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact.attempts import ORDERS, WORTH_COMPILING, Ranked, attempt, dive
from tvm_memplan.planning.exact.kernel import FOUND, NEVER, NONE
from tvm_memplan.planning.exact.sections import Sections

#: How many times a packing could be put together within the limit of the first round, and how the limit grows.
FIRST_DIVES, GROWTH = 1, 4

#: Attempts above `low` get this part of the limit, but enough for one packing.
ASIDE = 8


@dataclass
class Hunt:
    """The two heights of one independent part, in units, and the packing that is `high`."""

    parts: Sections
    offsets: list[int]
    low: int
    high: int
    _ranked: dict[tuple[tuple[str, bool], bool], Ranked] = field(default_factory=dict, repr=False)

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
                self._attempt(order, height, max(limit // ASIDE, dive(self.parts)), effort)
            if self.high > height:
                below = height

    def _attempt(self, order: tuple[str, bool], height: int, limit: int, effort: Effort) -> None:
        if self.high <= height or effort.over:
            return
        fast = effort.used + limit > WORTH_COMPILING and self.high < NEVER
        if (order, fast) not in self._ranked:
            self._ranked[order, fast] = Ranked(self.parts, order, fast)
        result, offsets = attempt(self._ranked[order, fast], height, limit, effort)
        if result == FOUND:
            self.offsets = offsets
            self.high = max(at + size for at, size in zip(offsets, self.parts.size))
        elif result == NONE:
            self.low = max(self.low, height + 1)


def hunt(hunts: Sequence[Hunt], effort: Effort) -> int:
    """Lower the highest of the parts until it is proved lowest or the effort is over; return the least height."""
    dives = FIRST_DIVES
    while True:
        goal = max((h.low for h in hunts), default=0)
        above = [h for h in hunts if h.high > goal]
        if not above or effort.over:
            return goal
        for h in sorted(above, key=lambda h: (-h.high, h.parts.members)):
            h.round(dives * dive(h.parts), goal, effort)
        dives *= GROWTH
