"""Roots: the allocations of a function, and the pointer variables that are other names for them.

A root that turns out to be used in a way that is not understood is *left*, with the first reason found; it stays a
root, so that what else happens to it is still known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tir

from tvm_memplan.dialects.tir.allocations import element_bytes
from tvm_memplan.dialects.tir.expressions import has_load, is_address_of


@dataclass(frozen=True)
class PointerAlias:
    """A pointer variable that points `shift` elements of `dtype` into the storage `root`."""

    root: Any
    shift: Any
    dtype: str

    @property
    def starts_at_root(self) -> bool:
        """Whether it points at the very start of the storage."""
        return isinstance(self.shift, tir.IntImm) and self.shift.value == 0


@dataclass
class Storage:
    """What is known about one allocation while a function is read."""

    name: str
    var: Any
    scope: str
    size: int | None
    alignment: int
    reason: str
    region: int


class Roots:
    """All that one function allocates; a buffer variable is its own root, an alias stands for another's."""

    def __init__(self) -> None:
        self.storages: dict[Any, Storage] = {}
        self.aliases: dict[Any, PointerAlias] = {}
        self._bound: dict[Any, None] = {}

    def of(self, var: Any) -> Storage | None:
        """The storage that a pointer variable stands for, None when it is not one of this function's."""
        alias = self.aliases.get(var)
        return self.storages.get(alias.root if alias is not None else var)

    def leave(self, var: Any, reason: str) -> None:
        """Leave the root of `var` as it is; the first reason is the one that is told."""
        storage = self.of(var)
        if storage is not None and not storage.reason:
            storage.reason = reason

    def bind(self, var: Any, value: Any) -> bool:
        """Take pointer variable `var` for an alias of what `value` points to; whether that could be told."""
        alias = self._resolve(value)
        if var in self._bound:
            # The rewriter finds an alias by its variable, wherever that is used: one variable, one target.
            self.leave(var, f"pointer {var.name!r} is bound at two places")
            alias = None
        self._bound[var] = None
        if alias is not None:
            self.aliases[var] = alias
        return alias is not None

    def _resolve(self, value: Any) -> PointerAlias | None:
        if isinstance(value, tir.Var):
            if value in self.aliases:
                return self.aliases[value]
            return PointerAlias(value, tir.IntImm("int32", 0), "uint8") if value in self.storages else None
        if not is_address_of(value) or not isinstance(value.args[0], tir.BufferLoad):
            return None
        load = value.args[0]
        # The index is moved to where the pointer is used; its value must be the same there.
        if len(load.indices) != 1 or has_load(load.indices[0]) or load.indices[0].dtype not in ("int32", "int64"):
            return None
        base = self._resolve(load.buffer.data)
        if base is None:
            return None
        if base.starts_at_root:
            return PointerAlias(base.root, load.indices[0], load.buffer.dtype)
        unit = element_bytes(load.buffer.dtype)
        if unit is None or unit != element_bytes(base.dtype):
            return None
        return PointerAlias(base.root, base.shift + load.indices[0], load.buffer.dtype)

    def movable(self, pointer: Any, unit: int) -> bool:
        """Whether an index through `pointer`, in elements of `unit` bytes, can be counted from the root's start."""
        alias = self.aliases.get(pointer)
        return alias is None or alias.starts_at_root or element_bytes(alias.dtype) == unit
