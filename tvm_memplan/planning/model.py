"""The values that planning is about: buffers, pools, problems and plans.

All of them are frozen and checked when made; a change is a new value. Sizes, offsets, capacities and
alignments are exact Python integers in **bytes**; times are **steps**, and a live range is half-open::

    offset
      ^        +---------+
      |        |    b    |          a: [0, 3)   b: [2, 5)   c: [3, 6)
      |  +-----+---+-----+          a and b conflict (both alive at step 2),
      |  |    a    |  c     |       a and c do not: c may take the bytes of a.
      +--+---------+--------+--> step
         0    2    3     5  6

A `Problem` says which buffers there are, where they may go and who may not share bytes with whom: buffers
whose live ranges overlap, or, when ``conflicts`` is given, exactly those pairs. A `Plan` is a problem and one
`Placement` per buffer; it proves nothing by itself, `tvm_memplan.planning.judge.check.check_plan` judges it.

What must share is no buffer of its own but a `View`: a further name for bytes of a buffer, whose place follows from
that buffer's. So planners need to know nothing of it; `tvm_memplan.planning.preparing.aliases.share` makes views of
buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from tvm_memplan.errors import BadProblem


class Kind(str, Enum):
    """What a buffer is for; reports add up each kind on its own."""

    INPUT = "input"
    OUTPUT = "output"
    WEIGHTS = "weights"
    ACTIVATION = "activation"
    WORKSPACE = "workspace"


def round_up(value: int, alignment: int) -> int:
    """Return the smallest multiple of `alignment` that is not below `value` (both in bytes)."""
    return -(-value // alignment) * alignment


def _check_alignment(owner: str, alignment: int, what: str = "alignment") -> None:
    if alignment < 1 or alignment & (alignment - 1):
        raise BadProblem(f"{owner}: {what} must be a power of two, got {alignment}")


@dataclass(frozen=True, order=True)
class LiveRange:
    """The steps ``[start, stop)`` during which a buffer holds a value that somebody may still need."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if self.stop <= self.start:
            raise BadProblem(f"live range [{self.start}, {self.stop}) is empty")

    def overlaps(self, other: LiveRange) -> bool:
        """Whether both are alive at some step."""
        return self.start < other.stop and other.start < self.stop


@dataclass(frozen=True)
class Placement:
    """Where a buffer lies: a pool, and the byte offset in the pool's arena."""

    pool: str
    offset: int


@dataclass(frozen=True)
class Buffer:
    """One block of memory to place.

    Parameters
    ----------
    name : str
        Unique in its problem.
    size : int
        Bytes, exact.
    live_ranges : tuple of LiveRange
        When it is alive, in steps: sorted, disjoint, not touching. Usually one; an operator that is called
        from several places has a range per call. Empty when only conflicts are known.
    alignment : int
        Bytes, a power of two; its offset is a multiple of this and of the pool's alignment.
    scope : str
        The kind of memory it needs; only pools that serve the scope are candidates.
    kind : Kind
        What it is for.
    pools : tuple of str
        Names of the candidate pools in order of preference; empty means every pool that serves the scope,
        in the problem's order.
    pinned : Placement or None
        A place that is fixed beforehand.
    operator : str
        The operator or function it belongs to, for people.
    """

    name: str
    size: int
    live_ranges: tuple[LiveRange, ...] = ()
    alignment: int = 1
    scope: str = "global"
    kind: Kind = Kind.ACTIVATION
    pools: tuple[str, ...] = ()
    pinned: Placement | None = None
    operator: str = ""

    def __post_init__(self) -> None:
        if self.size < 0:
            raise BadProblem(f"buffer {self.name!r}: size must not be negative, got {self.size} bytes")
        _check_alignment(f"buffer {self.name!r}", self.alignment)
        for before, after in zip(self.live_ranges, self.live_ranges[1:]):
            if after.start <= before.stop:
                raise BadProblem(
                    f"buffer {self.name!r}: live ranges must be sorted and apart, got "
                    f"[{before.start}, {before.stop}) before [{after.start}, {after.stop})"
                )

    def alive_with(self, other: Buffer) -> bool:
        """Whether both buffers are alive at some step."""
        return any(a.overlaps(b) for a in self.live_ranges for b in other.live_ranges)


