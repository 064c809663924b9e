"""Sizes of what programs allocate, and which allocations can be planned at all; the same on both lines.

Sizes are exact Python integers: an element of ``bits * lanes`` bits takes that many bits rounded up to whole bytes
(a bool takes one byte). Types below 8 bits other than bool are not planned, since targets disagree about how they
are stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm_memplan.errors import UnsupportedIR

# No supported target addresses more than 47 bits of user memory.
ADDRESS_SPACE_BYTES = 1 << 47

# As both lines print types: float32, uint8x16, bool, bfloat16, float8_e4m3fn, handle.
_DTYPE = re.compile(r"(?:bool|handle|[a-z]+?(?P<bits>\d+)(?:_[a-z0-9]+?)?)(?:x(?P<lanes>\d+))?")
_BITS = {"bool": 8, "handle": 64}

_PLANNED_SCOPES = ("global", "shared", "shared.dyn")
_REGISTERS = ("local", "warp")


def element_bytes(dtype: str) -> int | None:
    """Bytes of one element of `dtype` (lanes included), None where no single rule holds on every target."""
    match = _DTYPE.fullmatch(dtype)
    if match is None:
        return None
    bits = int(match["bits"]) if match["bits"] else _BITS[dtype.partition("x")[0]]
    if bits < 8:
        return None
    return (bits * int(match["lanes"] or 1) + 7) // 8


def natural_alignment(size: int, most: int) -> int:
    """The largest power of two, up to `most`, that divides `size` bytes: how an array of many of them would lie."""
    return min(size & -size, most) if size > 0 else most


@dataclass(frozen=True)
class Allocation:
    """What a program asks for at one place.

    Parameters
    ----------
    name : str
        Of the buffer.
    dtype : str
        Of an element.
    scope : str
        Storage scope, ``"global"`` when the IR says nothing.
    extents : tuple of int or None
        Elements per dimension; None for one that is neither a constant nor has a known most.
    extent_text : str
        The extents as the IR prints them, for messages.
    unit : Unit or None
        What a single extent is a multiple of, where it is symbolic.
    bounds : frozenset of Var
        The parameters whose declared upper bounds the extent rests on.
    """

    name: str
    dtype: str
    scope: str
    extents: tuple[int | None, ...]
    extent_text: str = ""
    unit: Any = None
    bounds: frozenset[Any] = frozenset()

    def size(self) -> int | None:
        """Bytes (per unit, if there is one), None when an extent or the size of an element is not known.

        Raises
        ------
        UnsupportedIR
            When no target could address that much.
        """
        unit = element_bytes(self.dtype)
        if unit is None:
            return None
        size = unit
        for extent in self.extents:
            if extent is None:
                return None
            size *= extent
        if size >= ADDRESS_SPACE_BYTES:
            raise UnsupportedIR(f"buffer {self.name!r} takes {size:,} bytes, more than any target can address")
        return size

    def why_not_planned(self) -> str:
        """The reason for which it has to stay as it is, empty when it can be planned."""
        unit = element_bytes(self.dtype)
        if "texture" in self.scope:
            return "a texture that is allocated by bytes is not planned, only by width and height"
        if self.scope in _REGISTERS or self.scope.startswith("wmma."):
            return f"scope {self.scope!r}: it lies in registers, which the target's compiler allocates"
        if self.scope not in _PLANNED_SCOPES:
            return f"scope {self.scope!r} is not planned"
        if self.dtype == "handle":
            return "it holds pointers"
        if unit is None:
            return f"elements of type {self.dtype} are stored differently from target to target"
        if unit & (unit - 1):
            return f"elements of type {self.dtype} take {unit} bytes, which is not a power of two"
        if len(self.extents) != 1:
            return NOT_FLAT
        size = self.size()
        if size is None:
            return f"its size {self.extent_text} is not a constant and has no bound"
        if size <= 0:
            return "it holds no element"
        return ""


#: Why a buffer or view with more than one dimension is left alone.
NOT_FLAT = "it is not flat: run FlattenBuffer first (on TVM 0.19, StorageFlatten before it)"


def constants(extents: Sequence[object]) -> tuple[int | None, ...]:
    """The values of integer constants, None for every other expression. Both lines call the node ``IntImm``."""
    return tuple(constant(extent) for extent in extents)


def constant(expr: object) -> int | None:
    """The value of an integer constant, None for every other expression."""
    return int(expr.value) if type(expr).__name__ == "IntImm" else None  # type: ignore[attr-defined]
