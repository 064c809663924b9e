"""Our functions as passes over modules with Relax functions in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import ir, relax, tirx
from tvm.relax.expr import _update_type

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.errors import MemPlanError

_NOALIAS = "tirx.noalias"

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
    """A new module with some functions replaced, and some added under names that are free.

    A function that takes other parameters than before gets a new GlobalVar; nobody else may call it.
    """
    result = module.clone()
    own: dict[str, Any] = {}
    for name, function in added.items():
        own[name] = ir.GlobalVar(name)
        _update_type(own[name], function.ty)
        result[own[name]] = function
    for name, function in changed.items():
        if own and isinstance(function, relax.Function):
            # Whoever calls them does so by another GlobalVar of that name, and some passes go by the variable itself.
            function = tvm_ffi.structural_map(function, (ir.GlobalVar, lambda var: own.get(str(var.name_hint), var)))
        var = result.get_global_var(name)
        if isinstance(function, relax.Function) and len(function.params) != len(result[var].params):
            del result[var]
            var = ir.GlobalVar(name)
            _update_type(var, function.ty)
            result[var] = function
        else:
            result.update_func(var, function)
    return result


def without_unused(module: Any, names: Iterable[str]) -> Any:
    """The module without those of some functions that nobody calls and nobody outside can."""
    used: set[str] = set()
    for function in module.functions.values():
        if isinstance(function, (relax.Function, tirx.PrimFunc)):
            tvm_ffi.structural_walk(function.body, (ir.GlobalVar, lambda var: used.add(str(var.name_hint))))
    result = module.clone()
    for name in set(names) - used:
        if attribute(result[name], "global_symbol") is None:
            del result[result.get_global_var(name)]
    return result


def cuda_graphs() -> bool:
    """Whether RewriteCUDAGraph will do anything: it keeps storages from one call of a function to the next."""
    context = tvm.transform.PassContext.current()
    return bool(context.config.get("relax.backend.use_cuda_graph", False))


def without_promises(module: Any, sharing: Iterable[str]) -> dict[str, Any]:
    """Kernels without the promise that their parameters do not overlap, by name: those in `sharing`, and maybe others.

    Code generators pass that promise on (to LLVM, as a class of its own for each parameter), and then a load from one
    and a store to another may change places. Where parameters share bytes, the order of their accesses has to stay.

    0.27's LLVM code generator asks for the promise when it declares a function, and then writes all functions of a
    module by what the last one said, in the order of their names. So there all have to take it back, or none does.
    """
    names = set(sharing)
    target = tvm.target.Target.current(allow_none=True)
    if names and (target is None or str(target.kind.name) == "llvm"):
        names = {str(var.name_hint) for var, f in module.functions.items() if isinstance(f, tirx.PrimFunc)}
    kernels = {name: module[name] for name in sorted(names)}
    return {name: f.without_attr(_NOALIAS) for name, f in kernels.items() if _NOALIAS in (f.attrs or {})}
