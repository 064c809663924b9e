"""Is one access over and done with, element by element, before a write comes to the same place?

Two accesses at known elements stand in some loops together (*both*) and in some alone. A *round* is one way to count
all loops. Say the old access happens in round ``i`` and the write in round ``k``; what must not be is

    same element  and  the write comes first.

The loops that both stand in are looked at from the outside in. Either all of them count alike in ``i`` and ``k``, and
the order in the program decides; or they agree in the first few, and in the next one the write counts lower (in a
loop whose rounds have no order: higher or lower). For each of these cases the distance of the two accesses,

    constant + coefficient * unknown + coefficient * unknown + ...        each unknown an integer from a known range,

is searched for a value at which they overlap. The search is complete (it takes the largest coefficient first and
tries only the values that the rest can still make up for), and what is too long to search counts as found. So
"precedes" is proved, never guessed; branch conditions are not looked at, as if every round could run, except that the
two arms of one branch never run in the same round.

That no dependence leads from a write to an older access in a later round is what statement-wise array contraction asks
for; the cases are those of the classic loop-carried dependence tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import gcd, inf

from tvm_memplan.planning.trace import Elements

# How many values the search may try before it gives up; real accesses take fewer than ten.
_MOST_TRIED = 2000


@dataclass(frozen=True)
class Round:
    """One loop at one place of the trace; two loops of one name are two of these."""

    number: int
    name: str
    extent: int | None
    parallel: bool = False

    @property
    def last(self) -> float:
        """The highest count, infinite where it is not known."""
        return inf if self.extent is None else self.extent - 1


@dataclass(frozen=True)
class Access:
    """A step's access to a buffer; `elements` is None when it may touch all of it.

    `arms` are the branches it stands in: a number for the branch, and which of its two bodies.
    """

    step: int
    write: bool
    loops: tuple[Round, ...]
    elements: Elements | None
    arms: tuple[tuple[int, bool], ...] = ()


#: An unknown of the distance: its coefficient, and the lowest and highest value it may take.
Unknown = tuple[int, float, float]


def precedes(old: Access, write: Access, around: AbstractSet[Round]) -> bool:
    """Whether, element by element, `old` is over and done with before `write` comes, if it ever comes there.

    Parameters
    ----------
    old, write : Access
        To two buffers that would start at one place.
    around : set of Round
        Loops in which both buffers are new in each round, so that only accesses of one and the same round count.
    """
    both = [loop for loop, other in zip(old.loops, write.loops) if loop == other]
    moving = [loop for loop in both if loop not in around and (loop.extent is None or loop.extent > 1)]
    one, two = old.elements, write.elements
    alike = one is not None and two is not None and one.dtype == two.dtype
    ordered = (
        old.step < write.step
        # A store reads all it needs before it writes; of a call one cannot know.
        or (old.step == write.step and not old.write and alike)
        or any((branch, not arm) in write.arms for branch, arm in old.arms)
    )
    if not moving and ordered:
        return True
    if one is None or two is None or one.dtype != two.dtype:
        return False
    cases = [(level, sign) for level, loop in enumerate(moving) for sign in ((1, -1) if loop.parallel else (1,))]
    if not ordered:
        cases.append((len(moving), 0))
    return not any(_overlap(old, write, moving, level, sign) for level, sign in cases)


def _overlap(old: Access, write: Access, moving: Sequence[Round], level: int, sign: int) -> bool:
    """Whether the two may touch a common element in rounds that first differ in loop `level` of `moving`.

    There `old` counts higher if `sign` is 1, and lower if it is -1; a level behind the last means that all agree.
    """
    one, two = old.elements, write.elements
    assert one is not None and two is not None
    a, b = _coefficients(old), _coefficients(write)
    if a is None or b is None:
        return True
    unknowns: list[Unknown] = []
    differing = moving[level] if level < len(moving) else None
    later = moving[level + 1 :]
    for key in {*a, *b}:
        x, y = a.get(key, 0), b.get(key, 0)
        if not isinstance(key, Round):
            unknowns.append((x - y, -inf, inf))  # a loop outside of what is looked at: the same in both
        elif key == differing:
            unknowns += [(x, 1, key.last) if sign > 0 else (x, -key.last, -1), (x - y, 0, key.last)]
        elif key in later and x == y:
            unknowns.append((x, -key.last, key.last))
        elif key in later or key not in old.loops or key not in write.loops:
            unknowns += [(x, 0, key.last), (-y, 0, key.last)]
        else:
            unknowns.append((x - y, 0, key.last))
    distance = one.constant - two.constant
    return _reaches(1 - one.width - distance, two.width - 1 - distance, unknowns)


def _coefficients(access: Access) -> dict[Round | str, int] | None:
    """By how much each loop moves the access; None when two loops around it have one name."""
    assert access.elements is not None
    by_name = {loop.name: loop for loop in access.loops if loop.name}
    if len(by_name) < sum(bool(loop.name) for loop in access.loops):
        return None
    return {by_name.get(name, name): factor for name, factor in access.elements.terms}


def _reaches(low: int, high: int, unknowns: Iterable[Unknown]) -> bool:
    """Whether some values of the unknowns add up to a number from `low` to `high`; True when that takes too long."""
    counted: dict[int, int] = {}  # coefficient, made positive -> how far its unknown goes from 0
    up: list[int] = []  # coefficients of unknowns from 0 on without an end
    down: list[int] = []
    for factor, least, most in unknowns:
        if factor == 0:
            continue
        if least > most:
            return False  # a loop that never runs
        if least == -inf and most == inf:
            up.append(abs(factor))
            down.append(abs(factor))
            continue
        # Counted from the end that there is; from that of the lower products where there are two.
        end = int(most if least == -inf or (most < inf and factor < 0) else least)
        low, high = low - factor * end, high - factor * end
        if least == -inf or most == inf:
            (up if (factor > 0) == (most == inf) else down).append(abs(factor))
        else:
            counted[abs(factor)] = counted.get(abs(factor), 0) + int(most - least)
    if up and down:
        step = gcd(*up, *down, *counted)
        return low <= high // step * step
    if down:
        # Turned round, with what has two ends counted from the other one.
        whole = sum(factor * most for factor, most in counted.items())
        low, high, up = whole - high, whole - low, down
    for factor in up:
        # Nothing takes away from it again.
        counted[factor] = counted.get(factor, 0) + max(high, 0) // factor
    return _search(low, high, sorted(counted.items(), reverse=True), iter(range(_MOST_TRIED)))


def _search(low: int, high: int, terms: list[tuple[int, int]], tries: Iterator[int]) -> bool:
    if low <= 0 <= high:
        return True
    if not terms or high < 0:
        return False
    step = gcd(*(factor for factor, _ in terms))
    if high // step * step < low:
        return False
    if next(tries, None) is None:
        return True
    (factor, most), *rest = terms
    further = sum(f * n for f, n in rest)
    first = max(0, -((further - low) // factor))
    return any(
        _search(low - factor * value, high - factor * value, rest, tries)
        for value in range(first, min(most, high // factor) + 1)
    )
