"""What an expression does to storage: which buffers it loads, and which pointers it hands to whom.

`walk` tells a visitor each *load* of a buffer and each *pointer use*, a place where the address of some storage,
rather than an element of it, flows into the expression. The visitor decides what that means.
"""

from __future__ import annotations

from typing import Any, Protocol

import tvm
from tvm import tir

# Calls that may read and write through a pointer argument, but do not keep it after they return. A pointer that
# goes anywhere else (into memory, an integer, an unknown intrinsic) makes its storage one that is left alone.
BORROWING_CALLS = frozenset(
    {
        "tir.call_extern",
        "tir.call_pure_extern",
        "tir.call_llvm_intrin",
        "tir.call_llvm_pure_intrin",
        "tir.tvm_call_packed",
        "tir.tvm_call_cpacked",
        "tir.isnullptr",
        "function call",
    }
)

# Calls whose value is, or holds, the pointer that they are given: what matters is where that value goes.
_PASSING_CALLS = frozenset({"tir.tvm_access_ptr", "tir.tvm_stack_make_array"})

_BINARY = (
    tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max,
    tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or,
)  # fmt: skip
_LEAVES = (tir.IntImm, tir.FloatImm, tir.StringImm)


class NotUnderstood(Exception):
    """The IR holds a node that this dialect does not know; the function is left as it was."""


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


class Visitor(Protocol):
    """Is told by `walk` what an expression touches."""

    def load(self, load: Any) -> None:
        """The element of `load`, a `BufferLoad`, is read."""

    def place(self, load: Any) -> None:
        """`load`, a `BufferLoad`, only names the place of which the address is taken."""

    def access_pointer(self, var: Any, dtype: str) -> None:
        """A ``tvm_access_ptr`` counts from pointer `var` in elements of `dtype`."""

    def pointer(self, var: Any, receiver: str) -> None:
        """The value of pointer `var`, or an address behind it, goes into `receiver`: a call's name, or a node kind."""


def walk(expr: Any, visitor: Visitor) -> None:
    """Tell `visitor` what `expr`, any `PrimExpr`, touches."""
    _walk(expr, visitor, type(expr).__name__)


def _walk(expr: Any, visitor: Visitor, receiver: str) -> None:
    if isinstance(expr, tir.Var):
        if expr.dtype == "handle":
            visitor.pointer(expr, receiver)
        return
    if is_address_of(expr) and isinstance(expr.args[0], tir.BufferLoad):
        visitor.place(expr.args[0])
        visitor.pointer(expr.args[0].buffer.data, receiver)
        for index in expr.args[0].indices:
            _walk(index, visitor, "index")
        return
    if isinstance(expr, tir.BufferLoad):
        visitor.load(expr)
    inner = call_name(expr) if isinstance(expr, tir.Call) else type(expr).__name__
    if inner == "tir.tvm_access_ptr" and isinstance(expr.args[1], tir.Var):
        visitor.access_pointer(expr.args[1], expr.args[0].dtype)
    for child in children(expr):
        _walk(child, visitor, receiver if inner in _PASSING_CALLS else inner)
