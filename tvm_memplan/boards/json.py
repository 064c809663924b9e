"""Boards as plain values for JSON; every size says its unit.

::

    {"format": "tvm-memplan/boards", "version": 1,
     "boards": [{"name": "nrf52840dk", "title": "Nordic nRF52840 DK", "cpu": "cortex-m4f",
                 "regions": [{"name": "sram", "kind": "sram", "address": 536870912 or null, "size_bytes": 262144,
                              "alignment_bytes": 1, "optional": false, "data": true, "spans": true, "note": ""}],
                 "notes": ["..."], "sources": ["..."], "verified": "..."}]}

`Board` and `Region` say what the fields mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm_memplan.boards.board import Board

FORMAT = "tvm-memplan/boards"
VERSION = 1


def boards_fields(boards: Iterable[Board]) -> dict[str, Any]:
    """Return boards as dicts, lists, strings, integers and booleans, in the form given above."""
    return {"format": FORMAT, "version": VERSION, "boards": [_board(board) for board in boards]}


def _board(board: Board) -> dict[str, Any]:
    return {
        "name": board.name,
        "title": board.title,
        "cpu": board.cpu,
        "regions": [
            {
                "name": region.name,
                "kind": region.kind,
                "address": region.address,
                "size_bytes": region.size_bytes,
                "alignment_bytes": region.alignment,
                "optional": region.optional,
                "data": region.data,
                "spans": region.spans,
                "note": region.note,
            }
            for region in board.regions
        ],
        "notes": list(board.notes),
        "sources": list(board.sources),
        "verified": board.verified,
    }
