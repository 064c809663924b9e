"""The variables that the shapes of a function's parameters define, and their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import ir, relax

from tvm_memplan.dialects.extents import checked_bounds, declared_bounds
from tvm_memplan.errors import BadInput


def shape_variables(function: Any) -> dict[str, Any]:
    """The variables that the shapes of a function's parameters define, by name."""
    return {str(v.name): v for param in function.params for v in _shape_variables(param.ty)}


def upper_bounds(function: Any, name: str, given: Mapping[str, int]) -> dict[Any, int]:
    """The upper bound of each variable that has one: `given`, or declared as ``tir_var_upper_bound``.

    Raises
    ------
    BadInput
        A bound is no integer, or below 1.
    """
    named = declared_bounds(function, name, checked_bounds(given, "bounds"))
    for var, most in named.items():
        if most < 1:
            raise BadInput(f"function {name!r}: the upper bound of {var!r} must be 1 or more, got {most}")
    return {v: named[var] for var, v in shape_variables(function).items() if var in named}


def _shape_variables(kind: Any) -> tuple[Any, ...]:
    """The variables that stand alone in a dimension somewhere in a type: a caller's shapes say what they are."""
    if isinstance(kind, ir.TupleType):
        return tuple(v for part in kind.fields for v in _shape_variables(part))
    dims: Any = ()
    if isinstance(kind, relax.TensorType) and isinstance(kind.shape, relax.ShapeExpr):
        dims = kind.shape
    elif isinstance(kind, relax.ShapeType) and kind.values is not None:
        dims = kind.values
    return tuple(dim for dim in dims if isinstance(dim, ir.Var))
