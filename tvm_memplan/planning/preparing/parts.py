"""Splitting a problem: some of its buffers as a problem of their own.

Buffers whose candidate pools have nothing to do with each other cannot meet, so each group is planned alone and the
best plan of the whole is made of the best plans of the parts (weights in flash, activations in RAM, say).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tvm_memplan.planning.model import Problem


def part(problem: Problem, members: Sequence[int]) -> Problem:
    """Return the problem of `members` alone (indices into `problem`, in their order), with their pools only."""
    index = {i: k for k, i in enumerate(members)}
    candidates = {i: tuple(pool.name for pool in problem.candidates(problem.buffers[i])) for i in members}
    wanted = {name for names in candidates.values() for name in names}
    pools = tuple(pool for pool in problem.pools if pool.name in wanted) or problem.pools

    def kept(pairs: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        return frozenset((index[i], index[j]) for i, j in pairs if i in index and j in index)

    def ordered(pairs: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        return frozenset((min(pair), max(pair)) for pair in kept(pairs))

    return Problem(
        tuple(replace(problem.buffers[i], pools=candidates[i]) for i in members),
        pools,
        None if problem.conflicts is None else ordered(problem.conflicts),
        ordered(problem.separate),
        kept(problem.in_place),
        tuple(replace(view, root=index[view.root]) for view in problem.views if view.root in index),
        frozenset(
            (min(index[i], index[j]), max(index[i], index[j]), cost)
            for i, j, cost in problem.penalties
            if i in index and j in index
        ),
    )


def parts(problem: Problem) -> list[tuple[list[int], Problem]]:
    """Return the groups of buffers that compete for the same pools, each with its problem, in order of first buffer."""
    if len(problem.pools) == 1:
        return [(list(range(len(problem.buffers))), problem)]
    group = {pool.name: pool.name for pool in problem.pools}

    def find(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    candidates = [[pool.name for pool in problem.candidates(buffer)] for buffer in problem.buffers]
    for names in candidates:
        for name in names:
            group[find(name)] = find(names[0])
    members: dict[str, list[int]] = {}
    for i, names in enumerate(candidates):
        members.setdefault(find(names[0]), []).append(i)
    if len(members) == 1:
        return [(list(range(len(problem.buffers))), problem)]
    return [(own, part(problem, own)) for own in members.values()]
