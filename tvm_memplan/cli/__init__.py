"""The command line, a file per command: ``tvm-memplan check``, ``plan``, ``show``, ``diff``, ``export`` and others.

Nothing heavy (TVM, numba) is imported before a command needs it, so that ``--help`` answers at once.
Exit codes: 0 for what fits or is fine, 1 for what does not fit, 2 for bad input, 3 for a fault of ours,
130 after Ctrl-C, 141 when the reader of the output has gone.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence

from tvm_memplan import __version__
from tvm_memplan.cli import boards, check, convert, diff, export, measure, plan, show, suggest
from tvm_memplan.cli.parser import Parser
from tvm_memplan.errors import DoesNotFit, MemPlanError, OverBudget

EXIT_CODES = "exit codes: 0 fits or fine, 1 does not fit, 2 bad input, 3 internal error"
FITS, DOES_NOT_FIT, BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Names come from models, and a terminal need not be able to show them.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        if sys.stdout is not None:  # closed by the caller, who wants the exit code alone
            sys.stdout.flush()
        return code
    except MemPlanError as error:
        _show(options, f"tvm-memplan: {error}")
        return DOES_NOT_FIT if isinstance(error, (OverBudget, DoesNotFit)) else BAD_INPUT
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        _drop_output()
        return PIPE_CLOSED
    except OSError as error:
        # Files are read and written with messages of their own, so this is the output.
        _drop_output()
        _show(options, f"tvm-memplan: the output cannot be written: {error.strerror or error}")
        return BAD_INPUT
    except KeyboardInterrupt:
        _show(options, "tvm-memplan: interrupted")
        return INTERRUPTED
    except Exception as error:
        _show(options, f"tvm-memplan: internal error: {type(error).__name__}: {error}")
        print("This is a fault of tvm-memplan, not of your input; --traceback shows where.", file=sys.stderr)
        return INTERNAL_ERROR


def _drop_output() -> None:
    # Python would complain once more when it closes stdout.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(options: argparse.Namespace, message: str) -> None:
    # Not raised again: Python would exit with 1, which means "does not fit" here.
    if options.traceback:
        traceback.print_exc()
    print(message, file=sys.stderr)


def _parser() -> Parser:
    parser = Parser(
        prog="tvm-memplan",
        description="Plans the memory of a model at compile time: does it fit, and what holds the peak?",
        epilog=f"`tvm-memplan COMMAND --help` says more. Every command has --json. {EXIT_CODES}",
    )
    parser.add_argument("--version", action="version", version=f"tvm-memplan {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (check, plan, show, diff, suggest, convert, export, measure, boards):
        made = command.add(commands)
        made.add_argument("--traceback", action="store_true", help="show where an error comes from")
        made.epilog = made.epilog or EXIT_CODES
        made.set_defaults(parser=made)
    return parser
