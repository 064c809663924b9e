"""The promise `tir.noalias`, taken back where a plan breaks it.

TVM marks operators as having no aliasing pointers. Code generators pass that on: `restrict` in C, and under LLVM a
class of its own per buffer variable, so that a load from one and a store to another may change places. In a
plan, two buffers of one operator, or a buffer and an argument, may lie on the same bytes one after the other; the
order of their accesses then has to stay.

0.19's LLVM code generator asks for the promise when it declares a function, and then writes all functions of a module
by what the last one said, in the order of their names. So there all operators have to take it back, or none does.
"""

from __future__ import annotations

import itertools
from typing import Any

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.relay.capture import Program
from tvm_memplan.planning.model import Plan


def without_noalias(mod: Any, program: Program, plan: Plan) -> tuple[str, ...]:
    """Remove `tir.noalias`, in place, from the operators in which buffers share bytes; returns their names.

    If there are any, it is removed from all operators for LLVM.
    """
    functions = sharing_operators(program, plan)
    for var, function in list(mod.functions.items()):
        if var.name_hint in functions or (functions and _is_for_llvm(function)):
            mod.update_func(var, function.without_attr("tir.noalias"))
    return functions


def _is_for_llvm(function: Any) -> bool:
    target = attribute(function, "target")
    return target is not None and str(target.kind.name) == "llvm" and attribute(function, "tir.noalias") is not None


def sharing_operators(program: Program, plan: Plan) -> tuple[str, ...]:
    """The functions in which two buffers of one call have a byte in common."""
    spans = {
        buffer.name: (place.pool, place.offset, place.offset + buffer.size)
        for buffer, place in zip(plan.problem.buffers, plan.placements)
    }
    found: dict[str, None] = {}
    for call in program.calls:
        here = [spans[name] for name in sorted(call.buffers) if name in spans]
        if any(p == q and a < d and c < b for (p, a, b), (q, c, d) in itertools.combinations(here, 2)):
            found[call.function] = None
    return tuple(found)
