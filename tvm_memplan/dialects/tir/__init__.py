"""TIR of the Relay line (TVM 0.19): nested `Allocate` statements, after StorageFlatten or FlattenBuffer.

`capture` reads a PrimFunc into traces, `rewrite` writes planned offsets back and `rewrite_textures` planned slots,
`function_pass` makes TVM passes.
"""

from tvm_memplan.dialects.tir.capture import capture
from tvm_memplan.dialects.tir.passes import function_pass, is_lowered, shared_limit, synchronised
from tvm_memplan.dialects.tir.rewrite import rewrite
from tvm_memplan.dialects.tir.textures import rewrite_textures

__all__ = ["capture", "function_pass", "is_lowered", "rewrite", "rewrite_textures", "shared_limit", "synchronised"]
