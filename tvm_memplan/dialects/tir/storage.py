"""Which allocations can be planned, how large they are, and which pointers are other names for them.

Sizes are exact Python integers: an element of ``bits * lanes`` bits takes that many bits rounded up to whole bytes
(a bool takes one byte). Types below 8 bits other than bool are not planned, since targets disagree about how they
are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.tir.expressions import has_load, is_address_of
from tvm_memplan.errors import UnsupportedIR

# No supported target addresses more than 47 bits of user memory.
ADDRESS_SPACE_BYTES = 1 << 47


@dataclass(frozen=True)
class PointerAlias:
    """A pointer variable that points `shift` elements of `dtype` into the storage `root`."""

    root: Any
    shift: Any
    dtype: str


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


def element_bytes(dtype: str) -> int | None:
    """Bytes of one element of `dtype` (lanes included), None where no single rule holds on every target."""
    kind = tvm.DataType(dtype)
    if kind.bits < 8 and dtype != "bool":
        return None
    return (int(kind.bits) * int(kind.lanes) + 7) // 8


def scope_of(var: Any) -> str:
    """The storage scope in a pointer variable's type, ``global`` when it has none."""
    annotation = var.type_annotation
    scope = annotation.storage_scope if isinstance(annotation, tvm.ir.PointerType) else ""
    return str(scope) or "global"


def size_of(allocate: Any) -> int | None:
    """Bytes of an `Allocate`, None when an extent is not a constant or an element has no known size."""
    unit = element_bytes(allocate.dtype)
    if unit is None or not all(isinstance(extent, tir.IntImm) for extent in allocate.extents):
        return None
    size = unit
    for extent in allocate.extents:
        size *= int(extent.value)
    if size >= ADDRESS_SPACE_BYTES:
        raise UnsupportedIR(
            f"buffer {allocate.buffer_var.name!r} takes {size:,} bytes, more than any target can address"
        )
    return size


def why_not_planned(allocate: Any, size: int | None) -> str:
    """The reason for which an allocation has to stay as it is, empty when it can be planned."""
    scope = scope_of(allocate.buffer_var)
    unit = element_bytes(allocate.dtype)
    if scope != "global":
        return f"scope {scope!r} is not planned yet, only global is"
    if allocate.dtype == "handle":
        return "it holds pointers"
    if unit is None:
        return f"elements of type {allocate.dtype} are stored differently from target to target"
    if unit & (unit - 1):
        return f"elements of type {allocate.dtype} take {unit} bytes, which is not a power of two"
    if len(allocate.extents) != 1:
        return "it is not flat: run StorageFlatten and FlattenBuffer first"
    if size is None:
        return f"its size {allocate.extents[0]} is not a constant"
    if size == 0:
        return "it holds no element"
    if not (isinstance(allocate.condition, tir.IntImm) and allocate.condition.value == 1):
        return "it is allocated under a condition of its own"
    return ""


def pointer_alias(value: Any, roots: Any, aliases: dict[Any, PointerAlias]) -> PointerAlias | None:
    """Resolve the value of a let-bound pointer to the storage it points into, None where that cannot be told."""
    if isinstance(value, tir.Var):
        if value in aliases:
            return aliases[value]
        return PointerAlias(value, tir.IntImm("int32", 0), "uint8") if value in roots else None
    if not is_address_of(value) or not isinstance(value.args[0], tir.BufferLoad):
        return None
    load = value.args[0]
    if len(load.indices) != 1 or has_load(load.indices[0]) or not load.indices[0].dtype.startswith("int"):
        return None
    base = pointer_alias(load.buffer.data, roots, aliases)
    if base is None:
        return None
    index, unit = load.indices[0], element_bytes(load.buffer.dtype)
    if isinstance(base.shift, tir.IntImm) and base.shift.value == 0:
        return PointerAlias(base.root, index, load.buffer.dtype)
    if unit is None or unit != element_bytes(base.dtype):
        return None
    return PointerAlias(base.root, base.shift + index, load.buffer.dtype)
