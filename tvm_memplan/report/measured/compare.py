"""`compare`: a report against a measurement. Each difference has a name, and says whether it breaks the plan.

::

    an arena is written beyond its planned bytes, or is larger than planned     a fault
    kernels or functions ask for memory that the plan does not count            a fault
    the stack was used up                                                       a fault
    planned bytes that no run wrote to                                          named, with the buffers there
    what the run time takes for itself                                          named, apart
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Kind
from tvm_memplan.report.measured.measurement import Arena, Handed, Measurement, Request
from tvm_memplan.report.memory import MemoryReport, PoolFigures
from tvm_memplan.sizes import show_size

#: What the pools are called that are counted, and that nobody plans (`tvm_memplan.transform.graphs.problem`).
SCRATCH, RUN_TIME = "kernel scratch", "run time"
#: The allocators of `Request`.
WORKSPACE, STORAGE = "kernel workspace", "storage"


@dataclass(frozen=True)
class Untouched:
    """Planned bytes ``[start, stop)`` that no run wrote to, and the buffers there with how much of each lies in it."""

    start: int
    stop: int
    buffers: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.stop - self.start


@dataclass(frozen=True)
class PoolReality:
    """One pool, planned and measured; bytes, None where nothing was measured.

    Parameters
    ----------
    pool : str
        Its name.
    planned : int
        What the plan says.
    measured : int or None
        For an arena the byte after the last one that was written, for others what was asked for.
    beyond : int
        By how much reality exceeds the plan.
    handed : int or None
        What the run time's allocator took for it.
    untouched : tuple of Untouched or None
        Planned bytes of an arena that no run wrote to, the largest span first.
    """

    pool: str
    planned: int
    measured: int | None
    beyond: int = 0
    handed: int | None = None
    untouched: tuple[Untouched, ...] | None = None

    @property
    def idle(self) -> int | None:
        """Planned bytes that no run wrote to."""
        return None if self.untouched is None else sum(span.size for span in self.untouched)


@dataclass(frozen=True)
class Reality:
    """A report against a measurement.

    Parameters
    ----------
    model, how, runs :
        What was run, where, and how often.
    pools : tuple of PoolReality
        In the order of the report.
    faults : tuple of str
        Where reality exceeds the plan, in sentences.
    unplanned : tuple of Request
        Memory that running code asked for and no figure of the plan counts.
    counted : tuple of Request
        Memory that it asked for as the report says.
    own : tuple of Handed
        What the run time took for itself.
    stack : tuple of int, or None
        Bytes kept and used.
    unmeasured : tuple of str
        What could not be seen, and why.
    """

    model: str
    how: str
    runs: int
    pools: tuple[PoolReality, ...]
    faults: tuple[str, ...]
    unplanned: tuple[Request, ...] = ()
    counted: tuple[Request, ...] = ()
    own: tuple[Handed, ...] = ()
    stack: tuple[int, int] | None = None
    unmeasured: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing exceeds the plan."""
        return not self.faults


def compare(report: MemoryReport, seen: Measurement) -> Reality:
    """Hold a report against what was seen.

    Parameters
    ----------
    report : MemoryReport
        The figures of the plan.
    seen : Measurement
        What runs of the program were seen to use.

    Raises
    ------
    BadInput
        The measurement has a pool that the report lacks: they are not of the same build.
    """
    known = {figures.pool for figures in report.pools}
    for arena in seen.arenas:
        if arena.pool not in known:
            there = ", ".join(sorted(known)) or "none"
            raise BadInput(f"pool {arena.pool!r} was measured, and the report has no such pool; there are {there}")
    arenas = {arena.pool: arena for arena in seen.arenas}
    held, handed = dict(seen.held), _handed(seen)
    faults: list[str] = []
    unmeasured = list(seen.unmeasured)
    pools = []
    for figures in report.pools:
        if figures.pool in arenas:
            pools.append(_arena(report, figures, arenas[figures.pool], handed.get(figures.pool), faults))
            continue
        measured = held.get(figures.pool)
        if figures.pool == SCRATCH:
            measured = seen.workspace_at_once
        beyond = max(0, (measured or 0) - figures.planned)
        if beyond:
            faults.append(_takes(figures.pool, measured or 0, figures.planned))
        pools.append(PoolReality(figures.pool, figures.planned, measured, beyond, handed.get(figures.pool)))
        if measured is None and figures.planned:
            unmeasured.append(_unseen(report, figures.pool))
    counted, unplanned = _requests(report, seen.requests or (), faults)
    stack = (seen.stack.kept, seen.stack.used) if seen.stack else None
    if seen.stack and seen.stack.used >= seen.stack.kept:
        faults.append(f"all {show_size(seen.stack.kept)} of the stack were used: what lies below it may be overwritten")
    own = tuple(row for row in seen.handed if not row.pool)
    return Reality(
        report.model,
        seen.how,
        seen.runs,
        tuple(pools),
        tuple(faults),
        unplanned,
        counted,
        own,
        stack,
        tuple(unmeasured),
    )


