"""TIR of the Relay line (TVM 0.19): nested `Allocate` statements, after StorageFlatten or FlattenBuffer.

`capture` reads a PrimFunc into traces, `rewrite` writes planned offsets back.
"""

from tvm_memplan.dialects.tir.capture import capture
from tvm_memplan.dialects.tir.rewrite import rewrite

__all__ = ["capture", "rewrite"]
