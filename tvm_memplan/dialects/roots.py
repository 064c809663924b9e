"""Roots: the allocations of a function, and the variables that are other names for them; the same on both lines.

A root that turns out to be used in a way that is not understood is *left*, with the first reason found; it stays a
root, so that what else happens to it is still known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.elements import constant, element_bytes
from tvm_memplan.dialects.textures import TextureShape


@dataclass(frozen=True)
class PointerAlias:
    """A pointer or view variable that stands `shift` elements of `dtype` into the storage `root`.

    `shift` is an index expression of the IR, None at the very start of the storage.
    """

    root: Any
    shift: Any | None
    dtype: str


@dataclass
class Storage:
    """What is known about one allocation while a function is read.

    `alignment` is that of the buffer as long as only its elements are used: of what divides its length, for where
    that is no multiple of a vector, an array in it has rows that begin anywhere. Whoever is handed its address may
    take for granted what TVM promises of whole allocations, and so it then gets `full`.
    """

    name: str
    var: Any
    scope: str
    size: int | None
    alignment: int
    reason: str
    region: int
    full: int = 1
    unit: Any = None
    bounds: frozenset[Any] = frozenset()
    element: int = 1  # bytes
    types: dict[str, None] = field(default_factory=dict)  # of the elements that are accessed
    barred: str = ""  # why it has to stay as it is where it is accessed with several types
    texture: TextureShape | None = None  # for what is addressed by column and row


@dataclass
class Roots:
    """All that one function allocates; a buffer variable is its own root, an alias stands for another's."""

    storages: dict[Any, Storage] = field(default_factory=dict)
    aliases: dict[Any, PointerAlias] = field(default_factory=dict)

    def of(self, var: Any) -> Storage | None:
        """The storage that a variable stands for, None when it is not one of this function's."""
        alias = self.aliases.get(var)
        return self.storages.get(alias.root if alias is not None else var)

    def settle(self) -> None:
        """Leave what is accessed with several types where there may be one only, when everything has been read."""
        for storage in self.storages.values():
            if storage.barred and len(storage.types) > 1:
                storage.reason = storage.reason or f"{storage.barred}, with elements of {' and '.join(storage.types)}"

    def leave(self, var: Any, reason: str) -> None:
        """Leave the root of `var` as it is; the first reason is the one that is told."""
        storage = self.of(var)
        if storage is not None and not storage.reason:
            storage.reason = reason

    def name(self, var: Any, alias: PointerAlias) -> None:
        """Let `var` be another name for what `alias` says."""
        known = self.aliases.setdefault(var, alias)
        if known is not alias and not (known.root.same_as(alias.root) and known.shift is None is alias.shift):
            # Copies of a loop may bind one variable twice; which of the two a use means is not followed.
            for root in (known.root, alias.root):
                self.leave(root, f"pointer {var.name!r} is bound at two places")

    def alias_of(self, var: Any) -> PointerAlias | None:
        """`var` as an alias (of itself, when it is a root), None when it is not one of this function's."""
        if var in self.aliases:
            return self.aliases[var]
        return PointerAlias(var, None, "uint8") if var in self.storages else None

    def moved(self, base: PointerAlias, index: Any, dtype: str) -> PointerAlias | None:
        """The alias `index` elements of `dtype` behind `base`, None when the two shifts cannot be added."""
        if constant(index) == 0:
            return PointerAlias(base.root, base.shift, base.dtype if base.shift is not None else dtype)
        if base.shift is None:
            return PointerAlias(base.root, index, dtype)
        unit = element_bytes(dtype)
        if unit is None or unit != element_bytes(base.dtype):
            return None
        return PointerAlias(base.root, base.shift + index, dtype)

    def movable(self, pointer: Any, unit: int) -> bool:
        """Whether an index through `pointer`, in elements of `unit` bytes, can be counted from the root's start."""
        alias = self.aliases.get(pointer)
        return alias is None or alias.shift is None or element_bytes(alias.dtype) == unit
