"""Where everything that was planned lies: arenas, and the places of pointers in them; the same on both lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import round_up
from tvm_memplan.planning.trace import Alloc, Branch, Loop, Node

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Arena:
    """The allocation that serves one region.

    Parameters
    ----------
    name : str
        An identifier, since code generators print names as they are.
    offset_of : mapping of object to int
        The byte offset of each storage variable in it.
    size : int
        Bytes.
    alignment : int
        Bytes that its start has to be a multiple of.
    scope : str
        The memory it lies in.
    """

    name: str
    offset_of: Mapping[Any, int]
    size: int
    alignment: int
    scope: str = "global"

    @property
    def needs_int64(self) -> bool:
        """Whether a 32 bit index may be too small for it."""
        return self.size > _INT32_MAX

    @property
    def index_bits(self) -> int:
        """Bits of an integer that can count its bytes."""
        return 64 if self.needs_int64 else 32

    def elements(self, dtype: str) -> int:
        """How many elements of `dtype` hold it."""
        unit = element_bytes(dtype) or 1
        return round_up(self.size, unit) // unit


@dataclass(frozen=True)
class Place:
    """Where a pointer stands: `offset` bytes into the arena, and `shift` (an index, or None) elements of `dtype`."""

    arena: Arena
    offset: int
    shift: Any | None
    dtype: str
    name: str

    def elements(self, dtype: str) -> int:
        """The offset in elements of `dtype`."""
        elements, rest = divmod(self.offset, element_bytes(dtype) or 1)
        if rest:
            raise UnsupportedIR(f"buffer {self.name!r} of {dtype} was planned at byte {self.offset}, not at an element")
        return elements


class Arenas:
    """All arenas of one function.

    Parameters
    ----------
    captured : Captured
        The function as read.
    offsets : mapping of str to mapping of str to int
        For each region's name, each buffer's byte offset in the region's arena.
    sizes : mapping of str to int
        For each region's name, the bytes of its arena.
    """

    def __init__(self, captured: Captured, offsets: Mapping[str, Mapping[str, int]], sizes: Mapping[str, int]) -> None:
        self.body: Arena | None = None
        self.of_loop: dict[Any, Arena] = {}
        self.of_launch: dict[Any, list[Arena]] = {}
        self._aliases = captured.aliases
        self._moved: dict[Any, Arena] = {}
        for region in captured.regions:
            arena = _arena(region, offsets[region.name], sizes[region.name])
            if region.anchor is None:
                self.body = arena
            elif region.scope != "global":
                self.of_launch.setdefault(region.anchor, []).append(arena)
            else:
                self.of_loop[region.anchor] = arena
            self._moved.update((var, arena) for var in arena.offset_of)

    @property
    def all(self) -> tuple[Arena, ...]:
        """The body's arena, and those of the loops and launches."""
        launches = (arena for arenas in self.of_launch.values() for arena in arenas)
        return (*(() if self.body is None else (self.body,)), *self.of_loop.values(), *launches)

    def locate(self, var: Any) -> Place | None:
        """Where a storage variable, or an alias of one, stands; None when it was not planned."""
        alias = self._aliases.get(var)
        root = alias.root if alias is not None else var
        arena = self._moved.get(root)
        if arena is None:
            return None
        shift, dtype = (alias.shift, alias.dtype) if alias is not None else (None, "uint8")
        return Place(arena, arena.offset_of[root], shift, dtype, var.name)


def _arena(region: Region, offsets: Mapping[str, int], size: int) -> Arena:
    name = "arena" if region.anchor is None else "arena_" + re.sub(r"\W", "_", region.name)
    offset_of = {var: offsets[buffer] for buffer, var in region.variables.items()}
    return Arena(name, offset_of, size, _alignment(region.trace.body), region.scope)


def _alignment(nodes: Iterable[Node]) -> int:
    """The largest alignment of what `nodes` allocate."""
    found = 1
    for node in nodes:
        if isinstance(node, Alloc):
            found = max(found, node.alignment)
        elif isinstance(node, Loop):
            found = max(found, _alignment(node.body))
        elif isinstance(node, Branch):
            found = max(found, _alignment(node.then), _alignment(node.orelse))
    return found


def widest(dtypes: Iterable[str]) -> str:
    """The element type that takes most bytes; of several, the last by name."""
    return max(dtypes, key=lambda dtype: (element_bytes(dtype) or 0, dtype))
