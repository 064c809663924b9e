"""``tvm-memplan check MODEL --board NAME``: does it fit, by how much, and what holds the peak?

Its JSON, with ``suggestions`` null but where they were asked for (``--suggest``) and activations do not fit::

    {"format": "tvm-memplan/check", "version": 1,
     "verdict": {...as in `tvm_memplan.budget.json`}, "report": {...as in `tvm_memplan.report.json`},
     "suggestions": {...as in `tvm_memplan.budget.suggest.json`} or null}
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_memplan.boards import load_board
from tvm_memplan.budget import BoardPools, judge_budget, plan_for, pools_for, verdict_fields, verdict_text
from tvm_memplan.cli.models import Planned, open_model
from tvm_memplan.cli.options import (
    add_board,
    add_dimensions,
    add_ends,
    add_json,
    add_planner,
    add_target,
    check_planner,
    searching,
)
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress
from tvm_memplan.report.json import to_fields
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.text import report_text

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


#: How many suggestions of a kind are printed; ``tvm-memplan suggest`` and JSON have all.
SUGGESTIONS = 5
SAYS = "Does a model fit a board: by how much, and what holds the peak?"


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("check", help=SAYS, description=SAYS)
    parser.add_argument("model", metavar="MODEL", help="a .tflite, .onnx or .pt2 file, or a TVM module as text or JSON")
    add_board(parser)
    add_target(parser)
    add_dimensions(parser)
    add_ends(parser)
    add_planner(parser)
    parser.add_argument("--suggest", action="store_true", help="where activations do not fit, compute what would help")
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

    with progress(f"planning {options.model} {searching(options)}"):
        report = plan_for(pools, plan)
    verdict = judge_budget(report, board, options.reserve, external=options.external)
    # Weights share nothing, so about them there is nothing to suggest.
    over = any(row.holds == "activations" and not row.fits for row in verdict.rows)
    text = f"{report_text(report, rows=0)}\n{verdict_text(verdict)}"
    suggestions = None
    if over and options.suggest:
        told, suggestions = _suggest(model, options)
        text += f"\n{told}"
    elif over:
        text += "  --suggest computes what would help\n"
    fields = {"verdict": verdict_fields(verdict), "report": to_fields(report), "suggestions": suggestions}
    write_json(options, {"format": "tvm-memplan/check", "version": 1, **fields})
    say(options, text)
    return 0 if verdict.fits else 1


def _suggest(model: Planned, options: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """What would help, as text and for JSON."""
    # It loads numba, which takes a second; the parser must not.
    from tvm_memplan.budget.suggest import advice_fields, advice_text, suggest

    with progress(f"trying what would make the plan of {options.model} smaller") as tell:
        advice = suggest(
            model.problem, planner=options.planner, time_limit=options.time_limit, titles=model.titles, tell=tell
        )
    return advice_text(advice, Path(options.model).name, SUGGESTIONS), advice_fields(advice)
