"""Relax: reading functions after CallTIRRewrite, and writing plans into them. Needs apache-tvm 0.27."""

from tvm_memplan.dialects.relax.capture import capture
from tvm_memplan.dialects.relax.devices import needs_slots
from tvm_memplan.dialects.relax.functions import recursive_functions, relax_functions
from tvm_memplan.dialects.relax.graph import Graph, KernelCall, Tensor
from tvm_memplan.dialects.relax.kernel_bodies import KernelBody, kernel_bodies
from tvm_memplan.dialects.relax.layers import Noted, with_layers, with_sources
from tvm_memplan.dialects.relax.passes import module_pass, with_functions, without_noalias
from tvm_memplan.dialects.relax.pipeline import standard_pipeline
from tvm_memplan.dialects.relax.rewrite import Spot, Storage, call_of, check_function, rewrite
from tvm_memplan.dialects.relax.scratch import KernelScratch, kernel_scratch
from tvm_memplan.dialects.relax.shapes import shape_variables
from tvm_memplan.dialects.relax.sizes import rounded_up
from tvm_memplan.dialects.relax.workspace import lift_workspace

__all__ = [
    "Graph",
    "KernelBody",
    "KernelCall",
    "KernelScratch",
    "Noted",
    "Spot",
    "Storage",
    "Tensor",
    "call_of",
    "capture",
    "check_function",
    "kernel_bodies",
    "kernel_scratch",
    "lift_workspace",
    "module_pass",
    "needs_slots",
    "recursive_functions",
    "relax_functions",
    "rewrite",
    "rounded_up",
    "shape_variables",
    "standard_pipeline",
    "with_functions",
    "with_layers",
    "with_sources",
    "without_noalias",
]
