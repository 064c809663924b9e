"""Board files: a small TOML form, checked key by key.

::

    name = "my_board"                  # optional in a file of one's own: the file's name serves
    title = "My board"                 # optional
    cpu = "cortex-m4f"                 # optional
    verified = "data sheet read"       # optional
    sources = ["data sheet, table 3"]  # optional
    notes = []                         # optional

    [[regions]]
    name = "sram"
    kind = "sram"                      # sram, tcm, flash, external, external-ro
    address = 0x20000000               # optional
    size = "256 KiB"                   # or size_bytes = 262144
    alignment = 4                      # optional; bytes
    optional = false                   # optional; see `tvm_memplan.boards.Region` for these three
    data = true
    spans = true
    note = ""

Every message names the file, the region and the key, and says what would be right.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tvm_memplan.boards.board import KINDS, Board, Region
from tvm_memplan.errors import BadInput
from tvm_memplan.sizes import parse_size

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_WORDS: dict[type, str] = {str: "a string", int: "an integer", bool: "true or false", list: "a list of strings"}
_BOARD_KEYS: dict[str, type] = {
    "name": str,
    "title": str,
    "cpu": str,
    "verified": str,
    "sources": list,
    "notes": list,
    "regions": list,
}
_REGION_KEYS: dict[str, type] = {
    "name": str,
    "kind": str,
    "address": int,
    "size_bytes": int,
    "size": str,
    "alignment": int,
    "optional": bool,
    "data": bool,
    "spans": bool,
    "note": str,
}


def read_board(path: Path) -> Board:
    """Read and check one board file.

    Raises
    ------
    BadInput
        If it cannot be read, is not TOML (the message has the line), or breaks a rule of boards.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: is not valid TOML: {error}") from error
    except (ValueError, RecursionError) as error:
        # What the parser does not expect itself: a number of thousands of digits, lists nested a thousand deep.
        raise BadInput(f"{path}: cannot be read as TOML: {error}") from error
    try:
        return _board(data, path.stem)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _board(data: Mapping[str, Any], stem: str) -> Board:
    _check_keys(data, _BOARD_KEYS, "")
    tables = data.get("regions", [])
    if not tables:
        raise BadInput("no [[regions]]; a board needs at least one region of RAM")
    if not all(isinstance(table, dict) for table in tables):
        raise BadInput("regions must be tables, each under a [[regions]] heading")
    name = data.get("name", stem)
    return Board(
        name=name,
        title=data.get("title", name),
        cpu=data.get("cpu", ""),
        regions=tuple(_region(table, number) for number, table in enumerate(tables, 1)),
        sources=_strings(data, "sources"),
        verified=data.get("verified", ""),
        notes=_strings(data, "notes"),
    )


def _region(table: Mapping[str, Any], number: int) -> Region:
    name = table.get("name")
    who = f"region {name!r}" if isinstance(name, str) and name else f"region {number}"
    _check_keys(table, _REGION_KEYS, f"{who}: ")
    for key in ("name", "kind"):
        if not table.get(key):
            hint = f"; one of {', '.join(KINDS)}" if key == "kind" else ""
            raise BadInput(f"{who}: key {key!r} is missing{hint}")
    if ("size" in table) == ("size_bytes" in table):
        raise BadInput(f'{who}: give either size ("320 KiB") or size_bytes (327680), and only one of them')
    size = table.get("size", table.get("size_bytes"))
    given = {key: table[key] for key in table if key not in ("size", "size_bytes")}
    return Region(size_bytes=parse_size(size, f"{who}: size") if isinstance(size, str) else size, **given)


def _check_keys(table: Mapping[str, Any], known: Mapping[str, type], who: str) -> None:
    for key, value in table.items():
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys are {', '.join(known)}"
            raise BadInput(f"{who}unknown key {key!r}; {hint}")
        # A size may be a number of bytes as well; and TOML's true is an int to Python, never to us.
        wanted: tuple[type, ...] = (str, int) if key in ("size", "size_bytes") else (known[key],)
        if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
            words = " or ".join(_WORDS[kind] for kind in wanted) if key != "regions" else "tables under [[regions]]"
            raise BadInput(f"{who}key {key!r} must be {words}, got {reprlib.repr(value)}")


def _strings(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = data.get(key, [])
    for value in values:
        if not isinstance(value, str):
            raise BadInput(f"key {key!r} must be a list of strings, got {reprlib.repr(value)} in it")
    return tuple(values)
