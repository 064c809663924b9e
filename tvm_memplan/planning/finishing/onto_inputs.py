"""Move outputs onto the bytes of their dying inputs where that costs nothing.

A planner takes an in-place pair where it makes the arena smaller. Of two plans of one size the one with more such pairs
is faster: a loop that reads and writes the same bytes moves half as much memory through the caches.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Plan


def onto_inputs(made: Plan) -> Plan:
    """Return `made` with every output on an input of its pairs that can be, in the order of their births.

    No pool grows, and who shares bytes with whom is still as the problem allows. Pinned buffers stay where they are.
    """
    problem, places, conflicts = made.problem, list(made.placements), Conflicts(made.problem)

    def fits(output: int, at: Placement) -> bool:
        buffer = problem.buffers[output]
        pool = next(pool for pool in problem.pools if pool.name == at.pool)
        if pool not in problem.candidates(buffer) or at.offset % buffer.alignment:
            return False
        stop, partners = at.offset + buffer.size, conflicts.partners.get(output, frozenset())
        if stop > made.pool_sizes[at.pool]:
            return False
        for other in map(int, conflicts.of(output)):
            there = places[other]
            if there.pool != at.pool or (other in partners and there.offset == at.offset):
                continue
            if there.offset < stop and at.offset < there.offset + problem.buffers[other].size:
                return False
        return True

    def birth(pair: tuple[int, int]) -> tuple[int, int, int]:
        ranges = problem.buffers[pair[0]].live_ranges
        return ranges[0].start if ranges else 0, *pair

    done: set[int] = set()
    for output, source in sorted(problem.in_place, key=birth):
        if output in done or problem.buffers[output].pinned or source not in conflicts.partners.get(output, ()):
            continue
        if places[output] == places[source] or fits(output, places[source]):
            places[output] = places[source]
            done.add(output)
    return replace(made, placements=tuple(places))
