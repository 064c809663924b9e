"""Textures in TVM 0.19: ``let t = nd_mem_alloc_with_scope(scope, 2, shape(width, height))`` around the host code.

TextureFlatten makes them of buffers in a texture scope, before any pass of ours sees the function. Element accesses
are then ``texture2d_load(t, column, row, channel)`` and ``texture2d_store(t, column, row, value)``, of one channel
while their loop is not vectorised yet, of all four after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.attributes import target_number
from tvm_memplan.dialects.elements import constants
from tvm_memplan.dialects.textures import TextureAllocation, TextureShape, is_texture


def texture_of(stmt: Any, limits: tuple[int | None, ...] = ()) -> TextureAllocation | None:
    """What a `LetStmt` allocates, None unless that is a texture."""
    call = stmt.value
    if not isinstance(call, tir.Call) or not isinstance(call.op, tvm.ir.Op):
        return None
    if call.op.name != "tir.nd_mem_alloc_with_scope" or not isinstance(call.args[0], tir.StringImm):
        return None
    scope = str(call.args[0].value)
    if not is_texture(scope):
        return None
    kind = getattr(stmt.var.type_annotation, "element_type", None)
    extents = call.args[2].args
    text = " x ".join(str(extent) for extent in extents)
    return TextureAllocation(
        stmt.var.name, str(getattr(kind, "dtype", "")), scope, constants(extents), text, limits=limits
    )


def texture_limits(function: Any) -> tuple[int | None, ...]:
    """What the function's target, or the current one, allows in each dimension, None where none of them says."""
    around = tvm.target.Target.current(allow_none=True)
    return (target_number(function, "texture_spatial_limit", around),) * 2


def rewrite_textures(
    function: Any, variables: Mapping[str, Any], slots: Iterable[tuple[str, TextureShape, Sequence[str]]]
) -> Any:
    """Return `function` with its planned textures in slots that are allocated at its start.

    Parameters
    ----------
    function : PrimFunc
        Not changed.
    variables : mapping of str to Var
        Each texture's variable, by name.
    slots : iterable of (scope, shape, names of textures)
        What is allocated, and for whom.

    Returns
    -------
    PrimFunc
        A new function with the same parameters and attributes.
    """
    handles: dict[Any, Any] = {}
    allocations = []
    for number, (scope, shape, members) in enumerate(slots):
        handle = tir.Var(f"texture_{number}", tvm.ir.PointerType(tvm.ir.PrimType(shape.dtype), scope))
        extents = [tir.IntImm("int32", extent) for extent in shape.extents]
        made = tir.Call("handle", "tir.tvm_stack_make_shape", extents)
        rank = tir.IntImm("int64", len(extents))
        call = tir.Call("handle", "tir.nd_mem_alloc_with_scope", [tir.StringImm(scope), rank, made])
        allocations.append((handle, call))
        handles.update((variables[name], handle) for name in members)

    def unbound(let: Any) -> Any | None:
        return let.body if let.var in handles else None

    body = tir.stmt_functor.ir_transform(function.body, None, unbound, ["tir.LetStmt"])
    body = tir.stmt_functor.substitute(body, handles)
    for handle, call in reversed(allocations):
        body = tir.LetStmt(handle, call, body)
    return function.with_body(body)
