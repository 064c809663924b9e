"""Pools that hand out whole granules, as pools that do not.

Where every offset is a multiple of the granularity ``g``, the rest of a buffer's last granule is of no use to anybody
already, so rounding sizes up changes nothing but the end of the arena::

    granularity g, alignment a, capacity c   ==   alignment max(a, g), capacity c rounded down to a multiple of g

(an end is at most ``c`` after rounding up to ``g`` if and only if it is at most ``c`` rounded down to ``g``). So
planners need to know alignments only.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_memplan.planning.model import Pool, Problem


def without_granularity(problem: Problem) -> Problem:
    """Return the problem with alignments and capacities in place of granularities; every placement means the same."""
    if all(pool.granularity == 1 for pool in problem.pools):
        return problem
    return replace(problem, pools=tuple(_plain(pool) for pool in problem.pools))


def _plain(pool: Pool) -> Pool:
    g = pool.granularity
    capacity = None if pool.capacity is None else pool.capacity // g * g
    return replace(pool, capacity=capacity, alignment=max(pool.alignment, g), granularity=1)
