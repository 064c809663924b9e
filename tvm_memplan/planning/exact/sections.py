"""A single-arena problem as the exact search sees it: sections, spans and independent parts.

A *section* is a largest set of buffers that must all lie side by side, a *cut* is a place between two neighbouring
sections, and the cut's count says how many buffers that are still to be placed reach across it::

      offset
        ^      +----+                       sections, from left to right: {a, b}, {a, c}, {d}
        |      | b  |  c c                  cut 1 | 2: only a reaches across, cut 2 | 3: nobody does, so that d
        |    +-+----+-----+ +---+           can be planned apart from the others; once a is placed, so can b and c.
        |    |     a      | | d |
        +----+------------+-+---+--> step

The idea of sections and of splitting at empty cuts is that of MiniMalloc (Moffitt, ASPLOS 2023). Where conflicts are
given pair by pair there is no line of time: sections are cliques of the graph, and every buffer reaches across all.

Bytes become *units* here: the largest number of bytes that divides all sizes and all alignments that matter, so that a
height is a small integer and there is no height between two neighbouring ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from tvm_memplan.planning.bounds.bound import effective_alignment, granule
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Pool, round_up


@dataclass(frozen=True)
class Sections:
    """Some buffers of a problem that nobody else conflicts with, renumbered from 0.

    Parameters
    ----------
    members : tuple of int
        The buffers, as indices into the problem.
    unit : int
        Bytes per unit.
    size, align : tuple of int
        In units; sizes are rounded up to the granule of the whole problem.
    pin : tuple of int
        Fixed offset in units, -1 where there is none.
    near : tuple of tuple of int
        Conflicts.
    cliques : tuple of tuple of int
        The buffers of each section.
    spans : tuple of (int, int)
        First and last section of each buffer.
    steps : tuple of (int, int)
        First step and the step after the last; (0, 0) where none is known.
    """

    members: tuple[int, ...]
    unit: int
    size: tuple[int, ...]
    align: tuple[int, ...]
    pin: tuple[int, ...]
    near: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[int, ...], ...]
    spans: tuple[tuple[int, int], ...]
    steps: tuple[tuple[int, int], ...]

    @property
    def least(self) -> int:
        """Units that no packing can beat: the fullest section, or the highest pinned end."""
        full = max((sum(self.size[i] for i in clique) for clique in self.cliques), default=0)
        return max([full, *(pin + size for pin, size in zip(self.pin, self.size) if pin >= 0)])


def sections(conflicts: Conflicts, pool: Pool) -> list[Sections]:
    """Return the independent groups of the buffers that are not empty, all of them in one pool."""
    problem = conflicts.problem
    chosen = [i for i, buffer in enumerate(problem.buffers) if buffer.size]
    if not chosen:
        return []
    g = granule(problem, range(len(problem.buffers)), pool)
    align = {i: effective_alignment(problem, i, pool) for i in chosen}
    size = {i: round_up(problem.buffers[i].size, g) for i in chosen}
    unit = _unit([*size.values(), *(b.pinned.offset for b in problem.buffers if b.pinned)], list(align.values()))
    solid = set(chosen)
    near = {i: [j for j in conflicts.of(i).tolist() if j in solid] for i in chosen}
    found = []
    for group in _groups(near):
        index = {i: k for k, i in enumerate(group)}
        local = tuple(tuple(index[j] for j in near[i]) for i in group)
        buffers = [problem.buffers[i] for i in group]
        if problem.conflicts is None:
            cliques = _in_time([[(r.start, r.stop) for r in buffer.live_ranges] for buffer in buffers])
        else:
            cliques = _among(local, [size[i] for i in group])
        found.append(
            Sections(
                tuple(group),
                unit,
                tuple(size[i] // unit for i in group),
                tuple(max(1, align[i] // unit) for i in group),
                tuple(buffer.pinned.offset // unit if buffer.pinned else -1 for buffer in buffers),
                local,
                cliques,
                _spans(local, cliques, in_time=problem.conflicts is None),
                tuple((b.live_ranges[0].start, b.live_ranges[-1].stop) if b.live_ranges else (0, 0) for b in buffers),
            )
        )
    return found


def _unit(sizes: Sequence[int], alignments: Sequence[int]) -> int:
    """The largest unit of which every size, and every alignment that does not divide it, is a multiple."""
    unit = gcd(*sizes)
    while True:
        smaller = gcd(unit, *(a for a in alignments if unit % a))
        if smaller == unit:
            return unit
        unit = smaller


def _groups(near: dict[int, list[int]]) -> list[list[int]]:
    """Connected groups of the conflict graph, ascending."""
    left = dict.fromkeys(near)
    groups = []
    while left:
        todo = [next(iter(left))]
        del left[todo[0]]
        group = []
        while todo:
            i = todo.pop()
            group.append(i)
            for j in near[i]:
                if j in left:
                    del left[j]
                    todo.append(j)
        groups.append(sorted(group))
    return groups


def _in_time(ranges: Sequence[Sequence[tuple[int, int]]]) -> tuple[tuple[int, ...], ...]:
    """Who is alive just before each death that follows a birth: those sets hold all others."""
    events = sorted((time, born, i) for i, own in enumerate(ranges) for r in own for time, born in zip(r, (1, 0)))
    alive: dict[int, None] = {}
    grown = False
    found = []
    for _, born, i in events:
        if born:
            alive[i] = None
        elif grown:
            found.append(tuple(sorted(alive)))
        grown = bool(born)
        if not born:
            del alive[i]
    return tuple(found)


def _among(near: Sequence[Sequence[int]], weight: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """A clique around every pair of buffers in conflict, grown heaviest first."""
    sets = [set(js) for js in near]
    by_weight = [sorted(js, key=lambda j: (-weight[j], j)) for js in near]
    found: dict[tuple[int, ...], None] = {}
    for i in range(len(near)):
        covered: set[int] = set()
        for j in by_weight[i] or [i]:
            if j in covered:
                continue
            clique = [i] if i == j else [i, j]
            for k in by_weight[i]:
                if k not in clique and all(k in sets[m] for m in clique):
                    clique.append(k)
            covered.update(clique)
            found[tuple(sorted(clique))] = None
    return tuple(found)


def _spans(
    near: Sequence[Sequence[int]], cliques: Sequence[Sequence[int]], in_time: bool
) -> tuple[tuple[int, int], ...]:
    if not in_time:
        return ((0, len(cliques) - 1),) * len(near)
    own = [(len(cliques), -1)] * len(near)
    for s, clique in enumerate(cliques):
        for i in clique:
            own[i] = min(own[i][0], s), max(own[i][1], s)
    # Buffers that must lie apart without being alive together hold the sections between them together, too.
    return tuple(
        (min([own[i][0], *(own[j][1] for j in js)]), max([own[i][1], *(own[j][0] for j in js)]))
        for i, js in enumerate(near)
    )
