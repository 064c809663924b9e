"""A problem with something about it changed: the question behind each suggestion."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tvm_memplan.planning.model import Buffer, Kind, Problem


def of_activations(problem: Problem) -> Problem:
    """Return the problem without its weights and capacities: what is asked is how much memory it takes, not whether."""
    weights = {i for i, buffer in enumerate(problem.buffers) if buffer.kind is Kind.WEIGHTS}
    return replace(without(problem, weights), pools=tuple(replace(pool, capacity=None) for pool in problem.pools))


def without(problem: Problem, gone: Collection[int]) -> Problem:
    """Return the problem without some of its buffers, and all that is said about them."""
    kept = [i for i in range(len(problem.buffers)) if i not in set(gone)]
    now = {i: k for k, i in enumerate(kept)}

    def pairs(of: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        return frozenset((now[i], now[j]) for i, j in of if i in now and j in now)

    return replace(
        problem,
        buffers=tuple(problem.buffers[i] for i in kept),
        conflicts=None if problem.conflicts is None else pairs(problem.conflicts),
        separate=pairs(problem.separate),
        in_place=pairs(problem.in_place),
        views=tuple(replace(view, root=now[view.root]) for view in problem.views if view.root in now),
        penalties=frozenset((now[i], now[j], cost) for i, j, cost in problem.penalties if i in now and j in now),
    )


def resized(problem: Problem, sizes: dict[int, int]) -> Problem:
    """Return the problem with other sizes of some buffers (their views, which say nothing of memory, left out)."""
    buffers = tuple(
        replace(buffer, size=sizes[i]) if i in sizes else buffer for i, buffer in enumerate(problem.buffers)
    )
    return replace(problem, buffers=buffers, views=())


def aligned(problem: Problem, most: int) -> Problem:
    """Return the problem with no pool's alignment above `most`; what a buffer itself asks for stays."""
    return replace(problem, pools=tuple(replace(pool, alignment=min(pool.alignment, most)) for pool in problem.pools))


def may_be_in_place(output: Buffer, given: Buffer) -> bool:
    """Whether bytes could change hands: the one is born in the very last step of the other, and is no larger."""
    if not output.live_ranges or not given.live_ranges or given.kind is Kind.INPUT or output.size > given.size:
        return False
    return len(given.live_ranges) == 1 and output.live_ranges[0].start == given.live_ranges[0].stop - 1
