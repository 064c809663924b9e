"""Put barriers in front of top statements of a launch."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import count
from typing import Any

from tvm import ir, tirx

from tvm_memplan.dialects.launches import is_top


def with_barriers(body: Any, before: Container[int]) -> Any:
    """`body` of a launch with a barrier before each top statement whose number is in `before`."""
    return _with(body, before, count())


def _with(stmt: Any, before: Container[int], numbers: Iterator[int]) -> Any:
    if isinstance(stmt, tirx.SeqStmt):
        parts = [_with(part, before, numbers) for part in stmt.seq]
        return stmt if all(new.same_as(old) for new, old in zip(parts, stmt.seq)) else tirx.SeqStmt(parts, stmt.span)
    if is_top(stmt):
        return tirx.SeqStmt([_barrier(), stmt]) if next(numbers) in before else stmt
    if isinstance(stmt, tirx.AttrStmt):
        inner = _with(stmt.body, before, numbers)
        if not inner.same_as(stmt.body):
            return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, inner, stmt.span)
    return stmt


def _barrier() -> Any:
    return tirx.Evaluate(ir.Call("tirx.tvm_storage_sync", [ir.StringImm("shared")], ret_ty="int32"))
