"""TVM's arithmetic under the names of TVM 0.19, and the parameters that sizes may be made of."""

from __future__ import annotations

from typing import Any

from tvm import arith, ir, tir

from tvm_memplan.dialects.extents import Arithmetic
from tvm_memplan.dialects.tir.expressions import has_load


def _variables(expr: Any) -> list[Any]:
    found: list[Any] = []
    tir.stmt_functor.post_order_visit(expr, lambda node: found.append(node) if isinstance(node, tir.Var) else None)
    return found


ARITHMETIC = Arithmetic(
    analyzer=arith.Analyzer,
    between=ir.Range.from_min_extent,
    bounds=arith.ConstIntBound,
    integer=lambda like, value: tir.IntImm(like.dtype, value),
    type_of=lambda expr: str(expr.dtype),
    variables=_variables,
    varies=has_load,
)


def parameters(function: Any) -> dict[Any, bool]:
    """The integers that have a value when `function` begins, and whether they are of a shape, and so not negative."""
    found: dict[Any, bool] = {}
    for parameter in function.params:
        shape = function.buffer_map[parameter].shape if parameter in function.buffer_map else ()
        for variable in (parameter, *(v for extent in shape for v in _variables(extent))):
            if variable.dtype in ("int32", "int64"):
                found[variable] = found.get(variable, False) or variable is not parameter
    return found
