"""Our functions as TVM passes, and what they run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm_ffi
from tvm import tirx

from tvm_memplan.dialects.attributes import target_number
from tvm_memplan.errors import MemPlanError

# An error that leaves a pass goes through C++, which keeps its text and its kind, and would make a RuntimeError of
# every kind that it does not know.
for _kind in MemPlanError.__subclasses__():
    tvm_ffi.register_error(f"tvm_memplan.{_kind.__name__}", _kind)


def function_pass(transform: Callable[[Any, Any, Any], Any], name: str) -> Any:
    """A pass that calls `transform(function, module, context)` for every PrimFunc.

    TVM gives a Python *module* pass the caller's own module, which `update_func` would change; a function pass is
    given a copy to write to, and leaves the caller's alone.
    """
    return tirx.transform.prim_func_pass(transform, opt_level=0, name=name)


def is_lowered(function: Any) -> bool:
    """Whether a member of a module is a function that `capture` reads."""
    return isinstance(function, tirx.PrimFunc)


def shared_limit(function: Any) -> int | None:
    """Bytes of shared memory that a block may have on the target that `function` carries, None where none says."""
    return target_number(function, "max_shared_memory_per_block")
