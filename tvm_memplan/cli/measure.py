"""``tvm-memplan measure MODEL|FOLDER``: what a run really uses, held against the plan."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.cli.models import driver, refuse_bounds, require_file
from tvm_memplan.cli.options import add_dimensions, add_json, add_planner, check_planner, seconds
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress, stage
from tvm_memplan.dialects.line import RELAX, installed_line
from tvm_memplan.errors import BadInput, UnsupportedIR
from tvm_memplan.planning.files.text import read_text
from tvm_memplan.report.measured import Reality, compare, measurement_from_log, reality_fields, reality_text

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Run a planned model over memory that is filled with a pattern, and hold what it uses against the plan."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "measure",
        help=SAYS,
        description=SAYS,
        epilog="exit codes: 0 the plan holds, 1 something is written or asked for beyond it, 2 bad input",
    )
    parser.add_argument(
        "file",
        metavar="MODEL|FOLDER|REPORT",
        help="a model, built and run on this machine; a folder that `export` wrote, built and run as C; or, with "
        "--from, its report.json",
    )
    parser.add_argument(
        "--from",
        dest="log",
        metavar="LOG",
        help="what the program of `make measure` printed on a board; - is the input",
    )
    parser.add_argument(
        "--run",
        dest="command",
        default="",
        metavar="COMMAND",
        help="for a folder: what runs a program on the board and prints its lines",
    )
    parser.add_argument(
        "--wait", type=seconds, default=300.0, metavar="SECONDS", help="for a folder: when to give up (default: 300)"
    )
    add_dimensions(parser)
    add_planner(parser)
    parser.add_argument("--inputs", type=_count, default=2, metavar="N", help="random inputs of a model (default: 2)")
    add_json(parser, "what was found")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Measure, compare and print; 1 when reality exceeds the plan."""
    folder = Path(options.file).is_dir()
    if options.log and folder:
        raise BadInput(f"--from reads a log against a report: give {options.file}/report.json")
    if options.command and not folder:
        raise BadInput(f"--run is for a folder that `tvm-memplan export` wrote, and {options.file} is none")
    if (options.shape or options.bound) and (folder or options.log):
        raise BadInput("--shape and --bound are for models that are built here")
    if options.log:
        reality = _of_log(options.file, options.log)
    elif folder:
        reality = _of_folder(Path(options.file), options)
    else:
        reality = _of_model(options)
    write_json(options, reality_fields(reality))
    say(options, reality_text(reality))
    return 0 if reality.holds else 1


def _of_log(report: str, log: str) -> Reality:
    from tvm_memplan.report.read import read_report

    text = sys.stdin.read() if log == "-" else read_text(log)
    name = "the input" if log == "-" else log
    return compare(read_report(report), measurement_from_log(text, name))


def _of_folder(folder: Path, options: argparse.Namespace) -> Reality:
    from tvm_memplan.export import run_measure
    from tvm_memplan.report.read import read_report

    if not (folder / "report.json").is_file():
        raise BadInput(f"{folder}: no report.json: not a folder that `tvm-memplan export` wrote")
    report = read_report(folder / "report.json")
    with progress(f"building and running {folder}"):
        printed = run_measure(folder, options.command, options.wait)
    return compare(report, measurement_from_log(printed, str(folder), "of the exported C"))


def _of_model(options: argparse.Namespace) -> Reality:
    path = options.file
    require_file(path)
    check_planner(options.planner)
    from tvm_memplan.planning.planners import plan

    planner = partial(plan, planner=options.planner, time_limit=options.time_limit)
    shapes, bounds, name = dict(options.shape), dict(options.bound), Path(path).name
    if installed_line() == RELAX:
        from tvm_memplan import relax

        with stage(f"reading {path}"):
            module = relax.read_model(path, shapes)
        try:
            with stage(f"building {path} for this machine"):
                executable, report = relax.build(module, "llvm", planner=planner, bounds=bounds or None)
        except RuntimeError as error:  # TVM's own errors are such
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise UnsupportedIR(f"{path}: TVM cannot build it for llvm: {said[0]}") from error
        function = report.model  # without a name of its own, a report is called after its function
        inputs = relax.random_inputs(module, function, sizes=bounds, count=options.inputs)
        with progress(f"running {path}"):
            built = relax.Built(executable, replace(report, model=name))
            return relax.measure(built, inputs, function=function)
    refuse_bounds(bounds)
    relay = driver()
    with stage(f"reading {path}"):
        model = relay.read_model(path, shapes)
    with stage(f"building {path} for this machine"):
        made = relay.build(model.mod, model.params, "llvm", planner=planner, model=name)
    with progress(f"running {path}"):
        found: Reality = relay.measure(made, count=options.inputs)
        return found


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)
