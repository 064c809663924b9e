"""What an expression does to storage: which buffers it loads, and which pointers it hands to whom.

`walk` calls back for each *load* of a buffer and for each *pointer use*, a place where the address of some
storage, rather than an element of it, flows into the expression; a pointer use that counts in elements of some
type is a *place* as well. The caller decides what that means.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.accesses import View, Visits, reduced
from tvm_memplan.dialects.reader import NotUnderstood

_BINARY = (
    tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max,
    tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or,
)  # fmt: skip
_LEAVES = (tir.IntImm, tir.FloatImm, tir.StringImm)


def call_name(call: Any) -> str:
    """The name of the intrinsic that a `tir.Call` calls, ``"function call"`` for a function of the module."""
    return call.op.name if isinstance(call.op, tvm.ir.Op) else "function call"


def is_address_of(expr: Any) -> bool:
    """Whether `expr` is ``address_of(buffer[...])``."""
    return isinstance(expr, tir.Call) and call_name(expr) == "tir.address_of"


def children(expr: Any) -> tuple[Any, ...]:
    """The direct sub-expressions of `expr`.

    Raises
    ------
    NotUnderstood
        For a node kind that is not known here; guessing could miss a use.
    """
    if isinstance(expr, _BINARY):
        return (expr.a, expr.b)
    if isinstance(expr, (tir.Var, *_LEAVES)):
        return ()
    if isinstance(expr, tir.BufferLoad):
        predicate = getattr(expr, "predicate", None)
        return (*expr.indices, *(() if predicate is None else (predicate,)))
    if isinstance(expr, tir.Call):
        return tuple(arg for arg in expr.args if isinstance(arg, tvm.ir.PrimExpr))
    if isinstance(expr, tir.Cast):
        return (expr.value,)
    if isinstance(expr, tir.Not):
        return (expr.a,)
    if isinstance(expr, tir.Select):
        return (expr.condition, expr.true_value, expr.false_value)
    if isinstance(expr, tir.Ramp):
        return (expr.base, expr.stride)
    if isinstance(expr, tir.Broadcast):
        return (expr.value,)
    if isinstance(expr, tir.Shuffle):
        return (*expr.vectors, *expr.indices)
    if isinstance(expr, tir.Let):
        return (expr.value, expr.body)
    raise NotUnderstood(f"expression node {type(expr).__name__}")


def has_load(expr: Any) -> bool:
    """Whether the value of `expr` depends on memory or on a call, so that it may differ from place to place."""
    if isinstance(expr, (tir.BufferLoad, tir.Call)):
        return True
    return any(has_load(child) for child in children(expr))


def view(buffer: Any, indices: Any, masked: bool = False) -> View:
    """`buffer`, accessed at `indices`, some lanes of them if it is `masked`."""
    offset = buffer.elem_offset
    starts = isinstance(offset, tir.IntImm) and offset.value == 0
    flat = len(indices) == 1 and len(buffer.shape) == 1
    index = indices[0] if flat and not masked else None
    lanes = indices[0].dtype.partition("x")[2] if flat else ""
    many = int(lanes) if lanes.isdigit() else 1
    return View(buffer.data, buffer.name, buffer.dtype, flat, not starts, index, many)


def walk(expr: Any, visits: Visits) -> None:
    """Report what `expr` touches."""
    _walk(expr, visits, type(expr).__name__)


def _walk(expr: Any, visits: Visits, receiver: str) -> None:
    if isinstance(expr, tir.Var):
        if expr.dtype == "handle":
            visits.pointer(expr, receiver)
        return
    if is_address_of(expr) and isinstance(expr.args[0], tir.BufferLoad):
        load = expr.args[0]
        visits.place(view(load.buffer, load.indices))
        visits.pointer(load.buffer.data, receiver)
        if any(isinstance(index, tir.Ramp) for index in load.indices):
            visits.pointer(load.buffer.data, "an address of several elements")
        for index in load.indices:
            _walk(index, visits, "index")
        return
    if isinstance(expr, tir.Call) and call_name(expr) == "tir.tvm_access_ptr":
        # (type annotation, pointer, offset, extent, access mask): who gets the result gets the pointer.
        pointer = expr.args[1]
        if isinstance(pointer, tir.Var):
            visits.place(View(pointer, pointer.name, expr.args[0].dtype, True, False))
        _walk(pointer, visits, receiver)
        for value in expr.args[2:]:
            _walk(value, visits, "tir.tvm_access_ptr")
        return
    if isinstance(expr, tir.BufferLoad):
        visits.load(view(expr.buffer, expr.indices, getattr(expr, "predicate", None) is not None))
    inner = call_name(expr) if isinstance(expr, tir.Call) else type(expr).__name__
    for load in reduced(inner, children(expr)):
        if isinstance(load, tir.BufferLoad):
            visits.pointer(load.buffer.data, inner)
    for child in children(expr):
        _walk(child, visits, inner)