@dataclass(frozen=True)
class Pool:
    """A region of memory that one arena serves.

    Parameters
    ----------
    name : str
        Unique in its problem.
    capacity : int or None
        Bytes; None means as much as it takes.
    alignment : int
        Bytes, a power of two: every offset in it is a multiple of this, and so is its base address.
    scopes : tuple of str
        The scopes whose buffers it may hold.
    granularity : int
        Bytes, a power of two: memory is handed out in whole granules, so every offset is a multiple of this, and
        every size, the arena's included, counts as rounded up to it.
    """

    name: str
    capacity: int | None = None
    alignment: int = 1
    scopes: tuple[str, ...] = ("global",)
    granularity: int = 1

    def __post_init__(self) -> None:
        if self.capacity is not None and self.capacity < 0:
            raise BadProblem(f"pool {self.name!r}: capacity must not be negative, got {self.capacity} bytes")
        _check_alignment(f"pool {self.name!r}", self.alignment)
        _check_alignment(f"pool {self.name!r}", self.granularity, "granularity")


@dataclass(frozen=True)
class View:
    """A further name for bytes of a buffer: an alias at a fixed distance from its root.

    The root is alive for as long as any view of it (whoever makes the problem sees to that), so a view needs no live
    ranges and takes no bytes of its own.

    Parameters
    ----------
    name : str
        Unique among the views and buffers of its problem.
    root : int
        The index of the buffer whose bytes these are.
    offset : int
        Bytes from the start of the root.
    size : int
        Bytes; a view ends where its root does, or earlier.
    """

    name: str
    root: int
    offset: int
    size: int


@dataclass(frozen=True)
class Problem:
    """What is to be planned.

    Parameters
    ----------
    buffers : tuple of Buffer
        Their positions are their identities: conflicts and placements refer to them by index.
    pools : tuple of Pool
        In order of preference.
    conflicts : frozenset of (int, int) or None
        Given conflicts as index pairs ``(i, j)`` with ``i < j``. When given they are the whole truth and live
        ranges only inform the reader; when None, buffers conflict where their live ranges overlap.
    separate : frozenset of (int, int)
        Further pairs ``i < j`` that must not share a byte although time alone would allow it.
    in_place : frozenset of (int, int)
        Pairs ``(output, input)`` in which the output may start at the very offset of its dying input, although
        both are alive at one step. They may also lie apart, but not overlap in any other way.
    views : tuple of View
        Further names for bytes of buffers.
    penalties : frozenset of (int, int, int)
        ``(i, j, cost)`` with ``i < j`` and a positive cost: sharing a byte is allowed but costs something (a barrier,
        a lost overlap of two units). Costs have no unit, they are only compared with each other. Among plans of one
        size the cheapest is wanted; a penalty of buffers that are in conflict anyway says nothing.
    """

    buffers: tuple[Buffer, ...]
    pools: tuple[Pool, ...] = (Pool("arena"),)
    conflicts: frozenset[tuple[int, int]] | None = None
    separate: frozenset[tuple[int, int]] = frozenset()
    in_place: frozenset[tuple[int, int]] = frozenset()
    views: tuple[View, ...] = ()
    penalties: frozenset[tuple[int, int, int]] = frozenset()

    def __post_init__(self) -> None:
        for what, names in (
            ("buffer", [*(b.name for b in self.buffers), *(v.name for v in self.views)]),
            ("pool", [p.name for p in self.pools]),
        ):
            if len(set(names)) != len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise BadProblem(f"{what} {twice!r} is defined twice")
        if not self.pools:
            raise BadProblem("a problem needs at least one pool")
        pools = {pool.name: pool for pool in self.pools}
        for buffer in self.buffers:
            wanted = (*buffer.pools, *([buffer.pinned.pool] if buffer.pinned else []))
            for name in wanted:
                if name not in pools:
                    raise BadProblem(
                        f"buffer {buffer.name!r} names pool {name!r}, but there is only {', '.join(pools)}"
                    )
            if not self.candidates(buffer):
                raise BadProblem(f"buffer {buffer.name!r}: no pool serves scope {buffer.scope!r}")
            if self.conflicts is None and not buffer.live_ranges:
                raise BadProblem(f"buffer {buffer.name!r} has no live range, and no conflicts are given")
        count = len(self.buffers)
        for what, pairs in (("conflict", self.conflicts or ()), ("separation", self.separate)):
            for i, j in pairs:
                if not 0 <= i < j < count:
                    raise BadProblem(f"{what} ({i}, {j}) must be two indices i < j below {count}")
        for i, j in self.in_place:
            if i == j or not (0 <= i < count and 0 <= j < count):
                raise BadProblem(f"in-place pair ({i}, {j}) must be two different indices below {count}")
        for view in self.views:
            if not 0 <= view.root < count:
                raise BadProblem(f"view {view.name!r}: root {view.root} must be an index below {count}")
            root = self.buffers[view.root]
            if view.offset < 0 or view.size < 0 or view.offset + view.size > root.size:
                raise BadProblem(
                    f"view {view.name!r}: bytes [{view.offset}, {view.offset + view.size}) do not lie in the "
                    f"{root.size} bytes of {root.name!r}"
                )
        for i, j, cost in self.penalties:
            if not 0 <= i < j < count or cost < 1:
                raise BadProblem(
                    f"penalty ({i}, {j}, {cost}) must be two indices i < j below {count} and a positive cost"
                )
        if len({penalty[:2] for penalty in self.penalties}) < len(self.penalties):
            raise BadProblem("two penalties are for the same pair of buffers")

    def candidates(self, buffer: Buffer) -> tuple[Pool, ...]:
        """The pools that may hold `buffer`, in order of preference."""
        by_name: Mapping[str, Pool] = {pool.name: pool for pool in self.pools}
        if buffer.pinned:
            return (by_name[buffer.pinned.pool],)
        named = tuple(by_name[name] for name in buffer.pools) if buffer.pools else self.pools
        return tuple(pool for pool in named if buffer.scope in pool.scopes)


