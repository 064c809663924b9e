"""In which order buffers are placed. Each order is a function from a problem to a sorting key.

Large, long and crowded buffers first, so that small and short ones fill the gaps they leave; or by time, as an
allocator at run time would see them. Ties go to the larger buffer and then to the name, so that the result does not
depend on the order in which buffers are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Buffer

Key = Callable[[int], Any]
Order = Callable[[Conflicts], Key]


def arrange(conflicts: Conflicts, order: Order) -> list[int]:
    """Return the indices of all buffers in the given order."""
    buffers = conflicts.problem.buffers
    key = order(conflicts)
    return sorted(range(len(buffers)), key=lambda i: (key(i), -buffers[i].size, buffers[i].name))


def by_size(conflicts: Conflicts) -> Key:
    """Largest first, longer alive first among equals (as TFLite Micro's and USMP's greedy planners)."""
    buffers = conflicts.problem.buffers
    return lambda i: (-buffers[i].size, -_duration(buffers[i]))


def by_conflicts(conflicts: Conflicts) -> Key:
    """Most conflicts first (as USMP's greedy_by_conflicts)."""
    return lambda i: -conflicts.degrees[i]


def by_start(conflicts: Conflicts) -> Key:
    """Born first; where no live range is known, only the ties decide."""
    buffers = conflicts.problem.buffers
    return lambda i: buffers[i].live_ranges[0].start if buffers[i].live_ranges else 0


def by_stop(conflicts: Conflicts) -> Key:
    """Dying last first."""
    buffers = conflicts.problem.buffers
    return lambda i: -buffers[i].live_ranges[-1].stop if buffers[i].live_ranges else 0


def by_duration(conflicts: Conflicts) -> Key:
    """Longest alive first."""
    buffers = conflicts.problem.buffers
    return lambda i: -_duration(buffers[i])


def by_area(conflicts: Conflicts) -> Key:
    """Largest size times duration first (conflicts stand in for a duration that is not known)."""
    buffers = conflicts.problem.buffers
    if conflicts.problem.conflicts is not None:
        return lambda i: -buffers[i].size * (1 + conflicts.degrees[i])
    return lambda i: -buffers[i].size * _duration(buffers[i])


def by_size_then_start(conflicts: Conflicts) -> Key:
    """Largest first, born first among equals."""
    buffers = conflicts.problem.buffers
    start = by_start(conflicts)
    return lambda i: (-buffers[i].size, start(i))


def by_pressure(conflicts: Conflicts) -> Key:
    """Alive at the most crowded step first (in the manner of Telamalloc's and MiniMalloc's contention orders)."""
    buffers = conflicts.problem.buffers
    if conflicts.problem.conflicts is not None:
        return lambda i: -sum(buffers[int(j)].size for j in conflicts.of(i)) - buffers[i].size
    starts, stops, owners = conflicts.rows
    change = [0] * (int(stops.max(initial=0)) + 1)
    for start, stop, owner in zip(starts.tolist(), stops.tolist(), owners.tolist()):
        change[start] += buffers[owner].size
        change[stop] -= buffers[owner].size
    pressure, total = [], 0
    for delta in change:
        total += delta
        pressure.append(total)
    worst = [0] * len(buffers)
    for start, stop, owner in zip(starts.tolist(), stops.tolist(), owners.tolist()):
        worst[owner] = max(worst[owner], max(pressure[start:stop]))
    return lambda i: -worst[i]


#: Every order that the portfolio tries, by name.
ORDERS: dict[str, Order] = {
    "area": by_area,
    "conflicts": by_conflicts,
    "duration": by_duration,
    "pressure": by_pressure,
    "size": by_size,
    "size_then_start": by_size_then_start,
    "start": by_start,
    "stop": by_stop,
}


def _duration(buffer: Buffer) -> int:
    return sum(r.stop - r.start for r in buffer.live_ranges)
