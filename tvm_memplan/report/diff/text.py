"""A difference as text for a terminal, never wider than `tvm_memplan.report.table.WIDTH` columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm_memplan.report.diff.difference import Difference, PoolChange
from tvm_memplan.report.diff.words import count, peak, peak_moved, share, signed
from tvm_memplan.report.table import WIDTH, bullet, shorten, table

#: How many operators, buffers and holders of a peak are listed.
ROWS, HOLDERS = 20, 5


def diff_text(found: Difference, broken: Sequence[str] = (), *, rows: int | None = ROWS) -> str:
    """Return pools, operators and buffers that changed, and the limits that are broken.

    Parameters
    ----------
    found : Difference
        What to show.
    broken : sequence of str
        From `tvm_memplan.report.diff.limits.overruns`.
    rows : int or None
        How many operators and buffers to list, those that changed most first; None lists all.
    """
    return "\n".join(_lines(found, broken, rows)) + "\n"


def _lines(found: Difference, broken: Sequence[str], rows: int | None) -> Iterator[str]:
    yield shorten(f"{found.old.model or 'the old plan'} -> {found.new.model or 'the new plan'}", WIDTH)
    yield ""
    head = ("pool", "old planned B", "new planned B", "change B", "", "change of bound B")
    figures = [
        (
            change.pool,
            *map(count, change.planned),
            signed(change.growth),
            share(change),
            signed(change.bound_growth),
        )
        for change in found.pools
    ]
    yield from table(head, figures, "Lrrrrr", WIDTH)
    for change in found.pools:
        if peak_moved(change):
            yield ""
            yield from _peak(found, change)
    if found.operators:
        yield ""
        changed = [(c.operator, count(c.old), count(c.new), signed(c.growth)) for c in found.operators[:rows]]
        yield from table(("operator", "old B", "new B", "change B"), changed, "Lrrr", WIDTH)
        yield from _more(len(found.operators), rows, "operators")
    if found.buffers:
        yield ""
        listed = [
            (
                c.row.title,
                c.what,
                *map(count, c.sizes),
                signed(c.growth),
                c.row.pool,
            )
            for c in found.buffers[:rows]
        ]
        yield from table(("buffer", "", "old B", "new B", "change B", "pool"), listed, "LlrrrL", WIDTH)
        yield from _more(len(found.buffers), rows, "buffers")
    if found.left_alone:
        yield ""
        yield "left alone now, not in these figures:"
        for left in found.left_alone:
            size = "unknown size" if left.size is None else f"{left.size:,} B"
            yield from bullet(f"{left.name} in {left.function} ({size}): {left.reason}")
    if found.empty:
        yield ""
        yield "no size and no figure has changed"
    if broken:
        yield ""
        yield "over the limits:"
        for line in broken:
            yield from bullet(line)


def _peak(found: Difference, change: PoolChange) -> Iterator[str]:
    yield shorten(f"{change.pool}: the peak was at {peak(found.old, change.old)}", WIDTH)
    yield shorten(f"{'':{min(len(change.pool), 40)}}  it is now at {peak(found.new, change.new)}", WIDTH)
    for what, held in (("now there", change.joined), ("no longer", change.gone)):
        lines = [(what, f"{row.size:,} B", row.title) for row in held[:HOLDERS]]
        if lines:
            yield from (f"  {line}" for line in list(table(("", "", ""), lines, "lrL", WIDTH - 2))[1:])
        yield from (f"  {line}" for line in _more(len(held), HOLDERS, "buffers"))


def _more(there: int, shown: int | None, what: str) -> Iterator[str]:
    if shown is not None and there > shown:
        yield f"and {there - shown} {what} more"
