"""Where everything that was planned lies: arenas, and the places of pointers in them; the same on both lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import round_up
from tvm_memplan.planning.trace import Alloc, Branch, Loop, Node

#: Attribute around what uses several allocations of ours: of code that TVM is not to reason about. If StorageRewrite
#: runs behind us, it would put them together again where it takes one for dying, and in place by a rule that is wrong
#: on some programs; with this, it keeps them apart. Nobody else looks at it.
APART = "extern_scope"

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Layout:
    """Where the buffers of one region lie.

    Parameters
    ----------
    sizes : tuple of int
        Bytes of each allocation that serves the region, per unit if there is one: the pieces of its arena, or one.
    places : mapping of str to (int, int)
        By the name of a buffer: which of them, and the byte offset in it.
    """

    sizes: tuple[int, ...]
    places: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Arena:
    """An allocation that serves one region, or a piece of its arena.

    Parameters
    ----------
    name : str
        An identifier, since code generators print names as they are.
    offset_of : mapping of object to int
        The byte offset of each storage variable in it.
    size : int
        Bytes, per unit if there is one.
    alignment : int
        Bytes that its start has to be a multiple of, and every place in it that asks for as much.
    unit : expression or None
        What the size and all offsets are multiplied with where they are symbolic.
    scope : str
        The memory it lies in.
    """

    name: str
    offset_of: Mapping[Any, int]
    size: int
    alignment: int
    unit: Any | None = None
    scope: str = "global"

    @property
    def needs_int64(self) -> bool:
        """Whether a 32 bit index may be too small for it."""
        return self.unit is not None or self.size > _INT32_MAX

    @property
    def index_bits(self) -> int:
        """Bits of an integer that can count its bytes."""
        return 64 if self.needs_int64 else 32

    def elements(self, dtype: str) -> Any:
        """How many elements of `dtype` hold it, an expression when that is symbolic."""
        unit = element_bytes(dtype) or 1
        if self.unit is None:
            return round_up(self.size, unit) // unit
        whole, rest = divmod(self.size, unit)
        return self.unit * whole if not rest else (self.unit * self.size + (unit - 1)) // unit


@dataclass(frozen=True)
class Place:
    """Where a pointer stands: `offset` bytes (per unit) into the arena, and `shift`, an index or None, of `dtype`."""

    arena: Arena
    offset: int
    shift: Any | None
    dtype: str
    name: str

    def elements(self, dtype: str) -> Any:
        """The offset in elements of `dtype`, an expression when that is symbolic."""
        elements, rest = divmod(self.offset, element_bytes(dtype) or 1)
        if rest:
            raise UnsupportedIR(f"buffer {self.name!r} of {dtype} was planned at byte {self.offset}, not at an element")
        return elements if self.arena.unit is None or not elements else self.arena.unit * elements


class Arenas:
    """All arenas of one function.

    Parameters
    ----------
    captured : Captured
        The function as read.
    layouts : mapping of str to Layout
        For each region's name, where its buffers lie.
    """

    def __init__(self, captured: Captured, layouts: Mapping[str, Layout]) -> None:
        self.body: list[Arena] = []
        self.of_loop: dict[Any, list[Arena]] = {}
        self.of_launch: dict[Any, list[Arena]] = {}
        self._aliases = captured.aliases
        self._moved: dict[Any, Arena] = {}
        for region in captured.regions:
            if not region.variables:
                continue  # textures alone
            arenas = _arenas(region, layouts[region.name])
            if region.anchor is None:
                self.body += arenas
            else:
                inside = self.of_loop if region.scope == "global" else self.of_launch
                inside.setdefault(region.anchor, []).extend(arenas)
            self._moved.update((var, arena) for arena in arenas for var in arena.offset_of)

    @property
    def all(self) -> tuple[Arena, ...]:
        """The body's arenas, and those of the loops and launches."""
        inside = (*self.of_loop.values(), *self.of_launch.values())
        return (*self.body, *(arena for arenas in inside for arena in arenas))

    def locate(self, var: Any) -> Place | None:
        """Where a storage variable, or an alias of one, stands; None when it was not planned."""
        alias = self._aliases.get(var)
        root = alias.root if alias is not None else var
        arena = self._moved.get(root)
        if arena is None:
            return None
        shift, dtype = (alias.shift, alias.dtype) if alias is not None else (None, "uint8")
        return Place(arena, arena.offset_of[root], shift, dtype, var.name)


def _arenas(region: Region, layout: Layout) -> list[Arena]:
    name = "arena" if region.name == "body" else "arena_" + re.sub(r"\W+", "_", region.name).strip("_")
    alignments = dict(_alignments(region.trace.body))
    arenas = []
    # In the order in which the program allocates what is in them.
    for number in dict.fromkeys(layout.places[buffer][0] for buffer in region.variables):
        title = name if len(layout.sizes) == 1 else f"{name}_{number}"
        members = {b: layout.places[b][1] for b in region.variables if layout.places[b][0] == number}
        alignment = max([region.alignment, *(alignments[buffer] for buffer in members)])
        unit = _rounded(region, members.values(), alignment)
        offset_of = {region.variables[buffer]: offset for buffer, offset in members.items()}
        arenas.append(Arena(title, offset_of, layout.sizes[number], alignment, unit, region.scope))
    return arenas


def _rounded(region: Region, offsets: Iterable[int], alignment: int) -> Any | None:
    """The unit of a region, rounded up so that every offset times it is a multiple of the alignment."""
    if region.unit is None:
        return None
    unit, common = region.unit.expr.astype("int64"), gcd(*offsets)  # 0 when all of them are
    step = alignment // gcd(alignment, common)
    return unit if step == 1 else (unit + (step - 1)) // step * step


def _alignments(nodes: Iterable[Node]) -> Iterator[tuple[str, int]]:
    """The names and alignments of what `nodes` allocate."""
    for node in nodes:
        if isinstance(node, Alloc):
            yield node.buffer, node.alignment
        elif isinstance(node, Loop):
            yield from _alignments(node.body)
        elif isinstance(node, Branch):
            yield from _alignments((*node.then, *node.orelse))


def widest(dtypes: Iterable[str]) -> str:
    """The element type that takes most bytes; of several, the last by name."""
    return max(dtypes, key=lambda dtype: (element_bytes(dtype) or 0, dtype))
