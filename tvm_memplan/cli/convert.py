"""``tvm-memplan convert PLAN --to FORMAT -o OUT``: a plan in the format of another tool."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm_memplan.cli.files import write_file
from tvm_memplan.planning.files import plan_to_csv, plan_to_tflm
from tvm_memplan.planning.model import Plan
from tvm_memplan.report.exchange import buffer_plan_c, c_header, chrome_trace, vela_summary
from tvm_memplan.report.exchange.torch_snapshot import torch_snapshot_file
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.read import read_plan_file, read_report

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Write a plan in the format of another tool."

#: What is made of a report, and what needs the plan itself, since it depends on the order of the buffers.
FROM_REPORT: dict[str, Callable[[MemoryReport], str | bytes]] = {
    "chrome-trace": chrome_trace,
    "torch-snapshot": torch_snapshot_file,
    "c-header": c_header,
    "vela-csv": vela_summary,
}
FROM_PLAN: dict[str, Callable[[Plan], str | bytes]] = {
    "minimalloc": plan_to_csv,
    "tflm": plan_to_tflm,
    "tflm-c": buffer_plan_c,
}


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("convert", help=SAYS, description=SAYS)
    parser.add_argument(
        "file", metavar="PLAN|REPORT", help="as `show` reads it; the formats of TFLM and minimalloc need a plan"
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=[*FROM_REPORT, *FROM_PLAN],
        help="chrome-trace (Perfetto), torch-snapshot (PyTorch's memory viewer), c-header, vela-csv (summary), "
        "minimalloc (CSV), tflm (OfflineMemoryAllocation), tflm-c (BufferPlan)",
        metavar="FORMAT",
    )
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Read, convert, write."""
    if options.to in FROM_PLAN:
        made = FROM_PLAN[options.to](read_plan_file(options.file))
    else:
        made = FROM_REPORT[options.to](read_report(options.file))
    write_file(options.output, made)
    return 0
