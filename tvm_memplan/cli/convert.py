"""``tvm-memplan convert PLAN --to FORMAT -o OUT``: a plan in the format of another tool.

Its JSON says what was written::

    {"format": "tvm-memplan/conversion", "version": 1,
     "file": "report.json", "to": "chrome-trace", "output": "trace.json", "size_bytes": 31415}
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm_memplan.cli.files import STDOUT, write_file
from tvm_memplan.cli.options import add_json
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files import plan_to_tflm
from tvm_memplan.planning.model import Plan
from tvm_memplan.report.exchange import buffer_plan_c, c_header, chrome_trace, pool_csv, vela_summary
from tvm_memplan.report.exchange.torch_snapshot import torch_snapshot_file
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.read import read_plan_file, read_report

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Write a plan in the format of another tool."
POOL_CSV = "minimalloc"

#: What is made of a report, and what needs the plan itself, since it depends on the order of the buffers.
FROM_REPORT: dict[str, Callable[[MemoryReport], str | bytes]] = {
    "chrome-trace": chrome_trace,
    "torch-snapshot": torch_snapshot_file,
    "c-header": c_header,
    "vela-csv": vela_summary,
}
FROM_PLAN: dict[str, Callable[[Plan], str | bytes]] = {
    "tflm": plan_to_tflm,
    "tflm-c": buffer_plan_c,
}


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("convert", help=SAYS, description=SAYS)
    parser.add_argument("file", metavar="PLAN|REPORT", help="as `show` reads it; the formats of TFLM need a plan")
    parser.add_argument(
        "--to",
        required=True,
        choices=[*FROM_REPORT, POOL_CSV, *FROM_PLAN],
        help="chrome-trace (Perfetto), torch-snapshot (PyTorch's memory viewer), c-header, vela-csv (summary), "
        "minimalloc (CSV), tflm (OfflineMemoryAllocation), tflm-c (BufferPlan)",
        metavar="FORMAT",
    )
    parser.add_argument(
        "--pool",
        metavar="NAME",
        help="for minimalloc, which knows one: the pool (default: the one without weights)",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the file to write; `-` is the standard output"
    )
    add_json(parser, "what was written")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Read, convert, write."""
    if options.output == options.json == STDOUT:
        raise BadInput("-o and --json cannot both be the standard output")
    if options.pool is not None and options.to != POOL_CSV:
        raise BadInput(f"--pool is for {POOL_CSV}; {options.to} has a place for all pools or for no more than one")
    with progress(f"converting {options.file}"):
        made = _made(options)
    data = made.encode() if isinstance(made, str) else made
    write_file(options.output, made)
    named = {"file": options.file, "to": options.to, "output": options.output, "size_bytes": len(data)}
    write_json(options, {"format": "tvm-memplan/conversion", "version": 1, **named})
    if options.output != STDOUT:
        say(options, f"{options.output}: {len(data):,} B\n")
    return 0


def _made(options: argparse.Namespace) -> str | bytes:
    if options.to in FROM_PLAN:
        return FROM_PLAN[options.to](read_plan_file(options.file))
    report = read_report(options.file)
    return pool_csv(report, options.pool) if options.to == POOL_CSV else FROM_REPORT[options.to](report)