@dataclass(frozen=True)
class Outcome:
    """How far a searching planner got.

    Parameters
    ----------
    least : int
        Bytes that no plan of its kind can beat, over all pools, counted as `tvm_memplan.planning.bounds.bound.planned`
        does.
    proved : bool
        Whether the plan is as small as that.
    cut : bool
        Whether the time limit ended the search: then, and only then, the plan may depend on the speed of the machine.
    """

    least: int
    proved: bool
    cut: bool = False

    def __str__(self) -> str:
        if self.proved:
            return "proved optimal"
        ended = "; the time limit ended the search, a faster machine may find another plan" if self.cut else ""
        return f"best found; no plan takes less than {self.least} bytes{ended}"


@dataclass(frozen=True)
class Plan:
    """A problem with a placement for every buffer.

    Parameters
    ----------
    problem : Problem
        What was planned.
    placements : tuple of Placement
        One per buffer, in the problem's order.
    planner : str
        Name of the planner that made it.
    outcome : Outcome or None
        How far the planner got, if it searches.
    """

    problem: Problem
    placements: tuple[Placement, ...]
    planner: str = field(default="", compare=False)
    outcome: Outcome | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if len(self.placements) != len(self.problem.buffers):
            raise BadProblem(
                f"a plan needs one placement per buffer: {len(self.placements)} placements for "
                f"{len(self.problem.buffers)} buffers"
            )

    @cached_property
    def pool_sizes(self) -> dict[str, int]:
        """Bytes that each pool's arena needs: the highest end of any buffer in it, in whole granules of the pool."""
        sizes = {pool.name: 0 for pool in self.problem.pools}
        for buffer, place in zip(self.problem.buffers, self.placements):
            sizes[place.pool] = max(sizes[place.pool], place.offset + buffer.size)
        return {pool.name: round_up(sizes[pool.name], pool.granularity) for pool in self.problem.pools}

    @property
    def view_placements(self) -> tuple[Placement, ...]:
        """Where each view of the problem lies, in the problem's order."""
        roots = [self.placements[view.root] for view in self.problem.views]
        return tuple(Placement(at.pool, at.offset + v.offset) for at, v in zip(roots, self.problem.views))

    @cached_property
    def penalty(self) -> int:
        """The sum of the penalties of all pairs that share a byte."""
        return sum(cost for i, j, cost in self.problem.penalties if self.share(i, j))

    def share(self, i: int, j: int) -> bool:
        """Whether buffers `i` and `j` have a byte in common."""
        a, b = self.placements[i], self.placements[j]
        ends = a.offset + self.problem.buffers[i].size, b.offset + self.problem.buffers[j].size
        return a.pool == b.pool and max(a.offset, b.offset) < min(ends)

    def size(self, pool: str | None = None) -> int:
        """Bytes of one pool's arena, or of all of them together."""
        return sum(self.pool_sizes.values()) if pool is None else self.pool_sizes[pool]
