"""Compile-time memory planning for Apache TVM.

Nothing here imports TVM: `tvm_memplan.planning` works without it, `tvm_memplan.transform`, `tvm_memplan.analysis`
and `tvm_memplan.relay` need the `relay` extra, `tvm_memplan.relax` the `relax` extra.
"""

__version__ = "0.1.0"
