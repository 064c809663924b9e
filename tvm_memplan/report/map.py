"""A memory map in plain characters: time across, offset up, a letter per buffer.

::

      8 B |bbcc        what covers most of the map has letters, which a list below explains; + is another buffer,
          |bbcc        . is a part of the arena that nobody holds; a cell shows who holds most of it, or . where
          |aacc        more than half of it is idle
      0 B |aacc
          +----
           0123        below: how many tenths of the arena are in use
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_letters

import numpy as np
import numpy.typing as npt

from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import Allocation, MemoryReport, PoolFigures
from tvm_memplan.report.table import WIDTH, shorten, table
from tvm_memplan.report.timeline import timeline
from tvm_memplan.sizes import round_size, show_size

#: Rows of a map, columns of its axis, and how many buffers have a letter.
ROWS, AXIS, LETTERS = 20, 11, 26
IDLE, SMALL = ".", "+"
#: Background colours by kind, as ANSI terminals have them (black letters on top).
_COLOURS = {Kind.INPUT: 42, Kind.OUTPUT: 45, Kind.WEIGHTS: 47, Kind.ACTIVATION: 44, Kind.WORKSPACE: 43}


def map_text(report: MemoryReport, *, colour: bool = False) -> str:
    """Return the maps of all pools of a report, none of its lines wider than `WIDTH` columns.

    Parameters
    ----------
    report : MemoryReport
        What to show. Pools of nothing but weights, which share nothing, have a line and no map.
    colour : bool
        Mark the kinds of buffers with the colours of an ANSI terminal.
    """
    lines = [shorten(f"{report.model or 'a plan'}, planned with {report.planner}", WIDTH)]
    for figures in report.pools:
        lines += ["", *_pool(report, figures, colour)]
    return "\n".join(lines) + "\n"


def _pool(report: MemoryReport, figures: PoolFigures, colour: bool) -> Iterator[str]:
    capacity = "" if figures.capacity is None else f", capacity {show_size(figures.capacity)}"
    name = shorten(figures.pool, 24)
    yield shorten(f"{name}: {show_size(figures.planned)} planned, bound {show_size(figures.bound)}{capacity}", WIDTH)
    rows = [row for row in report.allocations if row.pool == figures.pool and row.size]
    lives = [live for row in rows for live in row.live_ranges]
    if not lives or all(row.kind is Kind.WEIGHTS for row in rows):
        return
    start, stop = min(live.start for live in lives), max(live.stop for live in lives)
    room = WIDTH - AXIS - 1
    columns = (room // (stop - start)) * (stop - start) if stop - start <= room else room
    cells = _cells(rows, max(figures.planned, *(row.end for row in rows)), (start, stop), columns)
    seen = np.bincount(cells[cells >= 0], minlength=len(rows))
    named = sorted((i for i in range(len(rows)) if seen[i]), key=lambda i: (-seen[i], -rows[i].size, i))[:LETTERS]
    signs = dict(zip(sorted(named), ascii_letters))
    for k, line in enumerate(cells):
        byte = figures.planned * (ROWS - k - 1) // ROWS
        label = round_size(byte) if (ROWS - k - 1) % 4 == 0 else ""
        drawn = "".join(
            _paint(IDLE, None, colour) if i < 0 else _paint(signs.get(i, SMALL), rows[i].kind, colour) for i in line
        )
        yield f"{label:>{AXIS - 2}} |{drawn}"
    yield f"{'':>{AXIS - 2}} +{'-' * columns}"
    yield f"{'step':>{AXIS - 2}}  {_ends(start, stop - 1, columns)}"
    curve = timeline(rows)
    per = (stop - start) / columns
    tenths = (10 * curve.at(start + int((k + 0.5) * per)) // max(1, figures.planned) for k in range(columns))
    yield f"{'in use':>{AXIS - 2}}  {''.join(str(min(9, n)) for n in tenths)}"
    yield f"{'':>{AXIS - 2}}  in tenths of the arena; {IDLE} is idle, {SMALL} another buffer"
    if figures.peak:
        where = f"peak at step {figures.peak.step}"
        doing = report.at(figures.peak.step, figures.peak.operator, WIDTH - len(where) - 2)
        yield shorten(f"{where}{', ' if doing else ''}{doing}", WIDTH)
    held = set(figures.peak.holders) if figures.peak else set()
    legend = [
        (
            sign,
            row.title,
            row.kind.value,
            f"{row.offset:,}",
            f"{row.size:,}",
            " ".join(f"[{live.start}, {live.stop})" for live in row.live_ranges),
            "at the peak" if row.name in held else "",
        )
        for sign, row in ((sign, rows[i]) for i, sign in signs.items())
    ]
    yield from table(("", "buffer", "kind", "offset B", "size B", "alive in steps", ""), legend, "lLlrrLl", WIDTH)


def _cells(rows: list[Allocation], height: int, span: tuple[int, int], columns: int) -> npt.NDArray[np.int64]:
    """Return who holds most of each cell, top row first: an index into `rows`, or -1 where most of it is idle."""
    start, stop = span
    most, total = np.zeros((ROWS, columns)), np.zeros((ROWS, columns))
    who = np.full((ROWS, columns), -1)
    for i, row in enumerate(rows):
        tall = _share(row.offset / height * ROWS, row.end / height * ROWS, ROWS)
        lives = [(live.start, live.stop) for live in row.live_ranges] or [span]
        for a, b in lives:
            wide = _share((a - start) / (stop - start) * columns, (b - start) / (stop - start) * columns, columns)
            area = np.outer(tall, wide)
            total += area
            larger = area > most
            most[larger], who[larger] = area[larger], i
    who[total < 0.5] = -1
    return who[::-1]


def _share(low: float, high: float, count: int) -> npt.NDArray[np.float64]:
    """Return how much of each of `count` unit cells lies between `low` and `high`."""
    edges = np.arange(count, dtype=np.float64)
    share: npt.NDArray[np.float64] = np.maximum(np.minimum(edges + 1, high) - np.maximum(edges, low), 0)
    return share


def _ends(first: int, last: int, columns: int) -> str:
    right = str(last)
    return f"{first}{right:>{columns - len(str(first))}}" if columns > len(str(first)) + len(right) else str(first)


def _paint(sign: str, kind: Kind | None, colour: bool) -> str:
    if not colour:
        return sign
    return f"\x1b[2m{sign}\x1b[0m" if kind is None else f"\x1b[30;{_COLOURS[kind]}m{sign}\x1b[0m"
