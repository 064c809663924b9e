"""Positions in a buffer as sums over loops, from the index expressions of TIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def affine(index: Any, loops: Mapping[Any, tuple[str, int]]) -> tuple[int, tuple[tuple[str, int], ...], int] | None:
    """Take an element index apart.

    Parameters
    ----------
    index : PrimExpr
        A scalar index, or a ramp of consecutive ones.
    loops : mapping of Var to (str, int)
        For each loop variable around it, the loop's name and its first value.

    Returns
    -------
    (int, tuple of (str, int), int) or None
        Constant, terms and width as `tvm_memplan.planning.trace.Elements` has them; None when the index is anything but
        a constant plus constant multiples of the loop variables.
    """
    from tvm import arith, tir

    width = 1
    if isinstance(index, tir.Ramp):
        # The number of lanes is an expression for vectors whose length only the machine knows.
        if not all(isinstance(part, tir.IntImm) for part in (index.stride, index.lanes)) or index.stride.value != 1:
            return None
        index, width = index.base, int(index.lanes.value)
    if not index.dtype.startswith("int") or "x" in index.dtype:
        return None
    if isinstance(index, tir.IntImm):
        return int(index.value), (), width
    variables = list(loops)
    parts = arith.detect_linear_equation(arith.Analyzer().simplify(index), variables)
    if len(parts) != len(variables) + 1 or not all(isinstance(part, tir.IntImm) for part in parts):
        return None
    constant = int(parts[-1].value)
    terms: list[tuple[str, int]] = []
    for variable, part in zip(variables, parts):
        name, first = loops[variable]
        factor = int(part.value)
        constant += factor * first
        if factor:
            terms.append((name, factor))
    return constant, tuple(sorted(terms)), width
