"""Our functions as passes over modules with Relax functions in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import ir

from tvm_memplan.errors import MemPlanError

# An error that leaves a pass goes through C++, which keeps its text and its kind, and would make a RuntimeError of
# every kind that it does not know.
for _kind in MemPlanError.__subclasses__():
    tvm_ffi.register_error(f"tvm_memplan.{_kind.__name__}", _kind)


def module_pass(transform: Callable[[Any], Any], name: str) -> Any:
    """A pass that calls `transform(module)`, which returns a module and leaves the given one as it is."""

    def run(module: Any, _context: Any) -> Any:
        return transform(module)

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def with_functions(module: Any, changed: Mapping[str, Any], added: Mapping[str, Any]) -> Any:
    """A new module with some functions replaced, and some added under names that are free."""
    result = module.clone()
    for name, function in added.items():
        result[ir.GlobalVar(name)] = function
    for name, function in changed.items():
        result.update_func(result.get_global_var(name), function)
    return result


def without_noalias(kernel: Any) -> Any:
    """A PrimFunc without the promise that its parameters do not overlap.

    Code generators pass that promise on (to LLVM, as a class of its own for each parameter), and then a load from one
    and a store to another may change places. Where parameters share bytes, the order of their accesses has to stay.
    """
    return kernel.without_attr("tirx.noalias") if "tirx.noalias" in (kernel.attrs or {}) else kernel
