"""Relax: reading functions after CallTIRRewrite, and writing plans into them. Needs apache-tvm 0.27."""

from tvm_memplan.dialects.relax.arguments import argument_kinds
from tvm_memplan.dialects.relax.capture import capture
from tvm_memplan.dialects.relax.devices import needs_slots
from tvm_memplan.dialects.relax.ends import same_bytes
from tvm_memplan.dialects.relax.functions import (
    called_functions,
    foreign_functions,
    recursive_functions,
    relax_functions,
)
from tvm_memplan.dialects.relax.graph import Argument, Graph, KernelCall, Output, Tensor
from tvm_memplan.dialects.relax.kernel_bodies import KernelBody, kernel_bodies
from tvm_memplan.dialects.relax.layers import Noted, with_layers, with_sources
from tvm_memplan.dialects.relax.merged import Extent, Merged, Overlap, Whole, merged_kernels
from tvm_memplan.dialects.relax.passes import (
    cuda_graphs,
    module_pass,
    with_functions,
    without_promises,
    without_unused,
)
from tvm_memplan.dialects.relax.pipeline import standard_pipeline
from tvm_memplan.dialects.relax.rewrite import (
    Given,
    Instead,
    Spot,
    Storage,
    call_of,
    check_function,
    destination,
    rewrite,
)
from tvm_memplan.dialects.relax.scratch import KernelScratch, kernel_scratch
from tvm_memplan.dialects.relax.shapes import shape_variables
from tvm_memplan.dialects.relax.sizes import rounded_up
from tvm_memplan.dialects.relax.workspace import lift_workspace

__all__ = [
    "Argument",
    "Extent",
    "Given",
    "Graph",
    "Instead",
    "KernelBody",
    "KernelCall",
    "KernelScratch",
    "Merged",
    "Noted",
    "Output",
    "Overlap",
    "Spot",
    "Storage",
    "Tensor",
    "Whole",
    "argument_kinds",
    "call_of",
    "called_functions",
    "capture",
    "check_function",
    "cuda_graphs",
    "destination",
    "foreign_functions",
    "kernel_bodies",
    "kernel_scratch",
    "lift_workspace",
    "merged_kernels",
    "module_pass",
    "needs_slots",
    "recursive_functions",
    "relax_functions",
    "rewrite",
    "rounded_up",
    "same_bytes",
    "shape_variables",
    "standard_pipeline",
    "with_functions",
    "with_layers",
    "with_sources",
    "without_promises",
    "without_unused",
]
