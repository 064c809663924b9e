"""TIR of the Relay line (TVM 0.19): nested `Allocate` statements, after StorageFlatten or FlattenBuffer.

`capture` reads a PrimFunc into traces, `rewrite` writes planned offsets back and `rewrite_textures` planned slots,
`function_pass` makes TVM passes. `inline_copies` reads it earlier, as its schedule leaves it.
"""

from tvm_memplan.dialects.tir.capture import capture
from tvm_memplan.dialects.tir.copies import inline_copies
from tvm_memplan.dialects.tir.passes import function_pass, is_lowered, shared_limit, synchronised
from tvm_memplan.dialects.tir.rewrite import rewrite
from tvm_memplan.dialects.tir.textures import rewrite_textures

__all__ = [
    "capture",
    "function_pass",
    "inline_copies",
    "is_lowered",
    "rewrite",
    "rewrite_textures",
    "shared_limit",
    "synchronised",
]
