"""What one statement does to the roots of its function, and whether each root can still be moved after it."""

from __future__ import annotations

from typing import Any

from tvm import tir

from tvm_memplan.dialects.tir.allocations import element_bytes
from tvm_memplan.dialects.tir.expressions import BORROWING_CALLS, walk
from tvm_memplan.dialects.tir.roots import Roots
from tvm_memplan.planning.trace import Step


class Accesses:
    """The reads and writes of one statement, by name of the root, in order of appearance."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self.reads: dict[str, None] = {}
        self.writes: dict[str, None] = {}

    def expression(self, expr: Any, keeps: str = "") -> None:
        """Add what `expr` reads, and what it hands to calls.

        `keeps` is given when the statement keeps the value beyond its end, as a store does: a pointer that is that
        value then leaves its root, for this reason.
        """
        walk(expr, _Within(self, expr, keeps))

    def load(self, load: Any) -> None:
        """Add the element that is read."""
        self._through(load.buffer, len(load.indices), self.reads)

    def store(self, buffer: Any, rank: int) -> None:
        """Add a store through `buffer` with `rank` indices."""
        self._through(buffer, rank, self.writes)

    def view(self, buffer: Any, rank: int) -> None:
        """Note that an element of `buffer` is named with `rank` indices: its storage can move only if the index can."""
        if self.roots.of(buffer.data) is None:
            return
        if rank != 1 or len(buffer.shape) != 1:
            self.roots.leave(buffer.data, "it is not flat: run StorageFlatten and FlattenBuffer first")
        elif not (isinstance(buffer.elem_offset, tir.IntImm) and buffer.elem_offset.value == 0):
            self.roots.leave(
                buffer.data, f"view {buffer.name!r} has an element offset, which some code generators ignore"
            )
        else:
            self.counted(buffer.data, buffer.dtype)

    def counted(self, pointer: Any, dtype: str) -> None:
        """Note that places behind `pointer` are counted in elements of `dtype`."""
        storage = self.roots.of(pointer)
        if storage is None:
            return
        unit = element_bytes(dtype)
        if unit is None or unit & (unit - 1):
            self.roots.leave(pointer, f"it is viewed with elements of type {dtype}")
        elif not self.roots.movable(pointer, unit):
            self.roots.leave(pointer, f"pointer {pointer.name!r} is viewed with elements of another size")
        else:
            storage.alignment = max(storage.alignment, unit)

    def steps(self, label: str) -> tuple[Step, ...]:
        """One `Step`, or nothing when no root is touched."""
        if not self.reads and not self.writes:
            return ()
        return (Step(label, tuple(self.reads), tuple(self.writes)),)

    def _through(self, buffer: Any, rank: int, into: dict[str, None]) -> None:
        storage = self.roots.of(buffer.data)
        if storage is not None:
            into[storage.name] = None
            self.view(buffer, rank)


class _Within:
    """What `walk` tells about one expression, added to the accesses of its statement."""

    def __init__(self, accesses: Accesses, whole: Any, keeps: str) -> None:
        self.accesses = accesses
        self.whole = whole
        self.keeps = keeps

    def load(self, load: Any) -> None:
        self.accesses.load(load)

    def place(self, load: Any) -> None:
        self.accesses.view(load.buffer, len(load.indices))

    def access_pointer(self, var: Any, dtype: str) -> None:
        self.accesses.counted(var, dtype)

    def pointer(self, var: Any, receiver: str) -> None:
        roots = self.accesses.roots
        storage = roots.of(var)
        if storage is None:
            return
        if receiver not in BORROWING_CALLS:
            roots.leave(var, self.keeps or f"its address goes into {receiver}")
        elif self.keeps and receiver != "tir.isnullptr" and self.whole.dtype == "handle":
            roots.leave(var, self.keeps)
        # Who is given an address may read and write behind it.
        self.accesses.reads[storage.name] = self.accesses.writes[storage.name] = None
