"""Regions that touch are one region to a buffer.

A data sheet splits RAM into blocks (four on a MAX78000); where one ends and the next of the same kind begins, a
buffer may lie across the seam, unless the board says that nothing may span it (the two halves on a K64F).
"""

from __future__ import annotations

from dataclasses import replace

from tvm_memplan.boards.board import Board, Region


def joined_regions(board: Board) -> tuple[Region, ...]:
    """Return the regions of `board` with touching ones of the same kind joined, named ``first+second``."""
    joined: list[Region] = []
    for region in sorted(board.regions, key=lambda r: (r.address is None, r.address or 0)):
        if joined and _touch(joined[-1], region):
            joined[-1] = _join(joined[-1], region)
        else:
            joined.append(region)
    return tuple(joined)


def _touch(before: Region, after: Region) -> bool:
    alike = all(getattr(before, key) == getattr(after, key) for key in ("kind", "alignment", "optional", "data"))
    return alike and after.spans and before.end is not None and before.end == after.address


def _join(before: Region, after: Region) -> Region:
    return replace(
        before,
        name=f"{before.name}+{after.name}",
        size_bytes=before.size_bytes + after.size_bytes,
        note="; ".join(note for note in (before.note, after.note) if note),
    )
