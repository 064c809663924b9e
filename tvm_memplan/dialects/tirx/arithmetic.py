"""TVM's arithmetic under the names of TVM 0.27, and the parameters that sizes may be made of."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import ir, sym, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.extents import Arithmetic
from tvm_memplan.dialects.tirx.expressions import has_load


def variables(expr: Any) -> tuple[Any, ...]:
    """The variables in an expression, each once."""
    found: dict[Any, None] = {}
    tvm_ffi.structural_walk(expr, (ir.Var, lambda var: found.setdefault(var)))
    return tuple(found)


ARITHMETIC = Arithmetic(
    analyzer=sym.Analyzer,
    between=ir.Range.from_min_extent,
    bounds=sym.ConstIntBound,
    integer=lambda like, value: tirx.IntImm(str(like.ty.dtype), value),
    type_of=lambda expr: str(expr.ty.dtype),
    variables=variables,
    varies=has_load,
)


def parameters(function: Any) -> dict[Any, bool]:
    """The integers that have a value when `function` begins, and whether they are of a shape, and so not negative."""
    found: dict[Any, bool] = {}
    for parameter in function.params:
        shape = parameter.ty.shape if is_buffer_var(parameter) else ()
        for variable in (parameter, *(v for extent in shape for v in variables(extent))):
            if isinstance(variable.ty, ir.PrimType) and str(variable.ty.dtype) in ("int32", "int64"):
                found[variable] = found.get(variable, False) or variable is not parameter
    return found
