"""Put barriers in front of top statements of a launch."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import count
from typing import Any

from tvm import tir

from tvm_memplan.dialects.launches import is_top

_FRAMES = (tir.LetStmt, tir.Allocate, tir.AllocateConst, tir.DeclBuffer, tir.AssertStmt)


def with_barriers(body: Any, before: Container[int]) -> Any:
    """`body` of a launch with a barrier before each top statement whose number is in `before`."""
    return _with(body, before, count())


def _with(stmt: Any, before: Container[int], numbers: Iterator[int]) -> Any:
    if isinstance(stmt, tir.SeqStmt):
        parts = [_with(part, before, numbers) for part in stmt.seq]
        return stmt if all(new.same_as(old) for new, old in zip(parts, stmt.seq)) else tir.SeqStmt(parts, stmt.span)
    if not isinstance(stmt, _FRAMES) and is_top(stmt):
        return tir.SeqStmt([_barrier(), stmt]) if next(numbers) in before else stmt
    inner = _with(stmt.body, before, numbers)
    return stmt if inner.same_as(stmt.body) else _framed(stmt, inner)


def _framed(stmt: Any, body: Any) -> Any:
    """`stmt` around another body."""
    if isinstance(stmt, tir.AttrStmt):
        return tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body, stmt.span)
    if isinstance(stmt, tir.LetStmt):
        return tir.LetStmt(stmt.var, stmt.value, body, stmt.span)
    if isinstance(stmt, tir.Allocate):
        return tir.Allocate(
            stmt.buffer_var, stmt.dtype, stmt.extents, stmt.condition, body, stmt.annotations, stmt.span
        )
    if isinstance(stmt, tir.DeclBuffer):
        return tir.DeclBuffer(stmt.buffer, body, stmt.span)
    if isinstance(stmt, tir.AssertStmt):
        return tir.AssertStmt(stmt.condition, stmt.message, body, stmt.span)
    return tir.AllocateConst(stmt.buffer_var, stmt.dtype, stmt.extents, stmt.data, body, stmt.annotations, stmt.span)


def _barrier() -> Any:
    return tir.Evaluate(tir.Call("int32", "tir.tvm_storage_sync", [tir.StringImm("shared")]))
