"""Warp memory where TVM looks for it.

LowerWarpMemory asks how many threads a warp has *inside* the statements behind an allocation, and stops with an error
where ``threadIdx.x`` was bound before it. StorageRewrite moves every allocation of a launch to the launch's start, so
on functions that it does not get somebody else has to.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import tirx

from tvm_memplan.dialects.elements import constants


def hoisted(function: Any) -> Any:
    """`function` with the warp memory of each launch allocated at its start; sizes that are computed stay inside."""
    return function.with_body(tvm_ffi.structural_mutate(function.body, (tirx.AttrStmt, _launch)))


def _launch(stmt: Any, mutator: Any) -> Any:
    if str(stmt.attr_key) != "thread_extent":
        return mutator.default_mutate(stmt)
    found: dict[Any, Any] = {}
    nothing = tirx.Evaluate(tirx.const(0, "int32"))

    def taken(allocation: Any) -> Any:
        kind = allocation.buffer.ty
        if kind.storage_scope != "warp" or None in constants(kind.shape):
            return allocation
        found.setdefault(allocation.buffer, allocation)
        return nothing

    body = tvm_ffi.structural_map(stmt.body, (tirx.AllocBuffer, taken))
    if not found:
        return stmt
    rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, tirx.SeqStmt([*found.values(), *rest]), stmt.span)
