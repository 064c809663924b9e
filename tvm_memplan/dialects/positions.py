"""Which elements the loads and stores of a function touch, as the trace has it; the same on both lines.

The loops of a function get names that are unique in it, and scalar lets of sums over loops are looked through. What
an index is not understood for may touch all of its buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tvm_memplan.dialects.affine import LANE, Counters, Sum, affine
from tvm_memplan.dialects.elements import constant
from tvm_memplan.planning.trace import Branch, Elements, Loop, Node, Step

# A vector with a stride is told lane by lane, up to so many.
_MOST_LANES = 64


@dataclass(frozen=True)
class Entered:
    """A loop that is being read: its name and what its variable stood for before."""

    name: str
    extent: int | None
    variable: Any
    before: Sum | None


class Positions:
    """What is known of the variables in scope while a function is read, in order."""

    def __init__(self, type_of: Callable[[Any], str]) -> None:
        self.type_of = type_of
        self.counters = Counters()
        self.values: dict[Any, Sum] = {}
        self.bound: set[Any] = set()
        self.loops = 0

    def enter(self, variable: Any, first: Any, extent: Any, stride: Any = None) -> Entered:
        """A loop begins, whose variable counts from `first`, `extent` times if `stride` is None or 1."""
        self.loops += 1
        name, start, count = f"{variable.name}#{self.loops}", constant(first), constant(extent)
        entered = Entered(name, count, variable, self.values.pop(variable, None))
        if count is not None:
            self.counters.add(name, max(count, 1))
            known = start is not None and (stride is None or constant(stride) == 1)
            if known and self.type_of(variable) in ("int32", "int64"):
                self.values[variable] = Sum(start or 0, {name: 1})
        return entered

    def leave(self, loop: Entered) -> None:
        """The loop ends."""
        self.values.pop(loop.variable, None)
        if loop.before is not None:
            self.values[loop.variable] = loop.before

    def bind(self, variable: Any, value: Any) -> None:
        """A scalar variable is bound to a value."""
        found = affine(value, self.values, self.counters, self.type_of)
        if variable in self.bound or found is None:
            self.values.pop(variable, None)  # of two bindings, it would have to be known which one a use means
        else:
            self.values[variable] = found
        self.bound.add(variable)

    def elements(
        self, buffer: str, write: bool, dtype: str, index: Any, shift: Any | None = None
    ) -> tuple[Elements, ...] | None:
        """What an access at `index` touches, `shift` elements behind where it is counted from; None if not known."""
        self.counters.extents.pop(LANE, None)
        parts = [affine(part, self.values, self.counters, self.type_of) for part in (index, shift) if part is not None]
        place, terms = 0, dict[str, int]()
        for part in parts:
            if part is None:
                return None
            place += part.constant
            for name, factor in part.terms.items():
                terms[name] = terms.get(name, 0) + factor
        stride, lanes = terms.pop(LANE, 0), self.counters.extents.get(LANE, 1)
        fixed = tuple(sorted((name, factor) for name, factor in terms.items() if factor))
        if stride in (0, 1):
            return (Elements(buffer, write, dtype, place, fixed, lanes if stride else 1),)
        if lanes > _MOST_LANES:
            return None
        return tuple(Elements(buffer, write, dtype, place + stride * lane, fixed) for lane in range(lanes))

    # -- loops as their digits -------------------------------------------------------------------------------------

    def in_digits(self, loop: Entered, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """`body` with every index counted in the digits that `looped` makes loops of."""
        mine = {name: digit for name, digit in self.counters.digits.items() if digit[0] == loop.name}
        if len(mine) < 2:
            return body
        chain = self._chain(loop)
        meaning = dict[str, dict[str, int] | None]()
        for name, (_, place, base) in mine.items():
            end = None if base is None else place * base
            parts = {c.name: c.place // place for c in chain if c.place >= place and (end is None or c.place < end)}
            meaning[name] = parts if len(chain) > 1 or name == loop.name else None
        return tuple(_retold(node, meaning) for node in body)

    def looped(self, loop: Entered, body: tuple[Node, ...], at_least_once: bool, parallel: bool) -> Node:
        """The loop around `body`, which is in digits, as one `Loop` for each digit."""
        inner, *outer = self._chain(loop)
        made = Loop(body, at_least_once, inner.name, inner.extent, parallel)
        for digit in outer:
            made = Loop((made,), at_least_once, digit.name, digit.extent, parallel)
        return made

    def _chain(self, loop: Entered) -> list[_Digit]:
        """The digits that add up to the loop, lowest first; just the loop where they do not fit into each other."""
        mine = [digit for digit in self.counters.digits.values() if digit[0] == loop.name]
        places = sorted({place * (base or 1) for _, place, base in mine} | {place for _, place, _ in mine})
        if loop.extent is None or len(places) < 2 or any(high % low for low, high in pairwise(places)):
            return [_Digit(loop.name, 1, loop.extent)]
        ends = [*places[1:], places[-1] * -(-loop.extent // places[-1])]
        names = [f"{loop.name}/{low}%{high // low}" for low, high in pairwise(places)]
        names.append(f"{loop.name}/{places[-1]}")
        return [_Digit(name, low, high // low) for name, low, high in zip(names, places, ends)]


@dataclass(frozen=True)
class _Digit:
    """A loop over a digit: its name, how much one round of it counts, and how many there are."""

    name: str
    place: int
    extent: int | None


def _retold(node: Node, meaning: Mapping[str, Mapping[str, int] | None]) -> Node:
    """`node` with terms replaced by what they mean; what has no meaning is not told."""
    if isinstance(node, Loop):
        return replace(node, body=tuple(_retold(inner, meaning) for inner in node.body))
    if isinstance(node, Branch):
        return Branch(*(tuple(_retold(inner, meaning) for inner in arm) for arm in (node.then, node.orelse)))
    if not isinstance(node, Step):
        return node
    untold = {e.buffer for e in node.elements if any(meaning.get(name, {}) is None for name, _ in e.terms)}
    return replace(node, elements=tuple(_moved(e, meaning) for e in node.elements if e.buffer not in untold))


def _moved(elements: Elements, meaning: Mapping[str, Mapping[str, int] | None]) -> Elements:
    terms: dict[str, int] = {}
    for name, factor in elements.terms:
        for counter, places in (meaning.get(name) or {name: 1}).items():
            terms[counter] = terms.get(counter, 0) + factor * places
    return replace(elements, terms=tuple(sorted((name, factor) for name, factor in terms.items() if factor)))
