"""Which allocations can be planned, and how large they are.

Sizes are exact Python integers: an element of ``bits * lanes`` bits takes that many bits rounded up to whole bytes
(a bool takes one byte). Types below 8 bits other than bool are not planned, since targets disagree about how they
are stored.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tir

from tvm_memplan.errors import UnsupportedIR

# No supported target addresses more than 47 bits of user memory.
ADDRESS_SPACE_BYTES = 1 << 47

# What TVM's allocators promise of an arena's base; an offset cannot give more.
BASE_ALIGNMENT = 64


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
    if size <= 0:
        return "it holds no element"
    if not (isinstance(allocate.condition, tir.IntImm) and allocate.condition.value == 1):
        return "it is allocated under a condition of its own"
    if allocate.annotations:
        return f"it carries the annotation {next(iter(allocate.annotations))}"
    return ""
