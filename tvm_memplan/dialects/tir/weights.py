"""What it costs to compute a value again, and whether it is the same bits wherever it is computed.

::

    FREE    a copy: loads and casts of integers, with indices that only add and multiply
    LIGHT   a few integer instructions: sums, comparisons, selections, the condition of a padding
    HEAVY   more than that: fixed-point products, divisions, indices that divide
    (None)  not the same bits for sure

Arithmetic on floating-point numbers is never the same for sure: a compiler may contract a product that it sees beside
a sum, and cannot once there is a store between them. Moving and selecting such numbers is exact.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.reader import NotUnderstood
from tvm_memplan.dialects.tir.expressions import call_name, children

_SUMS = (tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max)
_QUOTIENTS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
_CONDITIONS = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE, tir.And, tir.Or, tir.Not)
_LIGHT_CALLS = frozenset(
    {"tir.if_then_else", "tir.likely", "tir.shift_left", "tir.shift_right", "tir.bitwise_and", "tir.bitwise_or"}
)
_HEAVY_CALLS = frozenset({"tir.q_multiply_shift", "tir.q_multiply_shift_per_axis"})


class Weight(IntEnum):
    """The cost of a value; larger is dearer."""

    FREE = 0
    LIGHT = 1
    HEAVY = 2


def weight(value: Any) -> Weight | None:
    """Return the weight of a scalar expression, None where its bits may depend on where it is computed."""
    try:
        return _weight(value)
    except NotUnderstood:
        return None


def _weight(value: Any) -> Weight | None:
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        return Weight.FREE
    if isinstance(value, tir.Var):
        return Weight.FREE if _is_integer(value) else None
    own = _own(value)
    parts = [_weight(child) for child in children(value)]
    if own is None or any(part is None for part in parts):
        return None
    if isinstance(value, tir.BufferLoad):
        # Sums in an index are what every load has.
        return Weight.HEAVY if Weight.HEAVY in parts else Weight.FREE
    return max([own, *(part for part in parts if part is not None)])


def _own(value: Any) -> Weight | None:
    """The weight of the operation at the top."""
    if isinstance(value, tir.BufferLoad):
        return Weight.FREE if "x" not in str(value.dtype) else None
    if isinstance(value, tir.Cast):
        return Weight.FREE if _is_integer(value) and _is_integer(value.value) else None
    if isinstance(value, tir.Select):
        return Weight.LIGHT
    if isinstance(value, _CONDITIONS):
        return Weight.LIGHT if all(_is_integer(child) for child in children(value)) else None
    if isinstance(value, _SUMS):
        return Weight.LIGHT if _is_integer(value) else None
    if isinstance(value, _QUOTIENTS):
        return Weight.HEAVY if _is_integer(value) else None
    if isinstance(value, tir.Call):
        if call_name(value) in _LIGHT_CALLS:
            return Weight.LIGHT
        return Weight.HEAVY if call_name(value) in _HEAVY_CALLS else None
    return None


def _is_integer(value: Any) -> bool:
    kind = tvm.DataType(value.dtype)
    return kind.lanes == 1 and str(value.dtype).startswith(("int", "uint", "bool"))
