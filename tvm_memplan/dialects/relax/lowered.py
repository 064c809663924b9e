"""Kernels of a module as TVM lowers them, for the target of the context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import tirx

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.tirx import before_storage_rewrite

#: From so many bytes on TVM takes a constant allocation from the run time's workspace; what is smaller is on the stack.
SMALLEST = 1024

_CPU = frozenset({"llvm", "c"})


def for_cpu(module: Any) -> bool:
    """Whether all kernels of a module are for the target of the context, and that is a CPU."""
    target = tvm.target.Target.current(allow_none=True)
    return target is not None and str(target.kind.name) in _CPU and not module.global_infos.get("vdevice")


def kernels_of(module: Any) -> dict[str, Any]:
    """The PrimFuncs of a module that are for the target of the context, by name."""
    functions = {str(var.name_hint): f for var, f in module.functions.items() if isinstance(f, tirx.PrimFunc)}
    return {name: f for name, f in functions.items() if _is_kernel(f)}


def flattened(kernels: Mapping[str, Any], after: Sequence[Any] = (), vectorized: bool = True) -> dict[str, Any]:
    """Kernels as they are right before StorageRewrite, for the target of the context, and then after some passes.

    What stands for a kernel in a module is lowered again by the build, and must not be `vectorized`.
    """
    if not kernels:
        return {}
    module = before_storage_rewrite(tvm.IRModule(dict(kernels)), after, vectorized)
    return {str(var.name_hint): f for var, f in module.functions.items()}


def _is_kernel(function: Any) -> bool:
    return attribute(function, "tirx.is_host_func") is None and attribute(function, "target") is None
