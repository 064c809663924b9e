"""A pattern into memory, and which bytes of it are still there.

Each input runs twice, over a pattern and over its complement. What a run writes is the same both times and cannot equal
both, so a byte that was written in every run is seen for certain in one of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm_memplan.report.measured import Arena

Bytes = NDArray[np.uint8]

#: Bytes that are watched before and behind an arena; a multiple of every alignment that there is on this machine.
GUARD = 4096


def pattern(size: int, flip: bool) -> Bytes:
    """Return `size` bytes that differ from their neighbours; with `flip`, their complement."""
    i = np.arange(size, dtype=np.uint64)
    made: Bytes = ((i * 197) ^ (i >> np.uint64(8)) ^ np.uint64(0xA5)).astype(np.uint8)
    return ~made if flip else made


@dataclass
class Watched:
    """The memory of a pool with a guard at either end.

    Parameters
    ----------
    pool : str
        Whose it is.
    size : int
        Bytes, without the guards.
    front : int
        Bytes of the guard before it; that behind it is the rest.
    """

    pool: str
    size: int
    front: int = GUARD
    written: Any = field(default=None, repr=False)

    def fill(self, memory: Bytes, flip: bool) -> None:
        """Write the pattern over all of it."""
        memory[:] = pattern(memory.size, flip)

    def look(self, memory: Bytes, flip: bool) -> None:
        """Note which bytes a run has written."""
        changed = memory != pattern(memory.size, flip)
        self.written = changed if self.written is None else self.written | changed

    def arena(self) -> Arena:
        """What was seen over all runs."""
        inside = self.written[self.front : self.front + self.size]
        behind = self.written[self.front + self.size :]
        below = self.written[: self.front]
        high = int(inside.nonzero()[0][-1]) + 1 if inside.any() else 0
        if behind.any():
            high = self.size + int(behind.nonzero()[0][-1]) + 1
        first = int(below.argmax()) if below.any() else self.front
        return Arena(self.pool, self.size, high, self.front - first, int(behind.size), spans(~inside))


def spans(mask: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """Return where `mask` is true, as spans ``[start, stop)``."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
    return tuple((int(a), int(b)) for a, b in zip(edges[::2], edges[1::2]))


def passes(inputs: int) -> list[tuple[int, bool]]:
    """The runs: which input, and whether over the complement."""
    return [(i, flip) for i in range(inputs) for flip in (False, True)]


def random_value(shape: tuple[int, ...], dtype: str, random: np.random.Generator) -> NDArray[Any]:
    """Return an input: floats of either sign, bytes of any value; wide integers are often indices, and stay small."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return np.asarray(random.normal(size=shape), dtype=kind)
    if kind.kind in "iu" and kind.itemsize == 1:
        return np.asarray(random.integers(0, 256, size=shape), dtype=np.uint8).view(kind)
    return np.asarray(random.integers(0, 2, size=shape)).astype(kind)
