"""``tvm-memplan export MODEL --board NAME -o DIR``: a model as a folder of C for a board."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.boards import load_board
from tvm_memplan.budget import judge_budget, plan_for, pools_for, verdict_text
from tvm_memplan.cli.models import Model, driver
from tvm_memplan.cli.options import add_planner, check_planner, reserve
from tvm_memplan.cli.progress import progress
from tvm_memplan.cli.quiet import quiet
from tvm_memplan.errors import DoesNotFit
from tvm_memplan.export import files_of, make, memory_text, memory_use, write_folder
from tvm_memplan.report.text import report_text

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Write a model as a folder of plain C for a board, with every buffer where the plan has it."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("export", help=SAYS, description=SAYS)
    parser.add_argument("model", metavar="MODEL", help="a .tflite or .onnx file, or a Relay module as text or JSON")
    parser.add_argument("--board", required=True, metavar="NAME|FILE.toml", help="see `tvm-memplan boards`")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder, made where it is missing")
    parser.add_argument(
        "--reserve",
        type=reserve,
        action="append",
        default=[],
        metavar="[REGION=]SIZE",
        help="RAM to keep for stack, heap and the rest, such as 24KiB or dtcm=16KiB; once for each region",
    )
    parser.add_argument("--external", action="store_true", help="use memory outside the chip and optional regions, too")
    parser.add_argument(
        "--memory",
        type=_names,
        default=(),
        metavar="REGION,...",
        help="the regions of RAM to use, the preferred one first (default: all internal ones, the largest first)",
    )
    parser.add_argument(
        "--caller-io", action="store_true", help="inputs and outputs are supplied by the caller, not in the arena"
    )
    parser.add_argument(
        "--weights-in", default="", metavar="REGION", help="copy the weights to this RAM before the run"
    )
    parser.add_argument(
        "--build", action="store_true", help="run make there, and say what RAM is enough to run, the stack included"
    )
    parser.add_argument("--name", metavar="NAME", help="what names in C start with (default: the file's name)")
    parser.add_argument("--target", help="TVM target (default: C that runs on every core)")
    add_planner(parser)
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Build, judge and write; 1 when it does not fit, and then nothing is written."""
    board = load_board(options.board)
    use = {"external": options.external, "memory": options.memory}
    kept = options.reserve or 0
    pools_for(board, kept, **use)  # a wrong region shows before the model is read
    check_planner(options.planner)
    relay = driver()
    from tvm_memplan.relay.c_model import Options
    from tvm_memplan.relay.export_model import for_board
    from tvm_memplan.relay.targets import configuration_for

    how = Options(
        target=relay.micro_config() if options.target is None else configuration_for(options.target),
        planner=options.planner,
        time_limit=options.time_limit,
        io_in_pool=not options.caller_io,
        weights_in=options.weights_in,
        name=options.name or _name(options.model),
        title=Path(options.model).name,
    )
    with progress(f"reading {options.model}"), quiet():
        read = relay.read_model(options.model)
    try:
        with progress(f"building {options.model} for {options.board}"), quiet():
            made, device, verdict = for_board(read.mod, read.params, how, board, kept, **use)
        report = made.report
    except DoesNotFit:
        model = Model(options.model, options.target, {}, how.io_in_pool)
        with progress(f"planning {options.model}"):
            report = plan_for(
                pools_for(board, kept, **use), lambda pools: model.plan(pools, options.planner, options.time_limit)
            )
        verdict = judge_budget(report, board, kept, **use)
        if verdict.fits:
            raise  # it is the copy of the weights that does not fit
    print(report_text(report, rows=0))
    print(verdict_text(verdict), end="")
    if not verdict.fits:
        print(f"{options.output} was not written")
        return 1
    files = files_of(made, device)
    folder = write_folder(files, options.output)
    print(f"\n{folder}: {len(files)} files; its README.md says how to build them")
    if options.build:
        with progress(f"building {folder}"):
            make(folder)
        print()
        print(memory_text(memory_use(made, folder)), end="")
    return 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _name(path: str) -> str:
    """Return a name in C for the model: that of its file, in lower-case letters, digits and underscores."""
    name = re.sub(r"[^0-9a-z]+", "_", Path(path).stem.lower()).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".strip("_")
