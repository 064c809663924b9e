"""From a report and a board to a verdict: figures against regions, nothing planned anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tvm_memplan.boards import Board, Region
from tvm_memplan.budget.pools import Reserves, Usable, usable_regions
from tvm_memplan.budget.verdict import RegionVerdict, Verdict
from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import Allocation, MemoryReport, Peak, PoolFigures
from tvm_memplan.sizes import show_size

#: How many of the buffers alive at the peak a verdict names.
HOLDERS = 5


def judge_budget(
    report: MemoryReport,
    board: Board,
    reserve: Reserves = 0,
    *,
    external: bool = False,
    memory: Sequence[str] = (),
) -> Verdict:
    """Compare a plan with what a board has.

    A pool of the report that bears a region's name is held against that region; any other is held against the
    preferred region for what it holds, so a plan made without a board can be judged as well.

    Parameters
    ----------
    report : MemoryReport
        The figures of the final plan.
    board : Board
        The device.
    reserve : int, Reserve or sequence of Reserve
        Bytes to keep free of the plan.
    external : bool
        Whether memory outside the chip may be used.
    memory : sequence of str
        The regions that the plan may use, as for `pools_for`.
    """
    usable = usable_regions(board, reserve, external=external, memory=memory)
    rows = (*_ram_rows(report, usable), *_rom_rows(report, usable))
    peak = _peak(report)
    return Verdict(
        board=board.name,
        model=report.model,
        rows=rows,
        peak=peak,
        doing=report.at(peak.step, peak.operator, 60) if peak else "",
        holders=_holders(report, peak),
        unknown=tuple(left for left in report.left_alone if left.size is None),
        notes=tuple(_notes(board, rows)),
    )


class _Need(NamedTuple):
    """What one region has to hold: planned bytes, their bound, and the bytes of the caller's buffers.

    Figures are counted in granules of the alignment, a region is not: what lies last in it needs no tail. `tail` is
    what `planned` has too much for that, `bound_tail` what `bound` may have too much.
    """

    planned: int = 0
    bound: int = 0
    caller: int = 0
    tail: int = 0
    bound_tail: int = 0

    def plus(self, other: _Need) -> _Need:
        """Both in one region, one behind the other: only the last tail can be left off."""
        return _Need(
            self.planned + other.planned,
            self.bound + other.bound,
            self.caller + other.caller,
            max(self.tail, other.tail),
            max(self.bound_tail, other.bound_tail),
        )


def _ram_rows(report: MemoryReport, usable: Usable) -> Iterator[RegionVerdict]:
    needs = _needs(report, usable.ram, weights=False)
    unplanned = sum(left.size or 0 for left in report.left_alone)
    for region in usable.ram:
        first = region is usable.ram[0]
        if first or region.name in needs:
            need = needs.get(region.name, _Need())
            loose = unplanned if first else 0
            yield RegionVerdict(
                region=region.name,
                holds="activations",
                need=need.planned - need.tail + need.caller + loose,
                size=region.size_bytes,
                reserve=usable.kept.get(region.name, 0),
                caller=need.caller,
                unplanned=loose,
                bound=max(0, need.bound - need.bound_tail),
                together=sum(usable.have(other) for other in usable.ram),
            )


def _rom_rows(report: MemoryReport, usable: Usable) -> Iterator[RegionVerdict]:
    sizes = {region.name: region.size_bytes for region in usable.rom}
    for name, need in _needs(report, usable.rom, weights=True).items():
        yield RegionVerdict(
            region=name,
            holds="weights",
            need=need.planned,  # code generators make weights a struct or an array of aligned members, tail included
            size=sizes.get(name, 0),
            reserve=0,
            caller=0,
            unplanned=0,
            bound=need.bound,
            together=sum(sizes.values()),
            judged=name in sizes,
        )


def _needs(report: MemoryReport, regions: tuple[Region, ...], *, weights: bool) -> dict[str, _Need]:
    """Return what each region has to hold, for weights or for everything else."""
    names = [region.name for region in regions]
    needs: dict[str, _Need] = {}
    for figures in report.pools:
        kinds = _kinds(report, figures.pool)
        if (kinds == {Kind.WEIGHTS}) is not weights:
            continue
        # A pool that is no region's is the caller's when it has only inputs and outputs. The caller does not know
        # when they are alive, so each takes its own bytes; but in an input that was given away, a pool of a capacity of
        # its own, an output takes the bytes that are there.
        caller = figures.pool not in names and bool(kinds) and kinds <= {Kind.INPUT, Kind.OUTPUT}
        bytes_ = figures.naive if figures.capacity is None else figures.planned
        more = _Need(caller=bytes_) if caller else _need(report, figures)
        name = figures.pool if figures.pool in names or not names else names[0]
        needs[name] = needs.get(name, _Need()).plus(more)
    return needs


def _need(report: MemoryReport, figures: PoolFigures) -> _Need:
    rows = [row for row in report.allocations if row.pool == figures.pool]
    end = max((row.offset + row.size for row in rows), default=0)
    # Of the buffers that make the bound, any may be the one that lies last.
    held = [row.size for row in rows if figures.peak and row.name in figures.peak.holders]
    tails = [-size % figures.alignment for size in held] or [figures.alignment - 1]
    return _Need(figures.planned, figures.bound, 0, -end % figures.alignment, max(tails))


def _kinds(report: MemoryReport, pool: str) -> set[Kind]:
    """Return what a pool holds; one that mixes weights with anything written has to be RAM."""
    return {row.kind for row in report.allocations if row.pool == pool}


def _is_arena(report: MemoryReport, pool: str) -> bool:
    return bool(_kinds(report, pool) & {Kind.ACTIVATION, Kind.WORKSPACE})


def _peak(report: MemoryReport) -> Peak | None:
    """Return the peak of the pool that needs the most RAM."""
    ram = [figures for figures in report.pools if figures.peak and _is_arena(report, figures.pool)]
    return max(ram, key=lambda figures: figures.bound).peak if ram else None


def _holders(report: MemoryReport, peak: Peak | None) -> tuple[Allocation, ...]:
    names = set(peak.holders) if peak else set()
    alive = [row for row in report.allocations if row.name in names]
    return tuple(sorted(alive, key=lambda row: -row.size)[:HOLDERS])


def _notes(board: Board, rows: tuple[RegionVerdict, ...]) -> Iterator[str]:
    for row in rows:
        if not row.judged:
            yield f"{show_size(row.need)} of weights are not judged: {board.name} lists no read-only memory"
        if row.caller:
            yield f"{show_size(row.caller)} of the caller's inputs and outputs count in full in {row.region}"
        if row.unplanned:
            yield f"{show_size(row.unplanned)} of buffers that were left alone count in full in {row.region}"
