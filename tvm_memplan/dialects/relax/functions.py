"""The Relax functions of a module: which there are, and who calls whom."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, relax

from tvm_memplan.dialects.attributes import attribute


def relax_functions(module: Any) -> dict[str, Any]:
    """The Relax functions by name, each behind those that it calls (as far as they do not call themselves).

    Without those that another compiler will translate, see `foreign_functions`.
    """
    foreign = foreign_functions(module)
    functions = {
        str(var.name_hint): f
        for var, f in module.functions.items()
        if isinstance(f, relax.Function) and str(var.name_hint) not in foreign
    }
    callees = {name: _callees(f, functions) for name, f in functions.items()}
    order: dict[str, None] = {}

    def visit(name: str, waiting: frozenset[str]) -> None:
        for callee in callees[name]:
            if callee not in order and callee not in waiting:
                visit(callee, waiting | {callee})
        order[name] = None

    for name in sorted(functions):
        if name not in order:
            visit(name, frozenset({name}))
    return {name: functions[name] for name in order}


def foreign_functions(module: Any) -> dict[str, str]:
    """The Relax functions that RunCodegen will hand over, and to which compiler: their memory is that one's to plan."""
    found = {}
    for var, function in module.functions.items():
        compiler = attribute(function, "Codegen") if isinstance(function, relax.Function) else None
        if compiler is not None:
            found[str(var.name_hint)] = str(compiler)
    return found


def recursive_functions(module: Any) -> frozenset[str]:
    """The names of Relax functions that call themselves, perhaps through others."""
    functions = relax_functions(module)
    callees = {name: set(_callees(f, functions)) for name, f in functions.items()}
    found = set()
    for name in functions:
        seen: set[str] = set()
        waiting = list(callees[name])
        while waiting:
            callee = waiting.pop()
            if callee not in seen:
                seen.add(callee)
                waiting.extend(callees[callee])
        if name in seen:
            found.add(name)
    return frozenset(found)


def called_functions(module: Any) -> frozenset[str]:
    """The names of Relax functions that Relax functions of the module call or refer to."""
    functions = relax_functions(module)
    return frozenset(callee for f in functions.values() for callee in _callees(f, functions))


def _callees(function: Any, functions: dict[str, Any]) -> list[str]:
    found: dict[str, None] = {}

    def visit(var: Any) -> None:
        if str(var.name_hint) in functions:
            found[str(var.name_hint)] = None

    tvm_ffi.structural_walk(function.body, (ir.GlobalVar, visit))
    return sorted(found)
