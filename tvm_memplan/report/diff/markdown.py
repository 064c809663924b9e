"""A difference as Markdown, to paste into a review: the pools, and the rest folded away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tvm_memplan.report.diff.difference import Difference
from tvm_memplan.report.diff.words import count, peak, peak_moved, share, signed
from tvm_memplan.report.table import printable

#: How many operators and buffers are listed.
ROWS = 20


def diff_markdown(found: Difference, broken: Sequence[str] = ()) -> str:
    """Return the difference, and the limits that it breaks, as GitHub and GitLab show it.

    Names are code spans, in which nothing has a meaning, so a name cannot be taken for markup.
    """
    return "\n".join(_lines(found, broken)) + "\n"


def _lines(found: Difference, broken: Sequence[str]) -> Iterator[str]:
    yield f"### Memory of {_code(found.new.model or 'the plan')}"
    yield ""
    if broken:
        yield "**Over the limits:**"
        yield ""
        yield from (f"- {_escape(line)}" for line in broken)
    else:
        yield "No size and no figure has changed." if found.empty else "Within the limits."
    yield ""
    yield from _table(
        ("pool", "old planned B", "new planned B", "change B", "", "change of bound B"),
        "lrrrrr",
        [
            (
                _code(change.pool),
                *map(count, change.planned),
                signed(change.growth),
                share(change),
                signed(change.bound_growth),
            )
            for change in found.pools
        ],
    )
    for change in found.pools:
        if peak_moved(change):
            yield ""
            was, now = _code(peak(found.old, change.old)), _code(peak(found.new, change.new))
            yield f"The peak of {_code(change.pool)} was at {was}, it is at {now}."
            for what, held in (("Now there", change.joined), ("No longer", change.gone)):
                if held:
                    names = ", ".join(f"{_code(row.title)} ({row.size:,} B)" for row in held[:5])
                    yield f"{what}: {names}" + (f" and {len(held) - 5} more." if len(held) > 5 else ".")
    if found.operators:
        operators = [(_code(c.operator), count(c.old), count(c.new), signed(c.growth)) for c in found.operators[:ROWS]]
        yield from _folded(
            "operator", len(found.operators), _table(("operator", "old B", "new B", "change B"), "lrrr", operators)
        )
    if found.buffers:
        buffers = [
            (
                _code(c.row.title),
                c.what,
                *map(count, c.sizes),
                signed(c.growth),
            )
            for c in found.buffers[:ROWS]
        ]
        yield from _folded(
            "buffer", len(found.buffers), _table(("buffer", "", "old B", "new B", "change B"), "llrrr", buffers)
        )
    for left in found.left_alone:
        yield ""
        size = "unknown size" if left.size is None else f"{left.size:,} B"
        yield f"Left alone now: {_code(left.name)} in {_code(left.function)} ({size}): {_escape(left.reason)}"


def _table(head: Sequence[str], sides: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' if side == 'l' else '---:' for side in sides)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _folded(what: str, there: int, lines: Iterator[str]) -> Iterator[str]:
    yield from ("", f"<details><summary>{there} {what}{'' if there == 1 else 's'} changed</summary>", "")
    yield from lines
    if there > ROWS:
        yield from ("", f"and {there - ROWS} more")
    yield from ("", "</details>")


def _code(name: str) -> str:
    """Return a name as a code span that ends where it should, in a table, too."""
    text = printable(name).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or text != text.strip() or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _escape(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#@~&])", r"\\\1", printable(text))
