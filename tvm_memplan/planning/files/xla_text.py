"""The two texts of an XLA buffer assignment, read line by line; `tvm_memplan.planning.files.xla` shows their form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tvm_memplan.errors import BadInput

ASSIGNMENT = "BufferAssignment:"
_RANGES = "HloLiveRange (max "
_ALLOCATION = re.compile(r"allocation (\d{1,9}): size (\d{1,18})((?:, .*)?):")
_VALUE = re.compile(r" value: <(\d{1,18}) (\S+)((?: \(\w+\))?) @\d+> \(size=(\d{1,18}),offset=(\d{1,18})\): (.*)")
_TOTAL = re.compile(r"Total bytes used: (\d{1,18})\b")
_STEP = re.compile(r"    (\d{1,9}):(.+)")
_LIFE = re.compile(r"    (.+\{[\d,]*\}):(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True)
class Value:
    """A value: where it lies in its pool, and its first and last step, both counted in."""

    name: str
    pool: str
    offset: int
    size: int
    first: int
    last: int


def read_values(text: str, source: str, lives: dict[str, tuple[int, int]], count: int) -> Iterator[Value]:
    """Yield the values that are not on a stack; `lives` and `count` (of steps) are from `read_lives`."""
    lines = text.splitlines()
    if not lines or lines[0] != ASSIGNMENT:
        raise BadInput(f"{source}:1: must be {ASSIGNMENT!r}")
    used: dict[str, int] = {}
    total = size = base = 0
    pool: str | None = None
    names: set[str] = set()
    for number, line in enumerate(lines[1:], 2):
        where = f"{source}:{number}"
        if match := _ALLOCATION.fullmatch(line):
            size, pool = int(match[2]), _pool(match[3])
            total += size
            if pool is not None:
                base = used.get(pool, 0)
                used[pool] = base + size
        elif match := _VALUE.fullmatch(line):
            _, name, _, bytes_, offset, _ = match.groups()
            if int(offset) + int(bytes_) > size:
                raise BadInput(f"{where}: {name!r} ends beyond its allocation of {size} bytes")
            key = name if name.endswith("}") else f"{name}{{}}"
            if key in names:
                raise BadInput(f"{where}: {name!r} comes twice")
            names.add(key)
            if pool is None:
                continue
            always = (0, max(0, count - 1)) if pool in ("constant", "parameter") else None
            life = lives.get(key, always)
            if life is None:
                raise BadInput(f"{where}: {name!r} has no live range")
            yield Value(name, pool, base + int(offset), int(bytes_), *life)
        elif match := _TOTAL.match(line):
            if int(match[1]) != total:
                raise BadInput(f"{where}: the total is {match[1]} bytes, but the allocations above have {total}")
            break
        elif line and line != " reused by buffers of a different color:" and not line.startswith("  value: <"):
            raise BadInput(f"{where}: neither an allocation nor a value: {line[:60]!r}")
    missing = next((name for name in lives if name not in names), None)
    if missing is not None or not text.endswith("\n"):
        what = f"{missing!r} has a live range and no place" if missing else "its last line does not end"
        raise BadInput(f"{source}: the file is cut short or not of the same module: {what}")


def _pool(words: str) -> str | None:
    """Return the pool of an allocation; None for what is on a stack."""
    if ", thread-local" in words:
        return None
    for mark, pool in ((", constant", "constant"), (", parameter ", "parameter"), (", preallocated-temp", "temp")):
        if mark in words:
            return pool
    return "output" if ", maybe-live-out" in words or ", output " in words else "temp"


def read_lives(text: str, source: str) -> tuple[tuple[str, ...], dict[str, tuple[int, int]]]:
    """Return the instruction of every step, and the first and last step of every value, by its name."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(_RANGES):
        raise BadInput(f"{source}:1: must begin with {_RANGES!r}")
    steps: list[str] = []
    lives: dict[str, tuple[int, int]] = {}
    part = ""
    for number, line in enumerate(lines[1:], 2):
        where = f"{source}:{number}"
        if line.startswith("  Live ranges at "):
            return tuple(steps), lives
        if line in ("  InstructionSequence:", "  BufferLiveRange:"):
            part = line.strip()
        elif part == "InstructionSequence:" and (match := _STEP.fullmatch(line)):
            if int(match[1]) != len(steps):
                raise BadInput(f"{where}: step {match[1]} comes after {len(steps)} others")
            steps.append(match[2])
        elif part == "BufferLiveRange:" and (match := _LIFE.fullmatch(line)):
            first, last = int(match[2]), int(match[3])
            if last < first:
                raise BadInput(f"{where}: the live range {first}-{last} ends before it begins")
            lives[match[1]] = first, last
        else:
            raise BadInput(f"{where}: neither a step nor a live range: {line[:60]!r}")
    raise BadInput(f"{source}: the file is cut short: no line says 'Live ranges at'")
