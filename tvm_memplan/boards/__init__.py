"""Boards as lists of memory regions, each with its source: those that ship here, and those of one's own.

>>> load_board("nrf52840dk").region("sram").size_bytes
262144
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from tvm_memplan.boards.board import KINDS, Board, Region
from tvm_memplan.boards.joined import joined_regions
from tvm_memplan.boards.read import read_board
from tvm_memplan.errors import BadInput

__all__ = ["KINDS", "Board", "Region", "joined_regions", "list_boards", "load_board", "read_board"]

_DATA = Path(__file__).parent / "data"


def list_boards() -> tuple[str, ...]:
    """Return the names of the boards that ship with the package, sorted."""
    return tuple(sorted(path.stem for path in _DATA.glob("*.toml")))


def load_board(name: str | Path) -> Board:
    """Return a board that ships here by its name, or one's own by the path of its TOML file.

    Whatever ends in ``.toml`` or has a folder in it is a path.

    Raises
    ------
    BadInput
        If there is no such board, or its file is malformed; the message says where.
    """
    text = str(name)
    if isinstance(name, Path) or text.endswith(".toml") or "/" in text or "\\" in text:
        return read_board(Path(name))
    known = list_boards()
    if text not in known:
        close = get_close_matches(text, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise BadInput(
            f"no board {text!r}; {hint}`tvm-memplan boards` lists the {len(known)} there are, "
            "and a board of your own is the path of a .toml file"
        )
    return read_board(_DATA / f"{text}.toml")
