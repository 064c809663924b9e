"""TIR of the Relax line (apache-tvm 0.27): flat `AllocBuffer` statements, after FlattenBuffer.

`capture` reads a PrimFunc into traces, `rewrite` writes planned offsets back and `rewrite_textures` planned slots,
`function_pass` makes TVM passes, `register_standard_pipeline` names TVM's own lowering with other passes where
StorageRewrite stands.

What TVM 0.27 promises about an `AllocBuffer`: it has no body and lives to the end of the loop, branch or function
that holds it. Inside a loop its contents at the start of an iteration are undefined: an allocation of 1024 bytes
or more comes from TVMBackendAllocWorkspace afresh in each iteration, a smaller one is one stack slot of the whole
function, and StorageRewrite hoists both above the loop. So no iteration may rely on what an earlier one left, and
allocations are captured as fresh.
"""

from tvm_memplan.dialects.tirx.capture import capture
from tvm_memplan.dialects.tirx.passes import function_pass, is_lowered, shared_limit
from tvm_memplan.dialects.tirx.pipeline import before_storage_rewrite, register_standard_pipeline
from tvm_memplan.dialects.tirx.rewrite import rewrite
from tvm_memplan.dialects.tirx.textures import rewrite_textures

__all__ = [
    "before_storage_rewrite",
    "capture",
    "function_pass",
    "is_lowered",
    "register_standard_pipeline",
    "rewrite",
    "rewrite_textures",
    "shared_limit",
]
