"""A verdict as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_memplan.budget.explain import explain
from tvm_memplan.budget.verdict import Verdict
from tvm_memplan.report.table import WIDTH, bullet, table, wrap


def verdict_text(verdict: Verdict) -> str:
    """Return the table of regions, then why it does not fit, when it does not."""
    return "\n".join(_verdict_lines(verdict)) + "\n"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    head = ("region", "holds", "size B", "reserve B", "have B", "need B", "excess B", "")
    rows = [
        (
            row.region,
            row.holds,
            f"{row.size:,}" if row.judged else "-",
            f"{row.reserve:,}",
            f"{row.have:,}" if row.judged else "-",
            f"{row.need:,}",
            f"{row.excess:,}",
            "not judged" if not row.judged else "fits" if row.fits else "over",
        )
        for row in verdict.rows
    ]
    yield from table(head, rows, "Llrrrrrl", WIDTH)
    yield ""
    for line in explain(verdict).splitlines():
        words = line.lstrip()
        indent = " " * (len(line) - len(words))
        yield from wrap(words, indent, indent + "  ")
    for note in verdict.notes:
        yield from bullet(note)
