"""Slots: buffers of one colour start together; slots are packed by offset like buffers.

::

    colour 0 |aaaaaa| then |ddd|      a slot is as large as its largest member, and as aligned as its most aligned, and
    colour 1 |bbb| then |cc|          alive whenever one of them is; slots that are never alive together share bytes

Only buffers with the same candidate pools get one slot. Pinned buffers are slots of their own, and buffers of no bytes
need none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Buffer, Placement, Problem
from tvm_memplan.planning.preparing.aliases import union

#: From a problem's conflicts and the buffers to colour (indices) to a colour for each.
Colouring = Callable[[Conflicts, Sequence[int]], Sequence[int]]


def slot_problem(conflicts: Conflicts, colouring: Colouring) -> tuple[Problem, list[list[int]]]:
    """Return the problem of packing the slots of a colouring, and the members of each slot.

    Raises
    ------
    ValueError
        Two buffers have one colour that are given as conflicting or separate.
    """
    problem = conflicts.problem
    groups: dict[tuple[str, ...], list[int]] = {}
    slots: list[list[int]] = []
    for i, buffer in enumerate(problem.buffers):
        if buffer.pinned:
            slots.append([i])
        elif buffer.size:
            groups.setdefault(tuple(pool.name for pool in problem.candidates(buffer)), []).append(i)
    for group in groups.values():
        classes: dict[int, list[int]] = {}
        for i, colour in zip(group, colouring(conflicts, group)):
            classes.setdefault(colour, []).append(i)
        slots.extend(classes[colour] for colour in sorted(classes))
    of = {i: k for k, members in enumerate(slots) for i in members}
    paired = {(min(pair), max(pair)) for pair in problem.in_place}

    def between(pairs: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        found = set()
        for i, j in pairs:
            if i in of and j in of:
                if of[i] != of[j]:
                    found.add((min(of[i], of[j]), max(of[i], of[j])))
                elif (i, j) not in paired or (i, j) in problem.separate:
                    raise ValueError(f"{problem.buffers[i].name!r} and {problem.buffers[j].name!r} have one colour")
        return frozenset(found)

    made = Problem(
        tuple(_slot(problem, k, members) for k, members in enumerate(slots)),
        problem.pools,
        None if problem.conflicts is None else between(problem.conflicts),
        # Members of an in-place pair start together or lie apart, so in different slots the slots lie apart.
        between(problem.separate) | between(frozenset(paired)),
    )
    return made, slots


def placed(problem: Problem, slots: Sequence[Sequence[int]], places: Sequence[Placement]) -> list[Placement]:
    """Return where each buffer lies when its slot lies in the given place."""
    found = {i: place for members, place in zip(slots, places) for i in members}
    for i, buffer in enumerate(problem.buffers):
        if i not in found:  # a buffer of no bytes can lie anywhere
            found[i] = Placement(problem.candidates(buffer)[0].name, 0)
    return [found[i] for i in range(len(problem.buffers))]


def _slot(problem: Problem, index: int, members: Sequence[int]) -> Buffer:
    buffers = [problem.buffers[i] for i in members]
    spans = buffers[0].live_ranges
    for buffer in buffers[1:]:
        spans = union(spans, buffer.live_ranges)
    return replace(
        buffers[0],
        name=f"slot{index}",
        size=max(buffer.size for buffer in buffers),
        live_ranges=spans,
        alignment=max(buffer.alignment for buffer in buffers),
        pools=tuple(pool.name for pool in problem.candidates(buffers[0])),
    )
