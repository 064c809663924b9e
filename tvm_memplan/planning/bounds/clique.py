"""A heavy clique: buffers of which no two may share a byte, so that they must all lie side by side.

Finding the heaviest is hard in general, so several searches share the work; whatever they find is a valid bound::

    maximum cardinality search   finds the heaviest clique of a chordal graph, as conflicts from intervals of time make
    greedy from every buffer     the heaviest neighbour next, until nothing fits
    swaps and restarts           one out and a heavier one in; from a random buffer with what fits of the clique
    branch and bound             proves the heaviest, or stops after so many nodes
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np

from tvm_memplan.planning.bounds.clique_search import Search, bits
from tvm_memplan.planning.conflicts import Conflicts, Indices
from tvm_memplan.planning.model import Problem

#: Beyond so many buffers only given conflicts are searched, and those greedily from a few buffers.
MOST_SEARCHED = 5000


def heaviest_clique(problem: Problem, weight: Mapping[int, int], floor: int = 0) -> tuple[int, tuple[int, ...]]:
    """Return the weight of the heaviest clique that was found, and its buffers, ascending.

    Parameters
    ----------
    problem : Problem
        Where the conflicts are. Buffers that must lie apart (`separate`) count as in conflict, and members of an
        in-place pair do not, as they may overlap.
    weight : mapping of int to int
        Bytes that each buffer counts, by index; buffers of no weight do not count.
    floor : int
        Only a heavier clique is wanted; nothing, of weight 0, is returned where none is found.
    """
    order = sorted((i for i in weight if weight[i]), key=lambda i: (-weight[i], i))
    if not order or (len(order) > MOST_SEARCHED and problem.conflicts is None):
        return sum(weight[i] for i in order[:1]), tuple(order[:1])
    order, near = _promising(order, _graph(problem, order), weight, floor)
    if not order:
        return 0, ()
    if len(order) > MOST_SEARCHED:
        found = _greedy(near, [weight[i] for i in order])
    else:
        search = Search([weight[i] for i in order], near, floor)
        if problem.conflicts is not None:
            search.chordal(near)
        search.greedy()
        search.swap(Random(1))
        search.prove()
        found = list(bits(search.best))
    members = tuple(sorted(order[k] for k in found))
    return sum(weight[i] for i in members), members


def _promising(
    order: list[int], near: list[Indices], weight: Mapping[int, int], floor: int
) -> tuple[list[int], list[Indices]]:
    """Leave out, until nothing changes, who does not weigh more than `floor` even with all its neighbours."""
    while True:
        own = [weight[i] for i in order]
        kept = [k for k, js in enumerate(near) if own[k] + sum(own[j] for j in js.tolist()) > floor]
        if len(kept) == len(order):
            return order, near
        index = np.full(len(order), -1, dtype=np.int64)
        index[kept] = range(len(kept))
        order, near = [order[k] for k in kept], [index[near[k]] for k in kept]
        near = [js[js >= 0] for js in near]


def _greedy(near: list[Indices], weight: list[int], starts: int = 100) -> list[int]:
    """Grow a clique from each of the heaviest vertices; return the heaviest. Vertices go by descending weight."""
    best: list[int] = []
    for start in range(starts):
        clique, fits = [start], np.sort(near[start])
        while len(fits):
            clique.append(int(fits[0]))
            fits = np.intersect1d(fits, near[clique[-1]])
        best = max(best, clique, key=lambda members: sum(weight[k] for k in members))
    return best


def _graph(problem: Problem, order: list[int]) -> list[Indices]:
    """Return the neighbours of each of `order`, as positions in it."""
    index = np.full(len(problem.buffers), -1, dtype=np.int64)
    index[order] = range(len(order))
    conflicts = Conflicts(problem)
    near = []
    for i in order:
        # Members of an in-place pair may overlap, so they cannot both be counted: not an edge here.
        found = index[np.setdiff1d(conflicts.of(i), list(conflicts.partners.get(i, ())))]
        near.append(found[found >= 0])
    return near
