"""The independent judge: is a plan right?

It looks at every pair of buffers and shares no code with whatever made the plan::

    two buffers break the rules  <=>  same pool, a byte in common, and in conflict
    in conflict                  <=>  given as such (or, when nothing is given, alive at one step), or separate;
                                      an in-place pair may have bytes in common if both start at one offset

Sizes need no rounding to a pool's granularity here: offsets are multiples of it, so whole granules lie apart if and
only if the bytes in them do. Views have no places of their own and penalties forbid nothing, so both are left out.
It only knows the values of `tvm_memplan.planning.model`. Plans of very many buffers are swept over time instead
(`tvm_memplan.planning.judge.sweep`, of the judge alone too). Keep it short enough to be checked by reading.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.judge.sweep import overlaps
from tvm_memplan.planning.model import LiveRange, Plan

#: Looking at every pair takes half a second for so many buffers; beyond, time is swept.
MANY = 10_000


def check_plan(plan: Plan, most: int = 5) -> None:
    """Raise BadPlan unless every rule of the problem holds; the message names the first `most` violations."""
    found: list[str] = []
    for violation in _violations(plan):
        if len(found) == most:
            found.append("and more")
            break
        found.append(violation)
    if found:
        raise BadPlan("; ".join(found))


def _violations(plan: Plan) -> Iterator[str]:
    pools = {pool.name: pool for pool in plan.problem.pools}
    for buffer, place in zip(plan.problem.buffers, plan.placements):
        where = f"buffer {buffer.name!r} at offset {place.offset} of pool {place.pool!r}"
        pool = pools.get(place.pool)
        if pool is None:
            yield f"{where}: there is no such pool"
            continue
        if buffer.scope not in pool.scopes and not buffer.pinned:
            yield f"{where}: the pool does not serve scope {buffer.scope!r}"
        if buffer.pools and pool.name not in buffer.pools and not buffer.pinned:
            yield f"{where}: it may only go to {', '.join(buffer.pools)}"
        if buffer.pinned and place != buffer.pinned:
            yield f"{where}: it is pinned at offset {buffer.pinned.offset} of pool {buffer.pinned.pool!r}"
        if place.offset < 0:
            yield f"{where}: the offset is negative"
        for what, alignment in (
            ("its alignment", buffer.alignment),
            ("the pool's alignment", pool.alignment),
            ("the pool's granularity", pool.granularity),
        ):
            if place.offset % alignment:
                yield f"{where}: not a multiple of {what} {alignment}"
        size = -(-buffer.size // pool.granularity) * pool.granularity
        if pool.capacity is not None and place.offset + size > pool.capacity:
            yield f"{where}: its {size} bytes end beyond the capacity of {pool.capacity} bytes"
    for i, j in _pairs(plan):
        one, two = plan.problem.buffers[i], plan.problem.buffers[j]
        a, b = plan.placements[i], plan.placements[j]
        first, last = max(a.offset, b.offset), min(a.offset + one.size, b.offset + two.size)
        if a.pool != b.pool or first >= last:
            continue
        apart = (i, j) in plan.problem.separate
        paired = not apart and bool({(i, j), (j, i)} & plan.problem.in_place)
        if paired and a.offset == b.offset:
            continue
        met = [max(r.start, s.start) for r in one.live_ranges for s in two.live_ranges if r.overlaps(s)]
        when = "must lie apart" if apart else "an in-place pair that does not start together" if paired else ""
        when = when or (f"both alive at step {met[0]}" if met else "in conflict")
        yield (
            f"buffers {one.name!r} and {two.name!r} share bytes [{first}, {last}) of pool {a.pool!r}, {when} "
            f"(steps {_spans(one.live_ranges)} and {_spans(two.live_ranges)})"
        )


def _spans(ranges: tuple[LiveRange, ...]) -> str:
    return " ".join(f"[{r.start}, {r.stop})" for r in ranges) or "unknown"


def _pairs(plan: Plan) -> Iterator[tuple[int, int]]:
    """All pairs ``i < j`` that must not share bytes freely; those of live ranges only where offsets meet at all."""
    problem = plan.problem
    paired = {(min(pair), max(pair)) for pair in problem.in_place} | problem.separate
    if problem.conflicts is not None:
        yield from sorted(problem.conflicts | paired)
        return
    yield from sorted(paired)
    if len(problem.buffers) > MANY and not problem.in_place:  # pairs that may share bytes would confuse the sweep
        yield from (pair for pair in overlaps(plan) if pair not in paired)
        return
    # The first and last step of each buffer, a row of comparisons per buffer; what remains is looked at exactly.
    steps = [(b.live_ranges[0].start, b.live_ranges[-1].stop) for b in problem.buffers]
    bytes_ = [(p.offset, p.offset + b.size) for b, p in zip(problem.buffers, plan.placements)]
    small = all(abs(value) < 2**62 for pair in (*steps, *bytes_) for value in pair)
    kind = np.int64 if small else object
    start, stop = np.array(steps, dtype=kind).reshape(-1, 2).T
    low, high = np.array(bytes_, dtype=kind).reshape(-1, 2).T
    for i, buffer in enumerate(problem.buffers):
        near = (start[i + 1 :] < stop[i]) & (stop[i + 1 :] > start[i])
        near &= (low[i + 1 :] < high[i]) & (high[i + 1 :] > low[i])
        for j in np.flatnonzero(near):
            other = i + 1 + int(j)
            if buffer.alive_with(problem.buffers[other]) and (i, other) not in paired:
                yield i, other
