"""What an exported program prints when it measures itself, read from whatever a serial line or an emulator logged.

::

    memplan: begin 1 kws
    memplan: arena 0 16016 32 sram1+sram2        its number, size and guard in bytes, and its pool
    memplan: run 0                               each input runs twice, over a pattern and over its complement
    memplan: same 0 1024 1056                    arena 0: bytes [1024, 1056) are as they were filled
    memplan: guard 0 3                           arena 0: the first 3 bytes of the guard or fewer were written
    memplan: run 1
    ...
    memplan: stack 4096 512                      bytes kept, bytes used
    memplan: end 4                               how many runs

What stands before ``memplan:`` on a line (a time stamp, say) and lines without it are passed over. A byte was written
unless it stayed as it was in every run: what a run writes cannot equal both a pattern and its complement. Spans of
fewer than 8 bytes are not printed, so up to 7 bytes in a row may count as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tvm_memplan.errors import BadInput
from tvm_memplan.report.measured.measurement import Arena, Measurement, Spans, Stack, both

_MARK = re.compile(r"memplan: (.*)")
VERSION = 1


@dataclass
class _Watched:
    """An arena while its lines are read; `same` are the spans of the run that is being read."""

    pool: str
    size: int
    guard: int
    untouched: Spans
    beyond: int = 0
    same: list[tuple[int, int]] = field(default_factory=list)


def measurement_from_log(text: str, name: str = "log", how: str = "") -> Measurement:
    """Read a log.

    Parameters
    ----------
    text : str
        All that was logged.
    name : str
        What messages call it.
    how : str
        Where the program ran, for the reader.

    Raises
    ------
    BadInput
        There is nothing of ours in it, it was cut short, or a line is wrong.
    """
    watched: list[_Watched] = []
    stack: Stack | None = None
    runs, ended, begun = 0, False, False
    for number, line in enumerate(text.splitlines(), 1):
        found = _MARK.search(line)
        if not found:
            continue
        words = found.group(1).split()
        at = f"{name}, line {number}"
        verb, rest = (words[0], words[1:]) if words else ("", [])
        if ended or (not begun and verb != "begin"):
            # Boards that start again after they are done begin again; the first measurement is the one.
            if ended:
                break
            raise BadInput(f"{at}: the start of the measurement is missing before {found.group(0)!r}")
        if verb == "begin":
            if begun:
                raise BadInput(f"{at}: the program began again before it was done: it crashed, or was reset")
            begun = True
            if _count(rest, 0, at) != VERSION:
                raise BadInput(f"{at}: version {rest[0]} of these lines is not known here, {VERSION} is")
        elif verb == "arena":
            size, guard = _count(rest, 1, at), _count(rest, 2, at)
            if _count(rest, 0, at) != len(watched) or len(rest) < 4 or runs:
                raise BadInput(f"{at}: not what is expected there: {found.group(0)!r}")
            pool = found.group(1).split(None, 4)[4].strip()
            watched.append(_Watched(pool, size, guard, ((0, size),) if size else ()))
        elif verb == "run":
            _close(watched, runs)
            if _count(rest, 0, at) != runs:
                raise BadInput(f"{at}: run {runs} was expected, and lines are missing")
            runs += 1
        elif verb in ("same", "guard") and runs:
            arena = _arena(watched, _count(rest, 0, at), at)
            if verb == "guard":
                arena.beyond = max(arena.beyond, _count(rest, 1, at))
                continue
            start, stop = _count(rest, 1, at), _count(rest, 2, at)
            if not (arena.same[-1][1] if arena.same else 0) <= start < stop <= arena.size:
                raise BadInput(f"{at}: not a span of the {arena.size} bytes of {arena.pool!r}: {found.group(0)!r}")
            arena.same.append((start, stop))
        elif verb == "stack":
            stack = Stack(_count(rest, 0, at), _count(rest, 1, at))
        elif verb == "end":
            _close(watched, runs)
            if _count(rest, 0, at) != runs:
                raise BadInput(f"{at}: {rest[0]} runs were made, and {runs} are in the log: lines are missing")
            ended = True
        else:
            raise BadInput(f"{at}: not what is expected there: {found.group(0)!r}")
    if not begun:
        raise BadInput(f"{name}: no line has 'memplan:' in it; it is printed by the program that `make measure` builds")
    if not ended or not runs:
        raise BadInput(f"{name}: the measurement does not end: the program crashed, or the log was cut short")
    arenas = tuple(
        Arena(w.pool, w.size, w.size + w.beyond if w.beyond else _high(w), 0, w.guard, w.untouched) for w in watched
    )
    bare = [arena.pool for arena in arenas if not arena.guard]
    unmeasured = (
        "spans of fewer than 8 bytes that no run wrote to: they count as written",
        *([f"writes behind the end of {', '.join(bare)}: there is no guard"] if bare else []),
        *([] if stack else ["the stack"]),
    )
    return Measurement(how or f"as {name} has them", runs, arenas, stack=stack, unmeasured=unmeasured)


def _high(watched: _Watched) -> int:
    """The byte after the last one that was written."""
    last = watched.untouched[-1] if watched.untouched else (0, 0)
    return last[0] if last[1] == watched.size else watched.size


def _close(watched: list[_Watched], runs: int) -> None:
    if runs:
        for arena in watched:
            arena.untouched = both(arena.untouched, tuple(arena.same))
            arena.same = []


def _arena(watched: list[_Watched], number: int, at: str) -> _Watched:
    if number >= len(watched):
        raise BadInput(f"{at}: there is no arena {number}")
    return watched[number]


def _count(words: list[str], index: int, at: str) -> int:
    if index >= len(words) or not words[index].isdecimal():
        raise BadInput(f"{at}: a number is missing or cut short")
    return int(words[index])