def _handed(seen: Measurement) -> Mapping[str, int]:
    sums: dict[str, int] = {}
    for row in seen.handed:
        if row.pool:
            sums[row.pool] = sums.get(row.pool, 0) + row.size
    return sums


def _arena(
    report: MemoryReport, figures: PoolFigures, arena: Arena, handed: int | None, faults: list[str]
) -> PoolReality:
    planned = figures.planned
    if arena.size > planned:
        faults.append(_takes(arena.pool, arena.size, planned))
    if arena.high > arena.size:
        faults.append(
            f"{arena.pool}: {show_size(arena.high - arena.size)} behind the end of the arena were written to"
            + (", as far as the guard goes: there may be more" if arena.high >= arena.size + arena.guard else "")
        )
    if arena.below:
        faults.append(f"{arena.pool}: {show_size(arena.below)} before the start of the arena were written to")
    # Of an array that is smaller than planned, the rest is not there to be touched.
    spans = [(start, min(stop, planned)) for start, stop in arena.untouched if start < planned]
    if arena.size < planned:
        spans.append((arena.size, planned))
    rows = [Untouched(start, stop, _lying(report, arena.pool, start, stop)) for start, stop in spans]
    rows.sort(key=lambda row: (-row.size, row.start))
    # What is planned is rounded up to the alignment, and what is behind the arena's own end may be anybody's.
    beyond = max(0, arena.size - planned) + max(0, arena.high - arena.size) + arena.below
    return PoolReality(arena.pool, planned, arena.high, beyond, handed, tuple(rows))


def _unseen(report: MemoryReport, pool: str) -> str:
    kinds = {row.kind for row in report.allocations if row.pool == pool}
    if kinds == {Kind.WEIGHTS}:
        return f"{pool}: weights, which are constants of the program and which no run writes to"
    return f"{pool}: no memory of this pool was seen"


def _takes(pool: str, measured: int, planned: int) -> str:
    return (
        f"{pool}: {show_size(measured)} are taken, where the plan has {show_size(planned)}: "
        f"{show_size(measured - planned)} more"
    )


def _lying(report: MemoryReport, pool: str, start: int, stop: int) -> tuple[tuple[str, int], ...]:
    """The buffers of the plan in a span, those with most bytes of it first."""
    here = [
        (row.title, min(row.end, stop) - max(row.offset, start))
        for row in report.allocations
        if row.pool == pool and row.offset < stop and start < row.end
    ]
    return tuple(sorted(here, key=lambda pair: (-pair[1], pair[0])))


def _requests(
    report: MemoryReport, requests: tuple[Request, ...], faults: list[str]
) -> tuple[tuple[Request, ...], tuple[Request, ...]]:
    """Part requests into those that the report counts or announces, and those that it does not know."""
    counted, unplanned = [], []
    for request in requests:
        who = f"function {request.function!r}" if request.function else "a function that could not be named"
        asked = f"{show_size(request.at_once)} at once from the allocator of {request.allocator}s"
        allowed = _allowed(report, request)
        if allowed is None:
            unplanned.append(request)
            faults.append(f"{who} asks for {asked}, which no figure of the plan counts")
        elif allowed >= 0 and request.at_once > allowed:
            unplanned.append(request)
            faults.append(f"{who} asks for {asked}, where the plan counts {show_size(allowed)}")
        else:
            counted.append(request)
    return tuple(counted), tuple(unplanned)


def _allowed(report: MemoryReport, request: Request) -> int | None:
    """The most that the report says of a request; below 0 without a limit; None where it says nothing."""
    if request.allocator == STORAGE:
        room = [pool.planned for pool in report.pools if pool.pool == RUN_TIME]
        if any(left.size is None for left in report.left_alone):
            return -1
        return room[0] if room else None
    if any(f"kernel {request.function} also allocates" in note for note in report.notes):
        return -1
    sizes = list(_kernel_sizes(report, request.function))
    if any(size is None for size in sizes):
        return -1
    return sum(size for size in sizes if size is not None) if sizes else None


def _kernel_sizes(report: MemoryReport, function: str) -> Iterator[int | None]:
    """What the report says that a kernel allocates for itself."""
    scratch = [
        row.size
        for row in report.allocations
        if row.pool == SCRATCH and (not function or row.name.rpartition(": ")[2] == f"{function} scratch")
    ]
    if scratch:
        yield max(scratch)
    for left in report.left_alone:
        if not function or left.function == function:
            yield left.size
