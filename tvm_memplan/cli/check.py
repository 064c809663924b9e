"""``tvm-memplan check MODEL --board NAME``: does it fit, by how much, and what holds the peak?"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tvm_memplan.boards import load_board
from tvm_memplan.budget import (
    BoardPools,
    Reserve,
    Verdict,
    judge_budget,
    plan_for,
    pools_for,
    verdict_fields,
    verdict_text,
)
from tvm_memplan.cli.files import write_file
from tvm_memplan.cli.models import open_model
from tvm_memplan.cli.options import Once, add_dimensions, add_ends, add_json, add_planner, check_planner, reserve
from tvm_memplan.cli.progress import progress
from tvm_memplan.report.json import to_fields
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.text import report_text

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Does a model fit a board: by how much, and what holds the peak?"


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("check", help=SAYS, description=SAYS)
    parser.add_argument("model", metavar="MODEL", help="a .tflite, .onnx or .pt2 file, or a TVM module as text or JSON")
    parser.add_argument("--board", required=True, metavar="NAME|FILE.toml", help="see `tvm-memplan boards`")
    parser.add_argument(
        "--reserve",
        type=reserve,
        action=Once,
        default=Reserve(),
        metavar="[REGION=]SIZE",
        help="RAM to keep for stack, heap and the rest, such as 24KiB or dtcm=16KiB",
    )
    parser.add_argument("--external", action="store_true", help="use memory outside the chip and optional regions, too")
    parser.add_argument("--target", help="TVM target (default: C for a microcontroller)")
    add_dimensions(parser)
    add_ends(parser)
    add_planner(parser)
    add_json(parser, "verdict and report")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Plan, judge, print; 0 when it fits and 1 when it does not."""
    # The board first: its mistakes show at once, a model takes seconds.
    board = load_board(options.board)
    pools = pools_for(board, options.reserve, external=options.external)
    check_planner(options.planner)
    shapes, bounds = dict(options.shape), dict(options.bound)
    model = open_model(options.model, options.target, shapes, bounds, options.outputs, options.donate)

    def plan(pools: BoardPools) -> MemoryReport:
        return model.plan(pools, options.planner, options.time_limit)

    with progress(f"planning {options.model}"):
        report = plan_for(pools, plan)
    verdict = judge_budget(report, board, options.reserve, external=options.external)
    if options.json:
        write_file(options.json, _json(verdict, report))
    print(report_text(report, rows=0))
    print(verdict_text(verdict), end="")
    return 0 if verdict.fits else 1


def _json(verdict: Verdict, report: MemoryReport) -> str:
    """``verdict`` as `verdict_fields` has it, ``report`` as `tvm_memplan.report.json` describes it."""
    fields = {
        "format": "tvm-memplan/check",
        "version": 1,
        "verdict": verdict_fields(verdict),
        "report": to_fields(report),
    }
    return json.dumps(fields, indent=1) + "\n"
