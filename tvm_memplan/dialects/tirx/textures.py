"""Textures in TVM 0.27: ``DeclBuffer(t, data=nd_mem_alloc_with_scope(scope, 3, shape(width, height, layers), bits))``.

The Adreno pipeline makes them of `AllocBuffer` in a texture scope (TextureFlatten, InjectTextureAlloc). An image has a
third dimension here, its layers, and `bits` are those of a texel. Elements are reached by
``texture2d_load(t.data, column, row, layer, bits, channel)`` and ``texture2d_store``; the shape of the buffer `t` means
nothing. The texture lives to the end of the sequence that holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import decl_buffer

from tvm_memplan.dialects.attributes import target_number
from tvm_memplan.dialects.elements import constant, constants, element_bytes
from tvm_memplan.dialects.textures import CHANNELS, TextureAllocation, TextureShape, is_texture
from tvm_memplan.dialects.tirx.expressions import call_name, element_type

_RANK = 3
_HANDLE = ir.PointerType(ir.PrimType("void"))


def texture_of(stmt: Any, limits: tuple[int | None, ...] = ()) -> TextureAllocation | None:
    """What a `DeclBuffer` allocates, None unless that is a texture."""
    if call_name(stmt.data) != "tirx.nd_mem_alloc_with_scope" or not isinstance(stmt.data.args[0], ir.StringImm):
        return None
    scope = str(stmt.data.args[0].value)
    if not is_texture(scope):
        return None
    dtype = element_type(stmt.buffer)
    shape, bits = stmt.data.args[2], constant(stmt.data.args[3]) if len(stmt.data.args) > 3 else None
    text = " x ".join(str(extent) for extent in shape.args)
    wrong = "" if bits == 8 * CHANNELS * (element_bytes(dtype) or 0) else f"its texels have {bits} bits, not 4 {dtype}"
    return TextureAllocation(
        stmt.buffer.name, dtype, scope, constants(shape.args), text, limits=limits, rank=_RANK, wrong=wrong
    )


def texture_limits(function: Any) -> tuple[int | None, ...]:
    """What the function's target, or the current one, allows in each dimension, None where none of them says."""
    around = tvm.target.Target.current(allow_none=True)
    spatial, depth = (target_number(function, f"texture_{what}_limit", around) for what in ("spatial", "depth"))
    return spatial, spatial, depth


def rewrite_textures(
    function: Any, variables: Mapping[str, Any], slots: Iterable[tuple[str, TextureShape, Sequence[str]]]
) -> Any:
    """Return `function` with its planned textures in slots that are allocated at its start.

    Parameters
    ----------
    function : PrimFunc
        Not changed.
    variables : mapping of str to Var
        Each texture's buffer, by name.
    slots : iterable of (scope, shape, names of textures)
        What is allocated, and for whom.

    Returns
    -------
    PrimFunc
        A new function with the same parameters and attributes.
    """
    homes: dict[Any, Any] = {}
    declared = []
    for number, (scope, shape, members) in enumerate(slots):
        elements = tirx.IntImm("int32", CHANNELS * prod(shape.extents))
        buffer = decl_buffer([elements], shape.dtype, f"texture_{number}", scope=scope, layout=None)
        extents = ir.Call(
            "tirx.tvm_stack_make_shape", [tirx.IntImm("int32", extent) for extent in shape.extents], ret_ty=_HANDLE
        )
        bits = 8 * CHANNELS * (element_bytes(shape.dtype) or 0)
        arguments = [ir.StringImm(scope), tirx.IntImm("int64", len(shape.extents)), extents, tirx.IntImm("int64", bits)]
        call = ir.Call("tirx.nd_mem_alloc_with_scope", arguments, ret_ty=buffer.data.ty)
        declared.append(tirx.DeclBuffer(buffer, data=call))
        homes.update((variables[name], buffer) for name in members)

    def address(call: Any, mutator: Any) -> Any:
        if call_name(call) == "tirx.buffer_data" and call.args[0] in homes:
            return homes[call.args[0]].data
        return mutator.default_mutate(call)

    nothing = tirx.Evaluate(tirx.const(0, "int32"))

    def declaration(stmt: Any, mutator: Any) -> Any:
        return nothing if stmt.buffer in homes else mutator.default_mutate(stmt)

    body = tvm_ffi.structural_mutate(function.body, [(ir.Call, address), (tirx.DeclBuffer, declaration)])
    rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    return function.with_body(tirx.SeqStmt([*declared, *(stmt for stmt in rest if not stmt.same_as(nothing))]))
