"""A `Reality` as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_memplan.report.measured.compare import PoolReality, Reality
from tvm_memplan.report.measured.measurement import Request
from tvm_memplan.report.table import WIDTH, bullet, shorten, table, wrap
from tvm_memplan.sizes import round_size, show_size

#: How many spans that were never touched are listed for a pool, the largest.
SPANS = 8


def reality_text(reality: Reality) -> str:
    """Return the table, every difference by name, and the verdict."""
    return "\n".join(_lines(reality)) + "\n"


def _lines(reality: Reality) -> Iterator[str]:
    yield from wrap(f"{reality.model}, planned and measured: {reality.runs} runs {reality.how}", rest="  ")
    yield ""
    yield from _table(reality)
    for pool in reality.pools:
        if pool.untouched:
            yield ""
            yield from _untouched(pool)
    yield from _requests("asked for beside the pools, as the report says:", reality.counted)
    yield from _requests("asked for beside the pools, and in no figure of the plan:", reality.unplanned)
    if reality.own:
        yield ""
        yield "what the run time takes for itself, in no plan:"
        for row in reality.own:
            yield from bullet(f"{show_size(row.size)}: {row.what}")
    if reality.stack:
        kept, used = reality.stack
        yield ""
        yield f"stack: {show_size(used)} used of {show_size(kept)} kept"
    if reality.unmeasured:
        yield ""
        yield "not measured:"
        for what in reality.unmeasured:
            yield from bullet(what)
    yield ""
    if reality.holds:
        yield "the plan holds: nothing was written or asked for beyond it"
        return
    yield "the plan does not hold:"
    for fault in reality.faults:
        yield from bullet(fault)


def _table(reality: Reality) -> Iterator[str]:
    head = ("pool", "planned B", "measured B", "beyond B", "never touched B", "handed out B", "")
    rows = [
        (
            pool.pool,
            f"{pool.planned:,}",
            _number(pool.measured),
            f"{pool.beyond:,}" if pool.measured is not None else "-",
            _number(pool.idle),
            _number(pool.handed),
            round_size(pool.planned),
        )
        for pool in reality.pools
    ]
    yield from table(head, rows, "Lrrrrrr", WIDTH)


def _number(size: int | None) -> str:
    return "-" if size is None else f"{size:,}"


def _untouched(pool: PoolReality) -> Iterator[str]:
    spans = pool.untouched or ()
    yield shorten(f"{pool.pool}: no run wrote to {show_size(pool.idle or 0)} of {show_size(pool.planned)}", WIDTH)
    rows = []
    for span in spans[:SPANS]:
        first = "padding: no buffer lies there"
        if span.buffers:
            name, size = span.buffers[0]
            first = f"{size:,} B of {name}"
            first += f" and of {len(span.buffers) - 1} more" if len(span.buffers) > 1 else ""
        rows.append((f"[{span.start:,}, {span.stop:,})", f"{span.size:,}", first))
    yield from ("  " + line for line in table(("bytes", "size B", "planned for"), rows, "lrL", WIDTH - 2))
    rest = spans[SPANS:]
    if rest:
        yield f"  and {len(rest)} smaller spans of {sum(span.size for span in rest):,} B together"


def _requests(title: str, requests: tuple[Request, ...]) -> Iterator[str]:
    if not requests:
        return
    yield ""
    yield title
    for row in requests:
        times = f"{row.count} times" if row.count > 1 else "once"
        who = row.function or "(not known who)"
        most = f", the largest {show_size(row.size)}" if row.size != row.at_once else ""
        yield from bullet(f"{who}: {row.allocator}, {show_size(row.at_once)} at once{most}, {times} in a run")
