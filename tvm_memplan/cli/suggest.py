"""``tvm-memplan suggest PROBLEM|MODEL``: what would make the plan smaller, by how many bytes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.cli.files import write_file
from tvm_memplan.cli.models import Model, require_file
from tvm_memplan.cli.options import add_json, check_planner, seconds
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files import is_problem_file, read_problem

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "What would make a plan smaller: each figure is computed for it."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("suggest", help=SAYS, description=SAYS)
    parser.add_argument("file", metavar="PROBLEM|MODEL", help="as for `plan`; of a plan, its problem is taken")
    parser.add_argument("--planner", default="auto", metavar="NAME", help="how to plan (default: auto)")
    parser.add_argument(
        "--time-limit", type=seconds, default=3.0, metavar="SECONDS", help="for each plan that is tried (default: 3)"
    )
    parser.add_argument(
        "--longer", type=seconds, default=10.0, metavar="SECONDS", help="for the one longer search (default: 10)"
    )
    parser.add_argument("--target", help="TVM target for a model (default: C for a microcontroller)")
    add_json(parser, "the suggestions")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Try and print."""
    problem_file = is_problem_file(options.file)
    if options.target is not None and problem_file:
        raise BadInput(f"--target is for models, and {options.file} is a problem file")
    check_planner(options.planner)
    from tvm_memplan.budget.suggest import advice_fields, advice_text, suggest

    if not problem_file:
        require_file(options.file)
    model = None if problem_file else Model(options.file, options.target, {})
    problem = read_problem(options.file) if model is None else model.problem
    titles = {} if model is None else model.titles
    with progress(f"trying what would make the plan of {options.file} smaller"):
        advice = suggest(
            problem, planner=options.planner, time_limit=options.time_limit, longer=options.longer, titles=titles
        )
    if options.json:
        write_file(options.json, json.dumps(advice_fields(advice), indent=1) + "\n")
    print(advice_text(advice, Path(options.file).name), end="")
    return 0
