"""``tvm-memplan suggest PROBLEM|MODEL``: what would make the plan smaller, by how many bytes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.cli.models import open_model
from tvm_memplan.cli.options import (
    add_dimensions,
    add_ends,
    add_json,
    add_planner,
    add_target,
    check_planner,
    refuse_model_options,
    seconds,
)
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress
from tvm_memplan.planning.files import is_problem_file, read_problem

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "What would make a plan smaller: each figure is computed for it."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("suggest", help=SAYS, description=SAYS)
    parser.add_argument("file", metavar="PROBLEM|MODEL", help="as for `plan`; of a plan, its problem is taken")
    add_target(parser)
    add_dimensions(parser)
    add_ends(parser)
    add_planner(parser)
    parser.add_argument(
        "--longer", type=seconds, default=10.0, metavar="SECONDS", help="for the one longer search (default: 10)"
    )
    add_json(parser, "the suggestions")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Try and print."""
    problem_file = is_problem_file(options.file)
    if problem_file:
        refuse_model_options(options)
    check_planner(options.planner)
    from tvm_memplan.budget.suggest import advice_fields, advice_text, suggest

    model = None
    if problem_file:
        problem = read_problem(options.file)
    else:
        shapes, bounds = dict(options.shape), dict(options.bound)
        model = open_model(options.file, options.target, shapes, bounds, options.outputs, options.donate)
        problem = model.problem
    with progress(f"trying what would make the plan of {options.file} smaller") as tell:
        advice = suggest(
            problem,
            planner=options.planner,
            time_limit=options.time_limit,
            longer=options.longer,
            titles={} if model is None else model.titles,
            tell=tell,
        )
    write_json(options, advice_fields(advice))
    say(options, advice_text(advice, Path(options.file).name))
    return 0
