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

        def on_load(load: Any) -> None:
            self._through(load.buffer, len(load.indices), self.reads)

        def on_pointer(var: Any, receiver: str) -> None:
            storage = self.roots.of(var)
            if storage is None:
                return
            if receiver not in BORROWING_CALLS:
                self.roots.leave(var, keeps or f"its address goes into {receiver}")
            elif keeps and receiver != "tir.isnullptr" and expr.dtype == "handle":
                self.roots.leave(var, keeps)
            # Who is given an address may read and write behind it.
            self.reads[storage.name] = self.writes[storage.name] = None

        walk(expr, on_load, on_pointer)

    def store(self, buffer: Any, rank: int) -> None:
        """Add a store through `buffer` with `rank` indices."""
        self._through(buffer, rank, self.writes)

    def _through(self, buffer: Any, rank: int, into: dict[str, None]) -> None:
        storage = self.roots.of(buffer.data)
        if storage is None:
            return
        into[storage.name] = None
        unit = element_bytes(buffer.dtype)
        if rank != 1 or len(buffer.shape) != 1:
            self.roots.leave(buffer.data, "it is not flat: run StorageFlatten and FlattenBuffer first")
        elif unit is None or unit & (unit - 1):
            self.roots.leave(buffer.data, f"it is viewed with elements of type {buffer.dtype}")
        elif not (isinstance(buffer.elem_offset, tir.IntImm) and buffer.elem_offset.value == 0):
            self.roots.leave(
                buffer.data, f"view {buffer.name!r} has an element offset, which some code generators ignore"
            )
        elif not self.roots.movable(buffer.data, unit):
            self.roots.leave(buffer.data, f"pointer {buffer.data.name!r} is viewed with elements of another size")
        else:
            storage.alignment = max(storage.alignment, unit)

    def steps(self, label: str) -> tuple[Step, ...]:
        """One `Step`, or nothing when no root is touched."""
        if not self.reads and not self.writes:
            return ()
        return (Step(label, tuple(self.reads), tuple(self.writes)),)
