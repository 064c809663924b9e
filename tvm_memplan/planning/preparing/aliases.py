"""Buffers that must share: merged into one root before planning, and shown as views of it afterwards.

::

    root   |################|  alive for as long as any of them
    view       |####|          at a fixed distance from the root's start

A group counts as a whole: all bytes of its root stay alive while any member is. That asks for a little more than may
be needed where a member covers a part of the root only, and is never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tvm_memplan.errors import BadProblem
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Problem, View


def share(problem: Problem, pairs: Iterable[tuple[int, int, int]]) -> Problem:
    """Return the problem with one buffer per group of buffers that must share, and views for the others.

    Parameters
    ----------
    problem : Problem
        Where the buffers are.
    pairs : iterable of (int, int, int)
        ``(member, root, offset)``: buffer `member` starts `offset` bytes after the start of buffer `root` and ends
        where it does, or earlier. A root may be a member of another.

    Returns
    -------
    Problem
        A root is alive with each of its members, is as aligned as they need it and goes where all of them may go. The
        alignment of a pool is for roots alone.
        What a member conflicts with, its root conflicts with. An in-place pair with a member becomes a separation,
        since the whole root would have to match.

    Raises
    ------
    BadProblem
        A member has two roots, does not lie in its root, or can never be aligned there; members of one group must be
        kept apart, have no pool in common or are pinned in contradiction.
    """
    buffers = problem.buffers
    parent: dict[int, tuple[int, int]] = {}
    for member, root, offset in pairs:
        if not (0 <= member < len(buffers) and 0 <= root < len(buffers)):
            raise BadProblem(f"must-share pair ({member}, {root}) must be two indices below {len(buffers)}")
        if parent.get(member, (root, offset)) != (root, offset):
            raise BadProblem(f"buffer {buffers[member].name!r} must share with two roots, and a view has one")
        parent[member] = root, offset
    found = {i: _root(i, parent, buffers) for i in parent}
    kept = [i for i in range(len(buffers)) if i not in found]
    index = {i: k for k, i in enumerate(kept)}
    merged = {i: buffers[i] for i in kept}
    for i, (root, offset) in found.items():
        if offset < 0 or offset + buffers[i].size > buffers[root].size:
            raise BadProblem(f"buffer {buffers[i].name!r} does not lie in {buffers[root].name!r}, which it must share")
        merged[root] = _merged(problem, merged[root], buffers[i], offset)

    def at(i: int) -> int:
        return index[found[i][0] if i in found else i]

    def moved(what: str, pairs: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        result = set()
        for i, j in pairs:
            a, b = sorted((at(i), at(j)))
            if a != b:
                result.add((a, b))
            elif what:
                raise BadProblem(f"{buffers[i].name!r} and {buffers[j].name!r} must share, but {what}")
        return frozenset(result)

    whole = {(i, j) for i, j in problem.in_place if not {i, j} & (found.keys() | {r for r, _ in found.values()})}
    views = [replace(view, root=at(view.root), offset=_moved(view, found)) for view in problem.views]
    views += [View(buffers[i].name, index[root], offset, buffers[i].size) for i, (root, offset) in found.items()]
    costs: dict[tuple[int, int], int] = {}
    for i, j, cost in problem.penalties:
        if at(i) != at(j):
            pair = min(at(i), at(j)), max(at(i), at(j))
            costs[pair] = costs.get(pair, 0) + cost
    return Problem(
        tuple(merged[i] for i in kept),
        problem.pools,
        None if problem.conflicts is None else moved("", problem.conflicts),
        moved("must also lie apart", problem.separate) | moved("", problem.in_place - whole),
        frozenset((index[i], index[j]) for i, j in whole),
        tuple(views),
        frozenset((i, j, cost) for (i, j), cost in costs.items()),
    )


def _root(i: int, parent: dict[int, tuple[int, int]], buffers: tuple[Buffer, ...]) -> tuple[int, int]:
    """Follow roots of roots, adding up their offsets."""
    at, offset, steps = i, 0, 0
    while at in parent:
        at, more = parent[at]
        offset, steps = offset + more, steps + 1
        if steps > len(parent):
            raise BadProblem(f"buffer {buffers[i].name!r} is a root of itself")
    return at, offset


def _moved(view: View, found: dict[int, tuple[int, int]]) -> int:
    return view.offset + (found[view.root][1] if view.root in found else 0)


def _merged(problem: Problem, root: Buffer, member: Buffer, offset: int) -> Buffer:
    """Return the root with all that the member needs."""
    if offset % member.alignment:
        raise BadProblem(
            f"buffer {member.name!r} needs alignment {member.alignment}, but must lie {offset} bytes into {root.name!r}"
        )
    allowed = {pool.name for pool in problem.candidates(member)}
    pools = tuple(pool.name for pool in problem.candidates(root) if pool.name in allowed)
    if not pools:
        raise BadProblem(f"{root.name!r} and {member.name!r} must share, but no pool may hold both")
    pinned = root.pinned
    if member.pinned:
        place = Placement(member.pinned.pool, member.pinned.offset - offset)
        if place.offset < 0 or (pinned or place) != place:
            raise BadProblem(f"{root.name!r} and {member.name!r} must share, but where one is pinned the other is not")
        pinned = place
    return replace(
        root,
        live_ranges=union(root.live_ranges, member.live_ranges),
        alignment=max(root.alignment, member.alignment),
        pools=pools,
        pinned=pinned,
    )


def union(one: tuple[LiveRange, ...], other: tuple[LiveRange, ...]) -> tuple[LiveRange, ...]:
    """Return the steps of either, as live ranges that are sorted and apart."""
    merged: list[LiveRange] = []
    for span in sorted((*one, *other)):
        if merged and span.start <= merged[-1].stop:
            merged[-1] = LiveRange(merged[-1].start, max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return tuple(merged)
