"""Extents that are not constants: the most that they can be, or how many of a common unit they are.

An allocation inside a loop may have a size that depends on the loop; the most it can be is found from the ranges of
the loops around it. A size that depends on a parameter of the function has a most when somebody declared one, which
then has to be checked where the function begins. What is left is symbolic: ``n`` and ``2 * n`` are one and two of the
unit ``n``, so that buffers of one unit can be planned among themselves, offsets being multiples of the unit as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import Any

from tvm_memplan.dialects.elements import ADDRESS_SPACE_BYTES, constant


@dataclass(frozen=True, eq=False)
class Unit:
    """A symbolic number, the same at every place of a function; `text` is what the IR prints for it."""

    expr: Any
    text: str


@dataclass(frozen=True)
class Extent:
    """A number of elements: `count` of them, or `count` times `unit`; `count` is None where nothing is known."""

    count: int | None
    unit: Unit | None = None


@dataclass(frozen=True)
class Arithmetic:
    """The parts of TVM's arithmetic that each line has under another name.

    `analyzer` makes an Analyzer, `between` the Range from a first value on with a number of values, `integer` a
    constant of the type of an expression, `type_of` names that type, and `variables` lists those of an expression.
    """

    analyzer: Callable[[], Any]
    between: Callable[[Any, Any], Any]
    integer: Callable[[Any, int], Any]
    type_of: Callable[[Any], str]
    variables: Callable[[Any], Iterable[Any]]


#: Attribute of a function, by the name of a parameter: the most that it will be.
BOUNDS_ATTRIBUTE = "tir_var_upper_bound"


def declared_bounds(function: Any) -> dict[str, int]:
    """The upper bounds that a function declares for its parameters, by name."""
    attributes = function.attrs
    if attributes is None or BOUNDS_ATTRIBUTE not in attributes:
        return {}
    return {str(name): int(bound) for name, bound in attributes[BOUNDS_ATTRIBUTE].items()}


class Extents:
    """What is known of the variables that extents are made of, while a function is read.

    Parameters
    ----------
    arithmetic : Arithmetic
        Of the line.
    parameters : iterable of Var
        Variables that have one value throughout the function and none that is negative.
    upper_bounds : mapping of str to int
        By the name of a parameter, the most it is declared to be.
    """

    def __init__(self, arithmetic: Arithmetic, parameters: Iterable[Any], upper_bounds: Mapping[str, int]) -> None:
        self.arithmetic = arithmetic
        self.parameters = list(parameters)
        self.declared = {p: upper_bounds[p.name] for p in self.parameters if p.name in upper_bounds}
        self.ranges: list[tuple[Any, Any, Any]] = []  # of the loops around: variable, first value, how many
        #: Declared bounds that a size rests on, by parameter: to be checked when the function runs.
        self.used: dict[Any, int] = {}
        self.units: list[Unit] = []

    def of(self, expr: Any) -> Extent:
        """What is known of an extent."""
        known = constant(expr)
        if known is not None:
            return Extent(known)
        names = set(self.arithmetic.variables(expr))
        within = self._within(names)
        if within is None:
            return self._in_units(expr, names)
        self._rest_on(within)
        return Extent(self._most(expr))

    def _within(self, names: Iterable[Any]) -> set[Any] | None:
        """The parameters that bound `names`, which are declared or count loops; None when one of them is neither.

        (That an integer of 32 bits is below ``2 ** 31`` is no bound.)
        """
        loops = {variable: (first, count) for variable, first, count in self.ranges}
        found, waiting = set[Any](), list(names)
        while waiting:
            name = waiting.pop()
            if name in self.declared:
                found.add(name)
            elif name in loops:
                waiting.extend(v for part in loops[name] for v in self.arithmetic.variables(part))
            else:
                return None
        return found

    def _most(self, expr: Any) -> int | None:
        analyzer = self.arithmetic.analyzer()
        for variable, bound in self.declared.items():
            zero, count = self.arithmetic.integer(variable, 0), self.arithmetic.integer(variable, bound + 1)
            analyzer.bind(variable, self.arithmetic.between(zero, count))
        for variable, first, count in self.ranges:
            analyzer.bind(variable, self.arithmetic.between(first, count))
        most = int(analyzer.const_int_bound(expr).max_value)
        return most if most < ADDRESS_SPACE_BYTES else None

    def _in_units(self, expr: Any, names: set[Any]) -> Extent:
        if not names <= set(self.parameters):
            return Extent(None)
        bounded = names & set(self.declared)
        if bounded:
            within = self._at_bounds(expr, bounded)
            if within is None:
                return Extent(None)
            expr = within
            self._rest_on(bounded)
        analyzer = self.arithmetic.analyzer()
        count, rest = _factored(analyzer.canonical_simplify(expr))
        for unit in self.units:
            if self._type(unit.expr) == self._type(rest) and analyzer.can_prove_equal(unit.expr, rest):
                return Extent(count, unit)
        self.units.append(Unit(rest, str(rest)))
        return Extent(count, self.units[-1])

    def _at_bounds(self, expr: Any, bounded: Iterable[Any]) -> Any | None:
        """`expr` with its bounded parameters at their bounds, None unless that is its largest value."""
        at, proof = self.arithmetic.analyzer(), self.arithmetic.analyzer()
        for parameter in self.parameters:
            zero = self.arithmetic.integer(parameter, 0)
            most = self.declared.get(parameter, (1 << 31) - 1)
            proof.bind(parameter, self.arithmetic.between(zero, self.arithmetic.integer(parameter, most + 1)))
        for parameter in bounded:
            at.bind(parameter, self.arithmetic.integer(parameter, self.declared[parameter]))
        largest = at.simplify(expr)
        return largest if proof.can_prove(largest - expr >= 0) else None

    def _type(self, expr: Any) -> str:
        return self.arithmetic.type_of(expr)

    def _rest_on(self, names: Iterable[Any]) -> None:
        self.used.update((name, self.declared[name]) for name in names)


def _factored(expr: Any) -> tuple[int, Any]:
    """The largest constant factor of a sum of products, and what is left when it is divided out."""
    terms = list(_terms(expr, 1))
    factor = reduce(gcd, (count for count, _ in terms))
    if factor <= 1:
        return 1, expr
    parts = [count // factor if rest is None else rest * (count // factor) for count, rest in terms]
    return factor, reduce(lambda a, b: a + b, parts[1:], parts[0])


def _terms(expr: Any, sign: int) -> Iterable[tuple[int, Any]]:
    """The constant factor and the rest of each addend; the rest is None for a constant."""
    kind = type(expr).__name__
    if kind in ("Add", "Sub"):
        yield from _terms(expr.a, sign)
        yield from _terms(expr.b, -sign if kind == "Sub" else sign)
    elif kind == "Mul" and constant(expr.b) is not None:
        yield sign * int(expr.b.value), expr.a
    elif constant(expr) is not None:
        yield sign * int(expr.value), None
    else:
        yield sign, expr
