"""XLA's buffer assignment as a plan: the text that ``--xla_dump_to`` writes, with the live ranges it writes beside it.

Two files of one module, ``*-buffer-assignment.txt`` and ``*-live-range.txt`` (XLA's BufferAssignment::ToString and
HloLiveRange::ToString)::

    BufferAssignment:                                                   HloLiveRange (max 30):
    allocation 2: size 4096, preallocated-temp:                           InstructionSequence:
     value: <60 fusion.2 @0> (size=1024,offset=0): f32[8,32]{1,0}           5:fusion.2
                                                                          BufferLiveRange:
                                                                            fusion.2{}:5-7
                                                                          Live ranges at 12 (peak):

Older versions add ``Total bytes used: 14900 (14.6KiB)`` and the uses of all values to the first. What becomes of it:

====================  =============================================================================================
allocation            bytes of one of the pools ``temp``, ``output``, ``parameter`` and ``constant``, the allocations
                      of a kind one behind the other; thread-local ones live on a stack and are left out
value                 a buffer; XLA's ranges count the last use in, ours do not: ``5-7`` is ``[5, 8)``
values of one place   that are alive together are one buffer with aliases (XLA calls it an HloBuffer); where one only
                      begins at the step at which the other ends, XLA computes in place, and so they are a pair
====================  =============================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.check import check_plan
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem, View

ASSIGNMENT = "BufferAssignment:"
_RANGES = "HloLiveRange (max "
_ALLOCATION = re.compile(r"allocation (\d{1,9}): size (\d{1,18})((?:, .*)?):")
_VALUE = re.compile(r" value: <(\d{1,18}) (\S+)((?: \(\w+\))?) @\d+> \(size=(\d{1,18}),offset=(\d{1,18})\): (.*)")
_TOTAL = re.compile(r"Total bytes used: (\d{1,18})\b")
_STEP = re.compile(r"    (\d{1,9}):(.+)")
_LIFE = re.compile(r"    (.+\{[\d,]*\}):(\d{1,9})-(\d{1,9})")
#: Where the values of an allocation go, by the words in its line; the first that is there decides.
_POOLS = {
    "constant": Kind.WEIGHTS,
    "parameter": Kind.INPUT,
    "output": Kind.OUTPUT,
    "temp": Kind.ACTIVATION,
}


class XlaPlan(NamedTuple):
    """A judged plan, and the instruction of every step."""

    plan: Plan
    steps: tuple[str, ...]


@dataclass(frozen=True)
class _Value:
    """A value: where it lies in its pool, and its first and last step, both counted in."""

    name: str
    pool: str
    offset: int
    size: int
    first: int
    last: int


def plan_from_xla(assignment: str, live_ranges: str, sources: tuple[str, str] = ("<text>", "<text>")) -> XlaPlan:
    """Read and judge a buffer assignment.

    Parameters
    ----------
    assignment, live_ranges : str
        The texts of the two files.
    sources : (str, str)
        What messages call them.

    Raises
    ------
    BadInput
        If a text is malformed or cut short, or a value has no live range; the message says where.
    BadPlan
        If values share bytes that the live ranges do not allow to share.
    """
    steps, lives = _read_lives(live_ranges, sources[1])
    values = list(_read_values(assignment, sources[0], lives, len(steps)))
    groups = _groups(values)
    buffers, views, places = [], [], []
    for index, group in enumerate(groups):
        root, *others = group
        spans = _spans(group)
        operator = root.name.split("{")[0]
        buffers.append(
            Buffer(root.name, root.size, spans, kind=_POOLS[root.pool], pools=(root.pool,), operator=operator)
        )
        views += [View(other.name, index, 0, other.size) for other in others]
        places.append(Placement(root.pool, root.offset))
    pools = tuple(Pool(name) for name in _POOLS if any(value.pool == name for value in values))
    problem = Problem(tuple(buffers), pools or (Pool("temp"),), in_place=_pairs(groups), views=tuple(views))
    plan = Plan(problem, tuple(places), "XLA")
    try:
        check_plan(plan)
    except BadPlan as error:
        raise BadPlan(f"{sources[0]}: {error}") from error
    return XlaPlan(plan, steps)


def _read_values(text: str, source: str, lives: dict[str, tuple[int, int]], count: int) -> Iterator[_Value]:
    lines = text.splitlines()
    if not lines or lines[0] != ASSIGNMENT:
        raise BadInput(f"{source}:1: must be {ASSIGNMENT!r}")
    used: dict[str, int] = {}
    total = size = base = 0
    pool: str | None = None
    names: set[str] = set()
    for number, line in enumerate(lines[1:], 2):
        where = f"{source}:{number}"
        if match := _ALLOCATION.fullmatch(line):
            size, pool = int(match[2]), _pool(match[3])
            total += size
            if pool is not None:
                base = used.get(pool, 0)
                used[pool] = base + size
        elif match := _VALUE.fullmatch(line):
            _, name, _, bytes_, offset, _ = match.groups()
            if int(offset) + int(bytes_) > size:
                raise BadInput(f"{where}: {name!r} ends beyond its allocation of {size} bytes")
            key = name if name.endswith("}") else f"{name}{{}}"
            if key in names:
                raise BadInput(f"{where}: {name!r} comes twice")
            names.add(key)
            if pool is None:
                continue
            always = (0, max(0, count - 1)) if pool in ("constant", "parameter") else None
            life = lives.get(key, always)
            if life is None:
                raise BadInput(f"{where}: {name!r} has no live range")
            yield _Value(name, pool, base + int(offset), int(bytes_), *life)
        elif match := _TOTAL.match(line):
            if int(match[1]) != total:
                raise BadInput(f"{where}: the total is {match[1]} bytes, but the allocations above have {total}")
            break
        elif line and line != " reused by buffers of a different color:" and not line.startswith("  value: <"):
            raise BadInput(f"{where}: neither an allocation nor a value: {line[:60]!r}")
    missing = next((name for name in lives if name not in names), None)
    if missing is not None or not text.endswith("\n"):
        what = f"{missing!r} has a live range and no place" if missing else "its last line does not end"
        raise BadInput(f"{source}: the file is cut short or not of the same module: {what}")


def _pool(words: str) -> str | None:
    """Return the pool of an allocation; None for what is on a stack."""
    if ", thread-local" in words:
        return None
    for mark, pool in ((", constant", "constant"), (", parameter ", "parameter"), (", preallocated-temp", "temp")):
        if mark in words:
            return pool
    return "output" if ", maybe-live-out" in words or ", output " in words else "temp"


def _read_lives(text: str, source: str) -> tuple[tuple[str, ...], dict[str, tuple[int, int]]]:
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_RANGES):
        raise BadInput(f"{source}:1: must begin with {_RANGES!r}")
    steps: list[str] = []
    lives: dict[str, tuple[int, int]] = {}
    part = ""
    for number, line in enumerate(lines[1:], 2):
        where = f"{source}:{number}"
        if line.startswith("  Live ranges at "):
            return tuple(steps), lives
        if line in ("  InstructionSequence:", "  BufferLiveRange:"):
            part = line.strip()
        elif part == "InstructionSequence:" and (match := _STEP.fullmatch(line)):
            if int(match[1]) != len(steps):
                raise BadInput(f"{where}: step {match[1]} comes after {len(steps)} others")
            steps.append(match[2])
        elif part == "BufferLiveRange:" and (match := _LIFE.fullmatch(line)):
            first, last = int(match[2]), int(match[3])
            if last < first:
                raise BadInput(f"{where}: the live range {first}-{last} ends before it begins")
            lives[match[1]] = first, last
        else:
            raise BadInput(f"{where}: neither a step nor a live range: {line[:60]!r}")
    raise BadInput(f"{source}: the file is cut short: no line says 'Live ranges at'")


def _groups(values: Sequence[_Value]) -> list[list[_Value]]:
    """Put values of one place together that are alive together for more than a hand-over, the first to live first."""
    places: dict[tuple[str, int, int], list[_Value]] = {}
    for value in values:
        places.setdefault((value.pool, value.offset, value.size), []).append(value)
    groups: list[list[_Value]] = []
    for here in places.values():
        end = -1
        for value in sorted(here, key=lambda value: (value.first, value.last)):
            joins = value.first < end or (value.first == end and value.last == end)
            if joins and end >= 0:
                groups[-1].append(value)
            else:
                groups.append([value])
                end = -1
            end = max(end, value.last)
    return groups


def _spans(group: Sequence[_Value]) -> tuple[LiveRange, ...]:
    return (LiveRange(min(value.first for value in group), max(value.last for value in group) + 1),)


def _pairs(groups: Sequence[Sequence[_Value]]) -> frozenset[tuple[int, int]]:
    """Find who takes over bytes in place: same offset, and the one begins at the step at which the other ends."""
    starts: dict[tuple[str, int, int], list[int]] = {}
    for i, group in enumerate(groups):
        starts.setdefault((group[0].pool, group[0].offset, _spans(group)[0].start), []).append(i)
    pairs = set()
    for j, group in enumerate(groups):
        end = _spans(group)[0].stop - 1
        for i in starts.get((group[0].pool, group[0].offset, end), ()):
            if i != j:
                pairs.add((i, j))
    return frozenset(pairs)
