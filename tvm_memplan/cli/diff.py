"""``tvm-memplan diff OLD NEW``: what changed between two plans, and whether it may."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tvm_memplan.cli.options import add_json
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput
from tvm_memplan.report.diff import (
    Growth,
    Limits,
    diff_fields,
    diff_markdown,
    diff_text,
    difference,
    overruns,
)
from tvm_memplan.report.read import read_report
from tvm_memplan.sizes import parse_size

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "What changed between two plans: by pool, by operator, by buffer; and is it within limits?"


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "diff", help=SAYS, description=SAYS, epilog="exit codes: 0 within the limits, 1 over a limit, 2 bad input"
    )
    for name in ("old", "new"):
        parser.add_argument(name, metavar=name.upper(), help=f"the {name} plan or report, as `show` reads it")
    parser.add_argument(
        "--max-growth",
        type=growth,
        metavar="SHARE|SIZE",
        help="by how much the plan of any pool may grow, such as 2%% or 4KiB (default: no limit)",
    )
    parser.add_argument(
        "--max-bytes",
        type=most,
        action="append",
        default=[],
        metavar="[POOL=]SIZE",
        help="how large the new plan of a pool, or of every pool, may be, such as arena=256KiB; may be repeated",
    )
    parser.add_argument("--markdown", action="store_true", help="print Markdown, to paste into a review")
    parser.add_argument("--all", action="store_true", help="list all changes, not only the 20 largest")
    add_json(parser, "the difference")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Compare and print; 1 when a limit is broken."""
    with progress(f"comparing {options.old} and {options.new}"):
        found = difference(read_report(options.old), read_report(options.new))
    broken = overruns(found, Limits(options.max_growth, tuple(options.max_bytes)))
    write_json(options, diff_fields(found, broken))
    if options.markdown:
        say(options, diff_markdown(found, broken))
    else:
        say(options, diff_text(found, broken, rows=None if options.all else 20))
    return 1 if broken else 0


def growth(text: str) -> Growth:
    """Read ``2%`` or ``4KiB``."""
    try:
        return Growth.read(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def most(text: str) -> tuple[str, int]:
    """Read ``SIZE`` or ``POOL=SIZE``."""
    pool, named, number = text.rpartition("=")
    if named and not pool:
        raise argparse.ArgumentTypeError(f"{text!r} names no pool; write SIZE or POOL=SIZE")
    try:
        return pool, parse_size(number)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("size: ")) from None
