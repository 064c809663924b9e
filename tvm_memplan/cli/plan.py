"""``tvm-memplan plan FILE``: plans a problem from a CSV or JSON file, or a model; prints figures and allocations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.boards import Board, Region
from tvm_memplan.budget import BoardPools, judge_budget, plan_for, pools_for, verdict_text
from tvm_memplan.cli.files import write_file
from tvm_memplan.cli.models import Planned, open_model
from tvm_memplan.cli.options import (
    add_dimensions,
    add_ends,
    add_json,
    add_planner,
    add_target,
    alignment,
    check_planner,
    refuse_model_options,
    searching,
    size,
)
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.problems import ProblemFile
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files import is_problem_file
from tvm_memplan.planning.model import Pool
from tvm_memplan.report.json import to_fields
from tvm_memplan.report.text import report_text
from tvm_memplan.sizes import show_size

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Plan a problem file or a model, and print its figures and allocations."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("plan", help=SAYS, description=SAYS)
    parser.add_argument(
        "file",
        metavar="PROBLEM|MODEL",
        help="minimalloc CSV, a problem or plan of ours as JSON, PyPTO JSON, .tflite, .onnx, .pt2, or a Relay or Relax "
        "module as text or JSON",
    )
    add_target(parser)
    add_dimensions(parser)
    add_ends(parser)
    add_planner(parser)
    parser.add_argument("--capacity", type=size, metavar="SIZE", help="bytes the arena may have (default: no limit)")
    parser.add_argument("--align", type=alignment, default=1, metavar="N", help="every offset is a multiple of N bytes")
    parser.add_argument("--all", action="store_true", help="print every allocation, not only the 40 largest")
    parser.add_argument("-o", "--output", metavar="OUT", help="write the offsets of a problem file, as .csv or .json")
    add_json(parser, "the report")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Plan and print; 1 when a capacity is given and the plan is larger."""
    problem_file = is_problem_file(options.file)
    if options.output and not problem_file:
        raise BadInput(f"-o writes the offsets of a problem file, and {options.file} is a model: use --json")
    if problem_file:
        refuse_model_options(options)
    if options.output and Path(options.output).suffix.lower() not in (".csv", ".json"):
        raise BadInput(f"-o {options.output}: offsets are written as .csv or .json, by the end of the name")
    check_planner(options.planner)
    source = ProblemFile(options.file) if problem_file else _model(options)
    if isinstance(source, ProblemFile) and source.own_pools and (options.capacity or options.align > 1):
        raise BadInput(f"{options.file} brings its own pools, so --capacity and --align have nothing to say")
    board = _arena(options.capacity, options.align) if options.capacity else None
    pools = pools_for(board) if board else BoardPools((Pool("arena", None, options.align),), (Pool("weights"),))
    with progress(f"planning {options.file} {searching(options)}"):
        if isinstance(source, ProblemFile) and source.own_pools:
            report = source.plan(pools, options.planner, options.time_limit)
        else:
            report = plan_for(pools, lambda pools: source.plan(pools, options.planner, options.time_limit))
    verdict = judge_budget(report, board) if board else None
    fits = verdict is None or verdict.fits
    write_json(options, to_fields(report))
    if isinstance(source, ProblemFile) and options.output and fits:
        write_file(options.output, source.offsets(options.output))
    say(options, report_text(report, rows=None if options.all else 40))
    if verdict is not None and not fits:
        say(options, f"\n{verdict_text(verdict)}")
        if options.output:
            say(options, f"{options.output} was not written: these offsets do not fit\n")
    return 0 if fits else 1


def _model(options: argparse.Namespace) -> Planned:
    shapes, bounds = dict(options.shape), dict(options.bound)
    return open_model(options.file, options.target, shapes, bounds, options.outputs, options.donate)


def _arena(capacity: int, align: int) -> Board:
    """Return a capacity as a board, so that it is judged in the same way and words."""
    region = Region("arena", capacity, "sram", alignment=align)
    return Board(f"an arena of {show_size(capacity)}", title="", cpu="", regions=(region,))
