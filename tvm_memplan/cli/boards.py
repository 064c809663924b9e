"""``tvm-memplan boards [NAME]``: which boards there are, and what memory one has."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tvm_memplan.boards import KINDS, Board, Region, list_boards, load_board
from tvm_memplan.boards.json import boards_fields
from tvm_memplan.budget.pools import usable_regions
from tvm_memplan.cli.options import add_json
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.report.table import WIDTH, bullet, printable, table
from tvm_memplan.sizes import format_size

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "List the boards, or show the memory of one."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("boards", help=SAYS, description=SAYS)
    parser.add_argument("name", nargs="?", metavar="NAME|FILE.toml", help="the board to show; without it, all of them")
    add_json(parser, "the boards, with all that is known of them,")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the list or the board."""
    boards = [load_board(name) for name in (list_boards() if options.name is None else [options.name])]
    write_json(options, boards_fields(boards))
    lines = _list(boards) if options.name is None else _show(boards[0])
    say(options, "\n".join(lines) + "\n")
    return 0


def _list(boards: Iterable[Board]) -> Iterator[str]:
    rows = []
    for board in boards:
        usable = usable_regions(board, 0, external=False)
        rows.append((board.name, board.title, board.cpu, _sum(usable.ram), _sum(usable.rom)))
    yield from table(("board", "title", "cpu", "RAM", "flash"), rows, "lLLrr", WIDTH)


def _sum(regions: tuple[Region, ...]) -> str:
    return format_size(sum(region.size_bytes for region in regions)) if regions else "-"


def _show(board: Board) -> Iterator[str]:
    yield printable(f"{board.name}: {board.title}" + (f", {board.cpu}" if board.cpu else ""))
    yield ""
    rows = [
        (
            region.name,
            "-" if region.address is None else f"0x{region.address:08x}",
            f"{region.size_bytes:,}",
            format_size(region.size_bytes),
            region.kind,
            KINDS[region.kind] if region.data else "instruction memory, holds no buffer",
            "optional" if region.optional else "",
        )
        for region in board.regions
    ]
    yield from table(("region", "address", "size B", "", "kind", "use", ""), rows, "LlrrlLl", WIDTH)
    notes = [f"{region.name}: {region.note}" for region in board.regions if region.note]
    for title, lines in (("notes", [*notes, *board.notes]), ("sources", board.sources)):
        if lines:
            yield ""
            yield f"{title}:"
            for line in lines:
                yield from bullet(line)
    if board.verified:
        yield ""
        yield printable(f"verified: {board.verified}")
