"""What an expression does to storage: which buffers it loads and stores, which addresses it hands to whom.

A buffer is a variable here, and its address is written in four ways: ``buffer_data(B)``, ``address_of(B[i])``,
``tvm_access_ptr(type, pointer, ...)``, and a pointer variable. The first three are looked through: what matters is
who receives the address in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import ir, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.accesses import View, Visits, reduced
from tvm_memplan.dialects.elements import constant
from tvm_memplan.dialects.reader import NotUnderstood

_LEAVES = (tirx.IntImm, tirx.FloatImm, ir.StringImm)
_PAIRS = (ir.prim.expr.BinaryOpExpr, ir.prim.expr.CmpExpr, tirx.And, tirx.Or)


def is_pointer(expr: Any) -> bool:
    """Whether the value of `expr` is an address."""
    return isinstance(expr.ty, ir.PointerType)


def element_type(buffer: Any) -> str:
    """The type of an element of a buffer variable."""
    return str(buffer.ty.dtype.dtype)


def lanes_of(indices: Any) -> int:
    """How many elements an access at `indices` takes at once; 1 where only the machine knows."""
    lanes = str(indices[-1].ty.dtype).partition("x")[2] if len(indices) else ""
    return int(lanes) if lanes.isdigit() else 1


def view(buffer: Any, indices: Sequence[Any], masked: bool = False) -> View:
    """`buffer`, accessed at `indices`, some lanes of them if it is `masked`.

    FlattenBuffer folds layouts, strides and offsets into the indices; a buffer that still has one is not flat.
    """
    kind = buffer.ty
    flat = len(indices) == 1 and len(kind.shape) == 1 and not kind.strides and kind.layout is None
    shifted = kind.elem_offset is not None and constant(kind.elem_offset) != 0
    index = indices[0] if flat and not masked else None
    return View(buffer, buffer.name, element_type(buffer), flat, shifted, index, lanes_of(indices))


def call_name(expr: Any) -> str:
    """The name of the intrinsic that `expr` calls, ``"function call"`` for a function, empty for another node."""
    if not isinstance(expr, ir.Call):
        return ""
    return str(expr.op.name) if isinstance(expr.op, ir.Op) else "function call"


def children(expr: Any) -> tuple[Any, ...]:
    """The direct sub-expressions of `expr`.

    Raises
    ------
    NotUnderstood
        For a node kind that is not known here; guessing could miss a use.
    """
    if isinstance(expr, (ir.Var, ir.GlobalVar, *_LEAVES)):
        return ()
    if isinstance(expr, _PAIRS):
        return (expr.a, expr.b)
    if isinstance(expr, (tirx.Not, ir.prim.expr.BitwiseNot)):
        return (expr.a,)
    if isinstance(expr, ir.TensorLoad):
        return tuple(expr.indices)
    if isinstance(expr, ir.Call):
        return tuple(expr.args)
    if isinstance(expr, (tirx.Cast, tirx.Broadcast)):
        return (expr.value,)
    if isinstance(expr, tirx.Select):
        return (expr.condition, expr.true_value, expr.false_value)
    if isinstance(expr, tirx.Ramp):
        return (expr.base, expr.stride)
    if isinstance(expr, tirx.Shuffle):
        return (*expr.vectors, *expr.indices)
    if isinstance(expr, tirx.Let):
        return (expr.value, expr.body)
    raise NotUnderstood(f"expression node {type(expr).__name__}")


def has_load(expr: Any) -> bool:
    """Whether the value of `expr` depends on memory or on a call, so that it may differ from place to place."""
    return isinstance(expr, (ir.TensorLoad, ir.Call)) or any(has_load(child) for child in children(expr))


def walk(expr: Any, visits: Visits, receiver: str) -> None:
    """Report what `expr` touches; `receiver` is who gets its value."""
    if isinstance(expr, ir.Var):
        if is_pointer(expr) or is_buffer_var(expr):
            visits.pointer(expr, receiver)
        return
    name = call_name(expr)
    if name == "tirx.buffer_data":
        visits.pointer(expr.args[0], receiver)
    elif name == "tirx.address_of" and isinstance(expr.args[0], ir.TensorLoad):
        load = expr.args[0]
        visits.place(view(load.source, load.indices))
        visits.pointer(load.source, receiver)
        if any(isinstance(index, tirx.Ramp) for index in load.indices):
            visits.pointer(load.source, "an address of several elements")
        for index in load.indices:
            walk(index, visits, "an index")
    elif name == "tirx.tvm_access_ptr":
        _access_pointer(expr, visits, receiver)
    elif name in ("tirx.masked_load", "tirx.masked_store"):
        _masked(expr, name, visits)
    else:
        if isinstance(expr, ir.TensorLoad):
            if not is_buffer_var(expr.source):
                raise NotUnderstood("a load from something that is not a buffer")
            visits.load(view(expr.source, expr.indices))
        for load in reduced(name, children(expr)):
            if isinstance(load, ir.TensorLoad):
                visits.pointer(load.source, name)
        for child in children(expr):
            walk(child, visits, name or type(expr).__name__)


def access_type(call: Any) -> str:
    """The element type that the offset of a ``tvm_access_ptr`` counts in."""
    return str(call.args[0].ty.dtype)


def pointee(pointer: Any) -> Any | None:
    """The buffer or pointer variable that `pointer` is the address of, None for a computed address."""
    if call_name(pointer) == "tirx.buffer_data":
        return pointer.args[0]
    return pointer if isinstance(pointer, ir.Var) else None


def _access_pointer(call: Any, visits: Visits, receiver: str) -> None:
    """(type annotation, pointer, offset in elements, extent, access mask)"""
    var = pointee(call.args[1])
    if var is None:
        walk(call.args[1], visits, receiver)
    else:
        # The offset is counted in elements, as an index through a view is.
        visits.place(View(var, var.name, access_type(call), True, False))
        visits.pointer(var, receiver)
    for value in call.args[2:]:
        walk(value, visits, "tirx.tvm_access_ptr")


def _masked(expr: Any, name: str, visits: Visits) -> None:
    """A load or store of some lanes; a store keeps the bytes of the others, so it reads as well."""
    buffer, *values = expr.args
    stored = name == "tirx.masked_store"
    indices = values[1 if stored else 0 : -1]
    visits.load(view(buffer, indices, masked=True))
    if stored:
        visits.store(view(buffer, indices, masked=True))
    for value in values:
        walk(value, visits, name)
