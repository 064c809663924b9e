"""``tvm-memplan export MODEL --board NAME -o DIR``: a model as a folder of C for a board.

Its JSON, with ``folder`` null where the model does not fit and nothing was written, and ``ram`` null but with
``--build``::

    {"format": "tvm-memplan/export", "version": 1,
     "verdict": {...as in `tvm_memplan.budget.json`}, "report": {...as in `tvm_memplan.report.json`},
     "folder": "model_c" or null, "files": ["Makefile", "README.md", ...],
     "ram": {...as in `tvm_memplan.export.ram_json`} or null}
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_memplan.boards import load_board
from tvm_memplan.budget import Verdict, judge_budget, plan_for, pools_for, verdict_fields, verdict_text
from tvm_memplan.cli.models import Model, driver
from tvm_memplan.cli.options import add_board, add_json, add_planner, add_target, check_planner, searching
from tvm_memplan.cli.output import say, write_json
from tvm_memplan.cli.progress import progress, stage
from tvm_memplan.errors import DoesNotFit
from tvm_memplan.export import MemoryUse, files_of, make, memory_fields, memory_text, memory_use, write_folder
from tvm_memplan.report.json import to_fields
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.text import report_text

if TYPE_CHECKING:
    from tvm_memplan.cli.options import Commands


SAYS = "Write a model as a folder of plain C for a board, with every buffer where the plan has it."


def add(commands: Commands) -> argparse.ArgumentParser:
    """Add the command to the parser."""
    parser = commands.add_parser("export", help=SAYS, description=SAYS)
    parser.add_argument("model", metavar="MODEL", help="a .tflite or .onnx file, or a Relay module as text or JSON")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder, made where it is missing")
    add_board(parser)
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
    add_target(parser)
    add_planner(parser)
    add_json(parser, "verdict, report and the names of the files")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace) -> int:
    """Build, judge and write; 1 when it does not fit, and then nothing is written."""
    board = load_board(options.board)
    how_used = {"external": options.external, "memory": options.memory}
    kept = options.reserve
    pools_for(board, kept, **how_used)  # a wrong region shows before the model is read
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
    with stage(f"reading {options.model}"):
        read = relay.read_model(options.model)
    try:
        with stage(f"building {options.model} for {options.board}"):
            made, device, verdict = for_board(read.mod, read.params, how, board, kept, **how_used)
        report = made.report
    except DoesNotFit:
        model = Model(options.model, options.target, {}, how.io_in_pool)
        with progress(f"planning {options.model} {searching(options)}"):
            report = plan_for(
                pools_for(board, kept, **how_used), lambda pools: model.plan(pools, options.planner, options.time_limit)
            )
        verdict = judge_budget(report, board, kept, **how_used)
        if verdict.fits:
            raise  # it is the copy of the weights that does not fit
    say(options, f"{report_text(report, rows=0)}\n{verdict_text(verdict)}")
    if not verdict.fits:
        say(options, f"{options.output} was not written\n")
        write_json(options, _fields(verdict, report))
        return 1
    files = files_of(made, device)
    folder = write_folder(files, options.output)
    say(options, f"\n{folder}: {len(files)} files; its README.md says how to build them\n")
    use = None
    if options.build:
        with progress(f"building {folder}"):
            make(folder)
        use = memory_use(made, folder)
        say(options, f"\n{memory_text(use)}")
    write_json(options, _fields(verdict, report, folder, sorted(files), use))
    return 0


def _fields(
    verdict: Verdict,
    report: MemoryReport,
    folder: Path | None = None,
    files: Sequence[str] = (),
    use: MemoryUse | None = None,
) -> dict[str, Any]:
    return {
        "format": "tvm-memplan/export",
        "version": 1,
        "verdict": verdict_fields(verdict),
        "report": to_fields(report),
        "folder": None if folder is None else str(folder),
        "files": list(files),
        "ram": use and memory_fields(use),
    }


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _name(path: str) -> str:
    """Return a name in C for the model: that of its file, in lower-case letters, digits and underscores."""
    name = re.sub(r"[^0-9a-z]+", "_", Path(path).stem.lower()).strip("_")
    return name if name[:1].isalpha() else f"model_{name}".strip("_")
