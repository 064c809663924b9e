"""Our functions as TVM passes, and what they run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.attributes import target_number


def function_pass(transform: Callable[[Any, Any, Any], Any], name: str) -> Any:
    """A pass that calls `transform(function, module, context)` for every PrimFunc."""
    return tir.transform.prim_func_pass(transform, opt_level=0, name=name)


def synchronised(passes: Sequence[Any]) -> list[Any]:
    """`passes` on shared memory, behind ThreadSync, and undone for a function on which TVM could not run it again."""
    sync = [tir.transform.ThreadSync("shared"), tir.transform.ThreadSync("shared.dyn")]

    def transform(function: Any, _module: Any, _context: Any) -> Any:
        alone = tvm.IRModule({"function": function})
        made = tvm.transform.Sequential(list(passes))(alone)
        try:
            tvm.transform.Sequential(sync)(made)
        except tvm.TVMError:
            return function
        (result,) = made.functions.values()
        return result

    return [*sync, function_pass(transform, "tvm_memplan.SharedMemory")]


def is_lowered(function: Any) -> bool:
    """Whether a member of a module is a function that `capture` reads."""
    return isinstance(function, tir.PrimFunc)


def shared_limit(function: Any) -> int | None:
    """Bytes of shared memory that a block may have on the target that `function` carries, None where none says."""
    return target_number(function, "max_shared_memory_per_block")
