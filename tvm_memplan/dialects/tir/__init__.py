"""TIR of the Relay line (TVM 0.19): nested `Allocate` statements, after StorageFlatten or FlattenBuffer.

`capture` reads a PrimFunc into traces, `rewrite` writes planned offsets back, `function_pass` makes TVM passes.
`inline_copies` reads it earlier, as its schedule leaves it.
"""

from tvm_memplan.dialects.tir.capture import capture
from tvm_memplan.dialects.tir.copies import inline_copies
from tvm_memplan.dialects.tir.passes import function_pass, is_lowered
from tvm_memplan.dialects.tir.rewrite import rewrite

__all__ = ["capture", "function_pass", "inline_copies", "is_lowered", "rewrite"]
