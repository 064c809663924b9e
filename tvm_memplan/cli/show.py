"""``tvm-memplan show PLAN_OR_REPORT.json``: a plan as a picture."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.cli.files import write_file
from tvm_memplan.cli.options import add_json
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput
from tvm_memplan.report.json import to_fields
from tvm_memplan.report.map import map_text
from tvm_memplan.report.page import report_page
from tvm_memplan.report.plot import SUFFIXES, report_picture
from tvm_memplan.report.read import read_report

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Show a plan as a picture: who lies where and when, and what holds the peak."
PAGES = (".html", ".htm")


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("show", help=SAYS, description=SAYS)
    parser.add_argument(
        "file",
        metavar="PLAN|REPORT",
        help="JSON that `plan`, `check` or `export` wrote (--json, or -o for a problem file), a minimalloc CSV with "
        "offsets, or XLA's *-buffer-assignment.txt beside its *-live-range.txt",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write a web page (.html) or a picture (.svg, .png, .pdf), by its end; without it, a map is printed",
    )
    add_json(parser, "what is shown, as a report,")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Write or print the picture."""
    suffix = Path(options.output).suffix.lower() if options.output else ""
    if options.output and suffix not in (*PAGES, *SUFFIXES):
        raise BadInput(f"-o {options.output}: written are {', '.join((*PAGES, *SUFFIXES))}, by the end of the name")
    with progress(f"reading {options.file}"):
        report = read_report(options.file)
    if options.output:
        with progress(f"drawing {options.output}"):
            made = report_page(report) if suffix in PAGES else report_picture(report, options.output)
        write_file(options.output, made)
    write_json(options, to_fields(report))
    if not options.output:
        say(options, map_text(report, colour=_colour()))
    return 0


def _colour() -> bool:
    """Whether colours would reach somebody who wants them: https://no-color.org has the rule."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
