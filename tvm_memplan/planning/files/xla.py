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

from collections.abc import Sequence
from typing import NamedTuple

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.files.xla_text import Value, read_lives, read_values
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem, View

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
    steps, lives = read_lives(live_ranges, sources[1])
    values = list(read_values(assignment, sources[0], lives, len(steps)))
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


def _groups(values: Sequence[Value]) -> list[list[Value]]:
    """Put values of one place together that are alive together for more than a hand-over, the first to live first."""
    places: dict[tuple[str, int, int], list[Value]] = {}
    for value in values:
        places.setdefault((value.pool, value.offset, value.size), []).append(value)
    groups: list[list[Value]] = []
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


def _spans(group: Sequence[Value]) -> tuple[LiveRange, ...]:
    return (LiveRange(min(value.first for value in group), max(value.last for value in group) + 1),)


def _pairs(groups: Sequence[Sequence[Value]]) -> frozenset[tuple[int, int]]:
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
