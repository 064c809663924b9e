"""Pressure: the largest sum of sizes alive at one step, found by a sweep over births and deaths.

::

    alive   a ab abc bc c        the sum is largest where a, b and c are all alive; they must lie side by side
    step    0 1  2   3  4

An in-place pair need not lie side by side, so of such pairs only the heaviest choice without partners counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Problem

Array = npt.NDArray[np.int64]

#: Beyond so many buffers the sweep is done on arrays.
MANY = 2000


def pressure(problem: Problem, weight: Mapping[int, int]) -> tuple[int, int | None]:
    """Return the largest sum of weights alive at one step, and the first such step (None when nothing lives).

    Parameters
    ----------
    problem : Problem
        Where live ranges and in-place pairs are.
    weight : mapping of int to int
        Bytes that each buffer counts, by index; others do not count.
    """
    partners = {i: js for i, js in Conflicts(problem).partners.items() if i in weight}
    if not partners and len(weight) > MANY:
        rows = [(r.start, r.stop, w) for i, w in weight.items() for r in problem.buffers[i].live_ranges]
        if all(abs(number) < 2**62 for row in rows for number in row) and sum(weight.values()) < 2**62:
            start, stop, size = np.array(rows, dtype=np.int64).T
            return most_alive(size, start, stop)
    # Deaths come first at each step, as live ranges are half-open.
    events = sorted(
        (time, born, i)
        for i in weight
        for span in problem.buffers[i].live_ranges
        for time, born in ((span.start, True), (span.stop, False))
    )
    alive: dict[int, None] = {}
    best, step = 0, min((time for time, _, _ in events), default=None)
    total = 0
    for k, (time, born, i) in enumerate(events):
        if born:
            alive[i] = None
            total += weight[i]
        else:
            del alive[i]
            total -= weight[i]
        # `total` counts both of a pair, so it can only be too large: look closer when it would be a new record.
        last = k + 1 == len(events) or events[k + 1][0] != time
        if last and total > best:
            exact = total - _shared(alive, partners, weight) if partners else total
            if exact > best:
                best, step = exact, time
    return best, step


def most_alive(weight: Array, start: Array, stop: Array) -> tuple[int, int]:
    """Return the largest total weight of ranges ``[start, stop)`` alive at one step, and the first such step."""
    if not len(weight):
        return 0, 0
    time = np.concatenate([start, stop])
    order = np.argsort(time, kind="stable")
    time = time[order]
    total = np.cumsum(np.concatenate([weight, -weight])[order])
    last = np.append(time[1:] != time[:-1], True)  # when all births and deaths of a step are counted
    best = int(np.argmax(total[last]))
    return int(total[last][best]), int(time[last][best])


def _shared(alive: Iterable[int], partners: dict[int, frozenset[int]], weight: Mapping[int, int]) -> int:
    """Return what in-place pairs among `alive` can save at most, group by connected group."""
    left = {i for i in alive if i in partners}
    saved = 0
    while left:
        group, todo = set(), [left.pop()]
        while todo:
            i = todo.pop()
            group.add(i)
            met = partners[i] & left
            left -= met
            todo.extend(met)
        saved += sum(weight[i] for i in group) - _side_by_side(group, partners, weight)
    return saved


def _side_by_side(group: set[int], partners: dict[int, frozenset[int]], weight: Mapping[int, int]) -> int:
    """Return the heaviest choice of buffers of which no two are partners: those must lie side by side."""
    if len(group) > 24:  # the largest alone is a choice too, and the rest takes exponential time
        return max(weight[i] for i in group)
    most = max(group, key=lambda i: (len(partners[i] & group), i), default=None)
    if most is None or not partners[most] & group:
        return sum(weight[i] for i in group)
    rest = group - {most}
    return max(
        weight[most] + _side_by_side(rest - partners[most], partners, weight), _side_by_side(rest, partners, weight)
    )
