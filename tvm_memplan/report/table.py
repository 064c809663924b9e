"""Plain tables and lists for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

#: No line that this package prints is longer, in columns.
WIDTH = 100
_BREAKS = re.compile(r"[\r\n\t]+")
_UNIT = re.compile(r" (B|KiB|MiB|GiB)\b")


def printable(text: str) -> str:
    """Return `text` on one line, with what moves a cursor or changes colours written as Python writes it."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shorten(text: str, width: int) -> str:
    """Return `text` in at most `width` columns; a long one keeps both ends, since names differ in either."""
    text = printable(text)
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: str, width: int) -> Iterator[str]:
    """Yield the lines of a table that fits `width` columns.

    `right` has one letter per column: ``r`` for numbers, ``l`` for text, ``L`` for text that gives way when the
    line would be too long (all such columns share what is left).
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    wide = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    soft = [i for i, letter in enumerate(right) if letter == "L"]
    room = width - 2 * (len(head) - 1) - sum(w for i, w in enumerate(wide) if i not in soft)
    for done, i in enumerate(sorted(soft, key=lambda i: wide[i])):
        wide[i] = min(wide[i], max(4, room // (len(soft) - done)))
        room -= wide[i]
    for row in (head, *rows):
        cells = (
            shorten(cell, size).rjust(size) if letter == "r" else shorten(cell, size).ljust(size)
            for cell, size, letter in zip(row, wide, right)
        )
        yield "  ".join(cells).rstrip()


def wrap(text: str, first: str = "", rest: str = "") -> Iterator[str]:
    """Yield `text` as lines of at most `WIDTH` columns; a number and its unit stay on one line."""
    tied = _UNIT.sub("\u00a0\\1", printable(_BREAKS.sub(" ", text)))
    for line in textwrap.wrap(tied, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False):
        yield line.replace("\u00a0", " ")


def bullet(text: str) -> Iterator[str]:
    """Yield the lines of one point of a list."""
    return wrap(text, "  - ", "    ")
