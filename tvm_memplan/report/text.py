"""A report as text for a terminal, never wider than `table.WIDTH` columns (names are shortened to fit)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import Allocation, MemoryReport, PoolFigures
from tvm_memplan.report.table import WIDTH, bullet, shorten, table, wrap
from tvm_memplan.sizes import round_size, show_size

#: How many buffers alive at the peak are listed.
HOLDERS = 8
#: How many columns a shape may take.
TENSOR = 28


def report_text(report: MemoryReport, *, rows: int | None = 40) -> str:
    """Return figures, peak, what holds it, and the allocation table.

    Parameters
    ----------
    report : MemoryReport
        What to show.
    rows : int or None
        How many rows of the allocation table to show, largest buffers first; None shows all.
    """
    return "\n".join(_report_lines(report, rows)) + "\n"


def _report_lines(report: MemoryReport, rows: int | None) -> Iterator[str]:
    title = f"{report.model}, planned with {report.planner}"
    yield shorten(f"{title} for {report.target}" if report.target else title, WIDTH)
    yield ""
    yield from _figures(report.pools)
    kinds = [(kind, report.total(kind)) for kind in Kind]
    parts = [f"{kind.value} {show_size(size)}" for kind, size in kinds if size]
    if parts:
        yield ""
        yield from wrap("each counted once: " + ", ".join(parts), rest="  ")
    for figures in report.pools:
        if figures.peak and figures.planned and not _only_weights(report, figures.pool):
            yield ""
            yield from _peak(report, figures)
    if report.allocations and rows != 0:
        yield ""
        yield from _allocations(report.allocations, rows)
    if report.left_alone:
        yield ""
        yield "left alone, not in these figures:"
        for left in report.left_alone:
            size = "unknown size" if left.size is None else f"{left.size:,} B"
            yield from bullet(f"{left.name} in {left.function} ({left.scope}, {size}): {left.reason}")
    if report.notes:
        yield ""
        yield "notes:"
        for note in report.notes:
            yield from bullet(note)


def _figures(pools: Sequence[PoolFigures]) -> Iterator[str]:
    head = ("pool", "naive B", "planned B", "bound B", "over bound", "saved", "capacity B", "")
    rows = [
        (
            figures.pool,
            f"{figures.naive:,}",
            f"{figures.planned:,}",
            f"{figures.bound:,}",
            _over(figures),
            f"{figures.reuse:.1%}",
            "-" if figures.capacity is None else f"{figures.capacity:,}",
            round_size(figures.planned),
        )
        for figures in pools
    ]
    return table(head, rows, "Lrrrrrrr", WIDTH)


def _over(figures: PoolFigures) -> str:
    if not figures.bound:
        return "-"
    over = figures.planned / figures.bound - 1
    return f"{over:.1%}" if over < 10 else "> 999%"


def _peak(report: MemoryReport, figures: PoolFigures) -> Iterator[str]:
    peak = figures.peak
    assert peak is not None
    where = f"{figures.pool}: peak {figures.bound:,} B ({figures.bound_kind}) at step {peak.step}"
    room = max(20, WIDTH - len(where) - 2)
    doing = report.at(peak.step, peak.operator, room)
    if doing:
        where += f", {shorten(doing, room)}"
    yield shorten(where, WIDTH)
    by_name = {row.name: row for row in report.allocations}
    held = [by_name[name] for name in peak.holders if name in by_name]
    head: tuple[str, ...] = ("size B", "share", "kind", "buffer", "tensor")
    letters = "rrlLl"
    rows: list[tuple[str, ...]] = [
        (
            f"{row.size:,}",
            f"{row.size / figures.bound:.1%}" if figures.bound else "-",
            row.kind.value,
            row.title,
            shorten(row.tensor, TENSOR),
        )
        for row in held[:HOLDERS]
    ]
    if not any(row.tensor for row in held[:HOLDERS]):
        head, letters, rows = head[:-1], letters[:-1], [row[:-1] for row in rows]
    yield from (f"  {line}" for line in table(head, rows, letters, WIDTH - 2))
    if len(held) > HOLDERS:
        yield f"  and {len(held) - HOLDERS} smaller ones"


def _allocations(allocations: Sequence[Allocation], limit: int | None) -> Iterator[str]:
    # The largest are what a reader can act on; they stay in the order of first use.
    largest = sorted(range(len(allocations)), key=lambda i: -allocations[i].size)[:limit]
    shown = [allocations[i] for i in sorted(largest)]
    known = any(row.layers or row.layer for row in shown)
    head: tuple[str, ...] = (
        "buffer",
        "layer" if known else "operator",
        "kind",
        "pool",
        "offset B",
        "size B",
        "alive in steps",
    )
    rows: list[tuple[str, ...]] = [
        (
            row.name.removeprefix(f"{row.operator}.") if row.layers else row.name,
            row.home,
            row.kind.value,
            row.pool,
            f"slot {row.slot.partition(':')[0]}" if row.slot else f"{row.offset:,}",
            f"{row.size:,}",
            " ".join(f"[{live.start}, {live.stop})" for live in row.live_ranges) or "-",
        )
        for row in shown
    ]
    letters = "LLlLrrL"
    if not any(row.home for row in shown):  # problems from files know of no operators
        head, letters = head[:1] + head[2:], letters[:1] + letters[2:]
        rows = [row[:1] + row[2:] for row in rows]
    yield from table(head, rows, letters, WIDTH)
    if len(shown) < len(allocations):
        rest = sum(row.size for row in allocations) - sum(row.size for row in shown)
        yield f"and {len(allocations) - len(shown)} smaller buffers of {rest:,} B together"


def _only_weights(report: MemoryReport, pool: str) -> bool:
    return all(row.kind is Kind.WEIGHTS for row in report.allocations if row.pool == pool)
