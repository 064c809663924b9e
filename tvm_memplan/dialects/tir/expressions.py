"""What an expression does to storage: which buffers it loads, and which pointers it hands to whom.

`walk` calls back for each *load* of a buffer and for each *pointer use*, a place where the address of some
storage, rather than an element of it, flows into the expression. The caller decides what that means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import tir

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


def walk(expr: Any, on_load: Callable[[Any], None], on_pointer: Callable[[Any, str], None]) -> None:
    """Report what `expr` touches.

    Parameters
    ----------
    expr : PrimExpr
        Any expression.
    on_load : callable
        Called with each `BufferLoad` whose element is read.
    on_pointer : callable
        Called with the pointer's variable and the name of what receives it: a call's name, or the node kind.
    """
    _walk(expr, on_load, on_pointer, type(expr).__name__)


def _walk(expr: Any, on_load: Callable[[Any], None], on_pointer: Callable[[Any, str], None], receiver: str) -> None:
    if isinstance(expr, tir.Var):
        if expr.dtype == "handle":
            on_pointer(expr, receiver)
        return
    if is_address_of(expr) and isinstance(expr.args[0], tir.BufferLoad):
        on_pointer(expr.args[0].buffer.data, receiver)
        for index in expr.args[0].indices:
            _walk(index, on_load, on_pointer, "index")
        return
    if isinstance(expr, tir.Call) and call_name(expr) == "tir.tvm_access_ptr":
        # (type annotation, pointer, offset, extent, access mask): who gets the result gets the pointer.
        _walk(expr.args[1], on_load, on_pointer, receiver)
        for value in expr.args[2:]:
            _walk(value, on_load, on_pointer, "tir.tvm_access_ptr")
        return
    if isinstance(expr, tir.BufferLoad):
        on_load(expr)
    inner = call_name(expr) if isinstance(expr, tir.Call) else type(expr).__name__
    for child in children(expr):
        _walk(child, on_load, on_pointer, inner)
