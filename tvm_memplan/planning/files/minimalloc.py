"""Problems and plans as CSV files, in the format of MiniMalloc (google/minimalloc).

One buffer a line, columns in any order::

    id,lower,upper,size,alignment,gaps,offset
    b1,0,10,64,16,3-5 8-9,128

===========  =========================  ======================================================================
column       other names                meaning
===========  =========================  ======================================================================
id           buffer, buffer_id          name of the buffer
lower        start, begin               first step at which it is alive
upper                                   step at which it is no longer alive (half-open)
end          (instead of upper)         last step at which it is alive (inclusive; then so are the ends of gaps)
size                                    bytes
alignment                               bytes, a power of two (1 when missing)
gaps                                    steps within its life at which it is not alive, as ``from-to from-to``
hint                                    an offset to try first; accepted and ignored, as our planners need none
offset                                  where it lies; ignored unless it is to be pinned
===========  =========================  ======================================================================

Gaps that keep a part of the buffer (``from-to@low:high``) are refused: a plan here knows whole buffers only.
The format knows one pool and no pairs of buffers; `tvm_memplan.planning.files.json` knows everything.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem

# Python converts no more than 4300 digits; nothing that is measured has a tenth of these.
_MOST_DIGITS = 1000

_COLUMNS = {
    **{name: "id" for name in ("id", "buffer", "buffer_id")},
    **{name: "lower" for name in ("lower", "start", "begin")},
    **{name: name for name in ("upper", "end", "size", "alignment", "gaps", "hint", "offset")},
}


def read_csv(path: str | Path, *, pools: Sequence[Pool] = (Pool("arena"),), pin_offsets: bool = False) -> Problem:
    """Read a problem from a file.

    Parameters
    ----------
    path : str or Path
        The file, UTF-8.
    pools : sequence of Pool
        Where its buffers may go.
    pin_offsets : bool
        Keep the offsets of an ``offset`` column, in the first pool; else they are ignored.

    Raises
    ------
    BadInput
        The file cannot be read or is malformed; the message says in which line and column.
    """
    return problem_from_csv(read_text(path), str(path), pools=pools, pin_offsets=pin_offsets)


def problem_from_csv(
    text: str, source: str = "<text>", *, pools: Sequence[Pool] = (Pool("arena"),), pin_offsets: bool = False
) -> Problem:
    """Read a problem from CSV text; `source` is what messages call it. See `read_csv`."""
    rows = _rows(text, source)
    line, header = next(rows, (1, []))
    if not header:
        raise BadInput(f"{source}:1: the file is empty, a header like id,lower,upper,size is expected")
    columns = _header(header, f"{source}:{line}")
    if pin_offsets and "offset" not in columns:
        raise BadInput(f"{source}:{line}: column 'offset' is missing, but offsets are to be pinned")
    buffers: list[Buffer] = []
    lines: dict[str, int] = {}
    for line, fields in rows:
        if len(fields) != len(columns):
            raise BadInput(f"{source}:{line}: {len(fields)} fields, but the header has {len(columns)} columns")
        row = _Row(_stripped(dict(zip(columns, fields))), f"{source}:{line}")
        buffer = row.buffer(pools[0].name if pin_offsets else None)
        if buffer.name in lines:
            raise BadInput(f"{row.where}: column 'id': {buffer.name!r} is already in line {lines[buffer.name]}")
        lines[buffer.name] = line
        buffers.append(buffer)
    return Problem(tuple(buffers), tuple(pools))


def plan_to_csv(plan: Plan) -> str:
    """Return the problem as CSV text with the planned offsets; see `problem_to_csv`.

    Pairs need no place here, since the offsets keep them already; a plan in several pools does need one. Where a buffer
    takes the bytes of a dying one, the latter's life ends as the former's begins: the format knows no two buffers that
    have bytes in common at one step.
    """
    used = sorted({place.pool for place in plan.placements})
    if len(used) > 1:
        raise BadInput(f"the plan uses pools {', '.join(used)}, and the CSV format knows one: write JSON instead")
    return _to_csv(_handed_over(plan), [place.offset for place in plan.placements])


def _handed_over(plan: Plan) -> Problem:
    """Return the problem with the lives of inputs cut where an output lies on their bytes."""
    buffers = list(plan.problem.buffers)
    for i, j in sorted(plan.problem.in_place):
        output, given = buffers[i], buffers[j]
        if plan.placements[i] == plan.placements[j] and output.alive_with(given):
            left = tuple(_without(given.live_ranges, output.live_ranges))
            if not left:
                raise BadInput(
                    f"{given.name!r} is alive only while {output.name!r} lies on its bytes, and the CSV format has no "
                    "place for such a pair: write JSON instead"
                )
            buffers[j] = replace(given, live_ranges=left)
    return replace(plan.problem, buffers=tuple(buffers))


def _without(spans: Sequence[LiveRange], taken: Sequence[LiveRange]) -> Iterator[LiveRange]:
    """Yield the steps of `spans` that are in none of `taken`."""
    for span in spans:
        start = span.start
        for other in sorted(taken):
            if start < other.start < span.stop:
                yield LiveRange(start, other.start)
            if other.start < span.stop:
                start = max(start, other.stop)
        if start < span.stop:
            yield LiveRange(start, span.stop)


def problem_to_csv(problem: Problem) -> str:
    """Return a problem as CSV text, as `problem_from_csv` reads it.

    Alignments and gaps have a column where there are any. What describes pools and buffers to people (names of pools,
    scopes, kinds, operators) has no place in the format and is left out. Raises BadInput for what would be lost and
    make another problem of it: several pools, pins, given conflicts, pairs, views; and for a buffer without live range.
    """
    _check_live_ranges(problem)
    lost = {
        "several pools": len(problem.pools) > 1,
        "pinned buffers": any(buffer.pinned for buffer in problem.buffers),
        "given conflicts": problem.conflicts is not None,
        "separate pairs": bool(problem.separate),
        "in-place pairs": bool(problem.in_place),
        "views": bool(problem.views),
        "penalties": bool(problem.penalties),
    }
    if any(lost.values()):
        what = ", ".join(name for name, there in lost.items() if there)
        raise BadInput(f"the problem has {what}, which the CSV format has no place for: write JSON instead")
    return _to_csv(problem, None)


def _check_live_ranges(problem: Problem) -> None:
    unknown = next((buffer.name for buffer in problem.buffers if not buffer.live_ranges), None)
    if unknown is not None:
        raise BadInput(f"buffer {unknown!r} has no live range, which the CSV format needs")


def _to_csv(problem: Problem, offsets: Sequence[int] | None) -> str:
    buffers = problem.buffers
    _check_live_ranges(problem)
    aligned = any(buffer.alignment != 1 for buffer in buffers)
    gaps = any(len(buffer.live_ranges) > 1 for buffer in buffers)
    header = ["id", "lower", "upper", "size"]
    header += ["alignment"] * aligned + ["gaps"] * gaps + ["offset"] * (offsets is not None)
    lines = [",".join(header)]
    for i, buffer in enumerate(buffers):
        spans = buffer.live_ranges
        row: list[object] = [_quoted(buffer.name), spans[0].start, spans[-1].stop, buffer.size]
        row += [buffer.alignment] * aligned
        row += [" ".join(f"{a.stop}-{b.start}" for a, b in pairwise(spans))] * gaps
        row += [] if offsets is None else [offsets[i]]
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    # By hand: the csv module leaves a carriage return unquoted, and its own reader takes that for the end of a line.
    return '"' + name.replace('"', '""') + '"' if any(sign in name for sign in ',"\r\n') else name


def _rows(text: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Every line that is not blank, with the number of its first line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadInput(f"{source}:{line}: not CSV ({error})") from error
        if any(field.strip() for field in fields):
            yield line, fields


def _header(header: list[str], where: str) -> list[str]:
    columns = []
    for name in map(str.strip, header):
        if name not in _COLUMNS:
            raise BadInput(f"{where}: unknown column {name!r}; known are {', '.join(_COLUMNS)}")
        if _COLUMNS[name] in columns:
            raise BadInput(f"{where}: column {name!r} comes twice")
        columns.append(_COLUMNS[name])
    for name in ("id", "lower", "size"):
        if name not in columns:
            raise BadInput(f"{where}: column {name!r} is missing")
    if ("upper" in columns) == ("end" in columns):
        raise BadInput(f"{where}: one of the columns 'upper' (half-open) and 'end' (inclusive) is needed")
    return columns


def _stripped(fields: dict[str, str]) -> dict[str, str]:
    """Spaces around anything but a name mean nothing."""
    return {column: text if column == "id" else text.strip() for column, text in fields.items()}


class _Row:
    """One line by column, and what messages call it."""

    def __init__(self, fields: dict[str, str], where: str) -> None:
        self.fields = fields
        self.where = where

    def buffer(self, pin_to: str | None) -> Buffer:
        if not self.fields["id"]:
            raise self.error("id", "is empty")
        size = self.integer("size")
        alignment = self.integer("alignment") if self.fields.get("alignment") else 1
        if alignment < 1 or alignment & (alignment - 1):
            raise self.error("alignment", f"must be a power of two, got {alignment}")
        offset = self.integer("offset") if self.fields.get("offset") else None
        if pin_to is not None and offset is None:
            raise self.error("offset", "is empty, but offsets are to be pinned")
        pinned = Placement(pin_to, offset) if pin_to is not None and offset is not None else None
        return Buffer(self.fields["id"], size, self.live_ranges(), alignment, pinned=pinned)

    def live_ranges(self) -> tuple[LiveRange, ...]:
        last = "upper" if "upper" in self.fields else "end"
        more = 0 if last == "upper" else 1
        start, stop = self.integer("lower"), self.integer(last) + more
        if stop <= start:
            raise self.error(last, f"the live range [{start}, {stop}) is empty")
        spans = []
        for low, high in sorted(self.gap(text, more) for text in self.fields.get("gaps", "").split()):
            if low < start or high > stop:
                raise self.error("gaps", f"the gap [{low}, {high}) lies outside [{start}, {stop}) or meets another")
            if start < low:
                spans.append(LiveRange(start, low))
            start = high
        if start < stop:
            spans.append(LiveRange(start, stop))
        if not spans:
            raise self.error("gaps", "nothing is left of the live range")
        return tuple(spans)

    def gap(self, text: str, more: int) -> tuple[int, int]:
        low, dash, high = text.partition("-")
        if "@" in text:
            raise self.error("gaps", f"{text!r} keeps a part of the buffer, which is not supported; leave the gap out")
        if not (dash and _is_number(low) and _is_number(high)):
            raise self.error("gaps", f"must look like 3-5 8-9, got {text!r}")
        if int(high) + more <= int(low):
            raise self.error("gaps", f"the gap {text!r} is empty")
        return int(low), int(high) + more

    def integer(self, column: str) -> int:
        text = self.fields[column]
        if text.startswith("-") and _is_number(text[1:]):
            raise self.error(column, f"must not be negative, got {text}")
        if len(text) > _MOST_DIGITS:
            raise self.error(column, f"is {len(text)} characters long, which is no number of bytes or steps")
        if not _is_number(text):
            raise self.error(column, f"must be an integer, got {text!r}")
        return int(text)

    def error(self, column: str, what: str) -> BadInput:
        return BadInput(f"{self.where}: column {column!r}: {what}")


def _is_number(text: str) -> bool:
    # isdecimal also takes the digits of other scripts.
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
