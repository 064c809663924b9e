"""What TVM's greedy planners (USMP) would do with a problem, to compare with; no planner of ours is worse.

They place a buffer above the highest end of those it conflicts with in a pool, so no gap is ever filled::

    ours                     USMP's
      |##|   |########|        |##|   |########| x|
      |##| x |########|        |##|   |########|

The orders are USMP's, too: by size, then number of conflicts, or the other way round, then by name, descending. An
end is rounded up to the alignment of the buffer that ends, not of the one that is placed, so a plan may break a rule
where alignments differ. (Method: the documentation and behaviour of ``tir.usmp.algo.greedy_by_size`` and
``greedy_by_conflicts`` of TVM 0.19, with which the tests compare offset by offset.)
"""

from __future__ import annotations

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Plan, Problem, round_up


def usmp_greedy_by_size(problem: Problem) -> Plan:
    """Largest first, then most conflicts; `DoesNotFit` where USMP gives up. The plan is not judged."""
    degrees, buffers = Conflicts(problem).degrees, problem.buffers
    key = {i: (buffers[i].size, degrees[i], buffers[i].name) for i in range(len(buffers))}
    return _placed(problem, sorted(key, key=lambda i: key[i], reverse=True), "usmp_greedy_by_size")


def usmp_greedy_by_conflicts(problem: Problem) -> Plan:
    """Most conflicts first, then largest; `DoesNotFit` where USMP gives up. The plan is not judged."""
    degrees, buffers = Conflicts(problem).degrees, problem.buffers
    key = {i: (degrees[i], buffers[i].size, buffers[i].name) for i in range(len(buffers))}
    return _placed(problem, sorted(key, key=lambda i: key[i], reverse=True), "usmp_greedy_by_conflicts")


def _placed(problem: Problem, order: list[int], name: str) -> Plan:
    conflicts, buffers = Conflicts(problem), problem.buffers
    capacity = {pool.name: pool.capacity for pool in problem.pools}
    placed: dict[int, Placement] = {}

    def fits(pool: str, offset: int, i: int) -> bool:
        room = capacity[pool]
        return room is None or offset + buffers[i].size <= room

    for i in order:
        offsets = {pool.name: 0 for pool in problem.candidates(buffers[i]) if fits(pool.name, 0, i)}
        for j in conflicts.of(i).tolist():
            if j in placed and placed[j].pool in offsets:
                pool, end = placed[j].pool, placed[j].offset + buffers[j].size
                offset = max(offsets[pool], round_up(end, buffers[j].alignment))
                if fits(pool, offset, i):
                    offsets[pool] = offset
                else:
                    del offsets[pool]
        if not offsets:
            raise DoesNotFit(f"{name} found no room for buffer {buffers[i].name!r} of {buffers[i].size} bytes")
        pool = next(iter(offsets))
        placed[i] = Placement(pool, offsets[pool])
    return Plan(problem, tuple(placed[i] for i in range(len(buffers))), name)
