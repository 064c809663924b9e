"""How much a plan may grow, and how large it may be; `overruns` says what goes beyond."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tvm_memplan.errors import BadInput
from tvm_memplan.report.diff.difference import Difference, PoolChange
from tvm_memplan.sizes import parse_size, show_size

_PERCENT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*%")


@dataclass(frozen=True)
class Growth:
    """The growth that is allowed: a share of the old size, or bytes."""

    share: Fraction | None = None
    bytes: int | None = None

    @classmethod
    def read(cls, text: str) -> Growth:
        """Read ``2%``, ``0`` or a size such as ``4KiB``; BadInput when it is neither."""
        match = _PERCENT.fullmatch(text.strip())
        if match:
            return cls(share=Fraction(match[1]) / 100)
        try:
            return cls(bytes=parse_size(text, "growth"))
        except BadInput as error:
            raise BadInput(f"{error}; or a share like 2%") from None

    def allows(self, old: int, new: int) -> bool:
        """Whether `new` bytes are no more than this allows for `old` bytes."""
        return new - old <= (old * self.share if self.share is not None else self.bytes or 0)

    def __str__(self) -> str:
        return f"{float(self.share * 100):g}%" if self.share is not None else show_size(self.bytes or 0)


@dataclass(frozen=True)
class Limits:
    """What is allowed of each pool.

    Parameters
    ----------
    growth : Growth or None
        Of the planned bytes of every pool, from the old plan to the new.
    most : tuple of (str, int)
        Pairs of a pool's name and the planned bytes that it may have now; an empty name means every pool.
    """

    growth: Growth | None = None
    most: tuple[tuple[str, int], ...] = ()


def overruns(found: Difference, limits: Limits) -> tuple[str, ...]:
    """Return, in words, each limit that the new plan breaks; none when all are kept.

    Raises
    ------
    BadInput
        If a limit is for a pool that neither plan has: it would hold for nothing.
    """
    return (*_grown(found, limits.growth), *_too_large(found, limits.most))


def _grown(found: Difference, growth: Growth | None) -> list[str]:
    said = []
    for change in found.pools:
        old = change.old.planned if change.old else 0
        if growth is not None and change.new and not growth.allows(old, change.new.planned):
            share = f" ({change.growth / old:.2%})" if old else ", from nothing"
            said.append(f"pool {change.pool!r} grew by {show_size(change.growth)}{share}; allowed is {growth}")
    return said


def _too_large(found: Difference, most: tuple[tuple[str, int], ...]) -> list[str]:
    said = []
    for name, limit in most:
        if name and name not in {change.pool for change in found.pools}:
            raise BadInput(f"no pool is called {name!r}; there are {', '.join(c.pool for c in found.pools) or 'none'}")
        for change in found.pools:
            if name in ("", change.pool) and _planned(change) > limit:
                said.append(
                    f"pool {change.pool!r} takes {show_size(_planned(change))}, over the limit of "
                    f"{show_size(limit)} by {show_size(_planned(change) - limit)}"
                )
    return said


def _planned(change: PoolChange) -> int:
    return change.new.planned if change.new else 0
