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
from itertools import count as counted
from math import gcd
from operator import index
from typing import Any

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.elements import ADDRESS_SPACE_BYTES, constant
from tvm_memplan.errors import BadInput


@dataclass(frozen=True, eq=False)
class Unit:
    """A symbolic number, the same at every place of a function; `text` is what the IR prints for it."""

    expr: Any
    text: str


@dataclass(frozen=True)
class Extent:
    """A number of elements: `count` of them, or `count` times `unit`; `count` is None where nothing is known.

    `bounds` are the parameters whose declared upper bounds that rests on.
    """

    count: int | None
    unit: Unit | None = None
    bounds: frozenset[Any] = frozenset()


@dataclass(frozen=True)
class Arithmetic:
    """The parts of TVM's arithmetic that each line has under another name.

    `analyzer` makes an Analyzer, `between` the Range from a first value on with a number of values, `bounds` what an
    Analyzer takes for the lowest and the highest value, `integer` a constant of the type of an expression, `type_of`
    names that type, `variables` lists those of an expression, and `varies` says whether its value may depend on memory
    or on a call.
    """

    analyzer: Callable[[], Any]
    between: Callable[[Any, Any], Any]
    bounds: Callable[[int, int], Any]
    integer: Callable[[Any, int], Any]
    type_of: Callable[[Any], str]
    variables: Callable[[Any], Iterable[Any]]
    varies: Callable[[Any], bool]


# Further than any size; what an Analyzer takes for infinity.
_FAR = (1 << 63) - 1

#: Attribute of a function, by the name of a parameter: the most that it will be.
BOUNDS_ATTRIBUTE = "tir_var_upper_bound"


def declared_bounds(function: Any, name: str, given: Mapping[str, int] | None) -> dict[str, int]:
    """The upper bounds of a function's parameters by name: `given` ones, and its own for the rest.

    Raises
    ------
    BadInput
        When the function's own are no upper bounds.
    """
    own = attribute(function, BOUNDS_ATTRIBUTE)
    return {**checked_bounds(own, f"attribute {BOUNDS_ATTRIBUTE} of function {name!r}"), **(given or {})}


def checked_bounds(bounds: Any, where: str = "upper_bounds") -> dict[str, int]:
    """Return upper bounds as a dict of plain integers.

    Raises
    ------
    BadInput
        When they are no mapping, or one of them is no integer, or negative; `where` is what the message calls them.
    """
    if bounds is None:
        return {}
    if not hasattr(bounds, "items"):
        raise BadInput(f"{where} must map names to integers, got {bounds!r}")
    checked = {}
    for name, bound in bounds.items():
        value = bound.value if type(bound).__name__ == "IntImm" else bound
        if isinstance(value, bool) or not hasattr(value, "__index__") or index(value) < 0:
            raise BadInput(f"{where}: the upper bound of {str(name)!r} must be an integer from 0 on, got {bound!r}")
        checked[str(name)] = index(value)
    return checked


class Extents:
    """What is known of the variables that extents are made of, while a function is read.

    Parameters
    ----------
    arithmetic : Arithmetic
        Of the line.
    parameters : mapping of Var to bool
        Variables that have one value throughout the function, and whether it is sure not to be negative.
    upper_bounds : mapping of str to int
        By the name of a parameter, the most it is declared to be.
    """

    def __init__(self, arithmetic: Arithmetic, parameters: Mapping[Any, bool], upper_bounds: Mapping[str, int]) -> None:
        self.arithmetic = arithmetic
        self.parameters = parameters
        self.declared = {p: min(upper_bounds[p.name], self._largest(p)) for p in parameters if p.name in upper_bounds}
        self.ranges: list[tuple[Any, Any, Any]] = []  # of the loops around: variable, first value, how many
        #: Reasons for which this place may not be reached; a symbolic number is worked out at the function's start.
        self.unsure = 0
        self.units: list[Unit] = []

    def of(self, expr: Any) -> Extent:
        """What is known of an extent."""
        known = constant(expr)
        if known is not None:
            return Extent(known)
        if self.arithmetic.varies(expr):
            return Extent(None)
        names = set(self.arithmetic.variables(expr))
        within = self._within(names)
        if within is None:
            return Extent(None) if self.unsure else self._in_units(expr, names)
        return Extent(self._most(expr), bounds=frozenset(within))

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
            analyzer.update(variable, self.arithmetic.bounds(0, bound))
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
        analyzer = self.arithmetic.analyzer()
        count, rest = _factored(analyzer.canonical_simplify(expr))
        for unit in self.units:
            if self._type(unit.expr) == self._type(rest) and analyzer.can_prove_equal(unit.expr, rest):
                return Extent(count, unit, frozenset(bounded))
        text, taken = str(rest), {unit.text for unit in self.units}
        # Two parameters may have one name.
        titles = (text if n == 1 else f"{text}#{n}" for n in counted(1))
        self.units.append(Unit(rest, next(title for title in titles if title not in taken)))
        return Extent(count, self.units[-1], frozenset(bounded))

    def _at_bounds(self, expr: Any, bounded: Iterable[Any]) -> Any | None:
        """`expr` with its bounded parameters at their bounds, None unless that is its largest value."""
        at, proof = self.arithmetic.analyzer(), self.arithmetic.analyzer()
        for parameter, from_zero in self.parameters.items():
            low = 0 if from_zero or parameter in self.declared else -_FAR
            proof.update(parameter, self.arithmetic.bounds(low, self.declared.get(parameter, _FAR)))
        for parameter in bounded:
            at.bind(parameter, self.arithmetic.integer(parameter, self.declared[parameter]))
        largest = at.simplify(expr)
        return largest if proof.can_prove(largest - expr >= 0) else None

    def _largest(self, parameter: Any) -> int:
        return (1 << 31) - 1 if self._type(parameter) == "int32" else _FAR

    def _type(self, expr: Any) -> str:
        return self.arithmetic.type_of(expr)


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
