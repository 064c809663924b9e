"""Our functions as TVM passes, and what they run on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tir


def function_pass(transform: Callable[[Any, Any, Any], Any], name: str) -> Any:
    """A pass that calls `transform(function, module, context)` for every PrimFunc."""
    return tir.transform.prim_func_pass(transform, opt_level=0, name=name)


def is_lowered(function: Any) -> bool:
    """Whether a member of a module is a function that `capture` reads."""
    return isinstance(function, tir.PrimFunc)
