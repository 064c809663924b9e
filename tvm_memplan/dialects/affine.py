"""Index expressions as sums over loops, on both lines: the names of the nodes are the same.

An index becomes a constant plus multiples of *counters*. A counter is a loop, counted from 0, or a digit of one: where
``i // 8`` and ``i % 8`` index a buffer, the loop ``i`` is taken for two loops, one in the other,

    i = 8 * (i // 8) + i % 8                        digit (8, top)     and     digit (1, 8)

so that loops which a schedule has fused are understood like the ones they were made of. The digit ``(p, q)`` of a
count ``i`` is ``i // p % q``.

Integers of 32 and 64 bits only, and only as long as 32 bits hold every value in between, so that nothing wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.elements import constant

#: The counter of the lanes of a vector; an expression has at most one length.
LANE = "lane"
_MOST = 2**31
_INTEGERS = ("int32", "int64")


@dataclass(frozen=True)
class Sum:
    """``constant + factor * counter + ...``; no factor is 0."""

    constant: int
    terms: Mapping[str, int]


class Counters:
    """How far each counter counts, and which digits were made of it."""

    def __init__(self) -> None:
        self.extents: dict[str, int] = {}
        #: digit -> the loop, ``p`` and ``q`` (None at the top)
        self.digits: dict[str, tuple[str, int, int | None]] = {}

    def add(self, loop: str, extent: int) -> None:
        """A loop that runs `extent` times."""
        self.extents[loop], self.digits[loop] = extent, (loop, 1, None)

    def bounds(self, value: Sum) -> tuple[int, int]:
        """The lowest and highest value of a sum."""
        ends = [factor * (self.extents[name] - 1) for name, factor in value.terms.items()]
        return value.constant + sum(min(end, 0) for end in ends), value.constant + sum(max(end, 0) for end in ends)

    def split(self, name: str, by: int) -> tuple[str, str] | None:
        """The digits ``name // by`` and ``name % by``, None when they are none of the loop's."""
        if name not in self.digits:
            return None
        loop, place, base = self.digits[name]
        if base is not None and base % by:
            return None
        high = self._digit(loop, place * by, None if base is None else base // by, -(-self.extents[name] // by))
        return high, self._digit(loop, place, by, by)

    def _digit(self, loop: str, place: int, base: int | None, extent: int) -> str:
        name = f"{loop}/{place}" + ("" if base is None else f"%{base}")
        self.digits[name], self.extents[name] = (loop, place, base), extent
        return name


def affine(index: Any, values: Mapping[Any, Sum], counters: Counters, type_of: Callable[[Any], str]) -> Sum | None:
    """Take an index apart.

    Parameters
    ----------
    index : PrimExpr
        A scalar or a vector of indices.
    values : mapping of Var to Sum
        What is known of variables: loops, and lets of such sums.
    counters : Counters
        Of the loops around; digits are added to it as they turn up.
    type_of : callable
        The type of an expression, as text.

    Returns
    -------
    Sum or None
        None when the index is not such a sum.
    """
    try:
        return _Sums(values, counters, type_of).of(index)
    except _NoSum:
        return None


class _NoSum(Exception):
    """An expression that is no sum over counters."""


class _Sums:
    def __init__(self, values: Mapping[Any, Sum], counters: Counters, type_of: Callable[[Any], str]) -> None:
        self.values = values
        self.counters = counters
        self.type_of = type_of

    def of(self, expr: Any) -> Sum:
        read = getattr(self, f"_{type(expr).__name__}", None)
        if read is None:
            raise _NoSum
        found: Sum = read(expr)
        low, high = self.counters.bounds(found)
        if max(-low, high) >= _MOST:
            raise _NoSum
        return found

    def _IntImm(self, expr: Any) -> Sum:
        return Sum(int(expr.value), {})

    def _Var(self, expr: Any) -> Sum:
        if expr not in self.values:
            raise _NoSum
        return self.values[expr]

    _SizeVar = _Var

    def _Add(self, expr: Any) -> Sum:
        return _plus(self.of(expr.a), self.of(expr.b))

    def _Sub(self, expr: Any) -> Sum:
        return _plus(self.of(expr.a), _times(self.of(expr.b), -1))

    def _Mul(self, expr: Any) -> Sum:
        a, b = self.of(expr.a), self.of(expr.b)
        if a.terms and b.terms:
            raise _NoSum
        return _times(a, b.constant) if not b.terms else _times(b, a.constant)

    def _Cast(self, expr: Any) -> Sum:
        if self.type_of(expr).partition("x")[0] not in _INTEGERS:
            raise _NoSum
        return self.of(expr.value)

    def _Broadcast(self, expr: Any) -> Sum:
        return self.of(expr.value)

    def _Ramp(self, expr: Any) -> Sum:
        # The number of lanes is an expression for vectors whose length only the machine knows.
        lanes = expr.lanes if isinstance(expr.lanes, int) else constant(expr.lanes)
        stride = self.of(expr.stride)
        if lanes is None or stride.terms or self.counters.extents.setdefault(LANE, lanes) != lanes:
            raise _NoSum
        return _plus(self.of(expr.base), _times(Sum(0, {LANE: 1}), stride.constant))

    def _FloorDiv(self, expr: Any) -> Sum:
        return self._divided(expr)[0]

    def _FloorMod(self, expr: Any) -> Sum:
        return self._divided(expr)[1]

    def _Div(self, expr: Any) -> Sum:
        return self._divided(expr, towards_zero=True)[0]

    def _Mod(self, expr: Any) -> Sum:
        return self._divided(expr, towards_zero=True)[1]

    def _divided(self, expr: Any, towards_zero: bool = False) -> tuple[Sum, Sum]:
        """Quotient and remainder by a positive constant."""
        value, by = self.of(expr.a), self.of(expr.b)
        divisor = by.constant
        if by.terms or divisor < 1 or (towards_zero and self.counters.bounds(value)[0] < 0):
            raise _NoSum
        whole = Sum(value.constant // divisor, {n: f // divisor for n, f in value.terms.items() if f % divisor == 0})
        rest = Sum(value.constant % divisor, {n: f for n, f in value.terms.items() if f % divisor})
        low, high = self.counters.bounds(rest)
        if low // divisor == high // divisor:
            more = low // divisor
            return _plus(whole, Sum(more, {})), _plus(rest, Sum(-more * divisor, {}))
        # One counter may go beyond: rest = factor * counter + less, with 0 <= less < factor and factor | divisor.
        name, factor = max(rest.terms.items(), key=lambda term: term[1])
        less = Sum(rest.constant, {n: f for n, f in rest.terms.items() if n != name})
        low, high = self.counters.bounds(less)
        if factor < 1 or divisor % factor or low < 0 or high >= factor:
            raise _NoSum
        digits = self.counters.split(name, divisor // factor)
        if digits is None:
            raise _NoSum
        upper, lower = digits
        return _plus(whole, Sum(0, {upper: 1})), _plus(Sum(0, {lower: factor}), less)


def _plus(a: Sum, b: Sum) -> Sum:
    terms = dict(a.terms)
    for name, factor in b.terms.items():
        terms[name] = terms.get(name, 0) + factor
    return Sum(a.constant + b.constant, {name: factor for name, factor in terms.items() if factor})


def _times(value: Sum, factor: int) -> Sum:
    return Sum(value.constant * factor, {n: f * factor for n, f in value.terms.items() if factor})
