"""For the judge of large plans: buffers that are alive together and share bytes, found by a sweep over time.

As long as nothing overlaps, those alive in a pool lie side by side, so a newborn can only meet its neighbours::

    alive, by offset    |##a##|    |#b#|      |####c####|
    newborn                    |new|                          only the ends of a and the start of b need a look

One that does meet somebody is reported and left out, which keeps the picture true: a plan without an overlap yields
nothing, a plan with overlaps yields some of them, the first one included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from tvm_memplan.planning.model import Plan


def overlaps(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield pairs ``i < j`` of buffers that share a byte of a pool at some step at which both are alive."""
    buffers, places = plan.problem.buffers, plan.placements
    ranges = [(r.start, r.stop, i) for i, b in enumerate(buffers) if b.size for r in b.live_ranges]
    times = [stop for _, stop, _ in ranges] + [start for start, _, _ in ranges]  # deaths before births
    small = all(abs(time) < 2**62 for time in times)
    events = np.argsort(np.array(times, dtype=np.int64 if small else object), kind="stable").tolist()
    lows: dict[str, list[int]] = {place.pool: [] for place in places}
    alive: dict[str, list[int]] = {place.pool: [] for place in places}
    left_out: set[int] = set()
    count = len(ranges)
    for event in events:
        k = event % count
        i = ranges[k][2]
        own, who, low = lows[places[i].pool], alive[places[i].pool], places[i].offset
        if event < count:  # it dies
            if k in left_out:
                left_out.remove(k)
            else:
                at = bisect_left(own, low)
                del own[at], who[at]
            continue
        at = bisect_right(own, low)
        if at and places[who[at - 1]].offset + buffers[who[at - 1]].size > low:
            yield min(i, who[at - 1]), max(i, who[at - 1])
            left_out.add(k)
        elif at < len(own) and own[at] < low + buffers[i].size:
            yield min(i, who[at]), max(i, who[at])
            left_out.add(k)
        else:
            own.insert(at, low)
            who.insert(at, i)
