"""Options that several commands take, and how they read their values."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tvm_memplan.budget.pools import Reserve
from tvm_memplan.errors import BadInput
from tvm_memplan.sizes import parse_size

if TYPE_CHECKING:
    from tvm_memplan.cli.parser import Parser

    Commands = argparse._SubParsersAction[Parser]


def add_board(parser: argparse.ArgumentParser) -> None:
    """Add ``--board``, ``--reserve`` and ``--external``."""
    parser.add_argument("--board", required=True, metavar="NAME|FILE.toml", help="see `tvm-memplan boards`")
    parser.add_argument(
        "--reserve",
        type=reserve,
        action="append",
        default=[],
        metavar="[REGION=]SIZE",
        help="RAM to keep for stack, heap and the rest, such as 24KiB or dtcm=16KiB; may be repeated, for one region "
        "all count",
    )
    parser.add_argument("--external", action="store_true", help="use memory outside the chip and optional regions, too")


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add ``--target``."""
    parser.add_argument("--target", help="TVM target for a model (default: C that runs on every core)")


def add_planner(parser: argparse.ArgumentParser) -> None:
    """Add ``--planner`` and ``--time-limit``."""
    parser.add_argument(
        "--planner", default="auto", metavar="NAME", help="how to plan (default: auto, the best of all)"
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=3.0,
        metavar="SECONDS",
        help="how long auto and exact may search for each plan (default: 3; they end sooner when a plan is proved "
        "optimal)",
    )


def check_planner(name: str) -> None:
    """Refuse an unknown planner before the work begins."""
    # The planners load numba, which takes a second; the parser must not.
    from tvm_memplan.planning.planners import PLANNERS

    if name not in PLANNERS:
        close = get_close_matches(name, PLANNERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise BadInput(f"no planner is called {name!r}; {hint}there are {', '.join(PLANNERS)}")


def searching(options: argparse.Namespace) -> str:
    """What ``--planner`` and ``--time-limit`` ask for, in words."""
    limited = f", at most {options.time_limit:g} s a search" if options.planner in ("auto", "exact") else ""
    return f"with {options.planner}{limited}"


def add_dimensions(parser: argparse.ArgumentParser) -> None:
    """Add ``--shape`` and ``--bound``."""
    parser.add_argument(
        "--shape",
        type=shape,
        action="append",
        default=[],
        metavar="NAME=D,D,...",
        help="the shape of an input that an ONNX model leaves open",
    )
    parser.add_argument(
        "--bound",
        type=bound,
        action="append",
        default=[],
        metavar="NAME=N",
        help="the largest value of a dimension that the model leaves open (apache-tvm 0.27)",
    )


def refuse_model_options(options: argparse.Namespace) -> None:
    """Refuse what says how a model is read, where a problem file is."""
    for name in ("target", "shape", "bound", "outputs", "donate"):
        if getattr(options, name) not in (None, [], "own"):
            raise BadInput(f"--{name} is for models, and {options.file} is a problem file")


def add_ends(parser: argparse.ArgumentParser) -> None:
    """Add ``--outputs`` and ``--donate``."""
    parser.add_argument(
        "--outputs",
        choices=("own", "arena", "caller"),
        default="own",
        help="whether a model's outputs are allocated apart, lie in the arena, or are written into tensors that the "
        "caller supplies (apache-tvm 0.27; default: own)",
    )
    parser.add_argument(
        "--donate",
        action="append",
        default=[],
        metavar="NAME",
        help="an input whose bytes the model may overwrite (apache-tvm 0.27)",
    )


def add_json(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json", metavar="OUT", help=f"write {what} to this file as JSON; `-` prints it in the place of the text"
    )


def size(text: str) -> int:
    """Read a positive size."""
    try:
        read = parse_size(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("size: ")) from None
    if read == 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be more than nothing")
    return read


def alignment(text: str) -> int:
    """Read a power of two."""
    read = size(text)
    if read & (read - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is not a power of two")
    return read


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``NAME=D,D,...``."""
    name, named, numbers = text.rpartition("=")
    dims = numbers.split(",")
    if not name or not named or not all(dim.isdecimal() and int(dim) for dim in dims):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write NAME=D,D,... with numbers of 1 or more")
    return name, tuple(int(dim) for dim in dims)


def bound(text: str) -> tuple[str, int]:
    """Read ``NAME=N``."""
    name, named, number = text.partition("=")
    if not name or not named or not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no bound; write NAME=N with a number of 1 or more")
    return name, int(number)


def seconds(text: str) -> float:
    """Read a time that is not negative."""
    try:
        read = float(text)
    except ValueError:
        read = -1.0
    if not 0 <= read < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return read


def reserve(text: str) -> Reserve:
    """Read ``SIZE`` or ``REGION=SIZE``."""
    region, named, number = text.rpartition("=")
    if named and not region:
        raise argparse.ArgumentTypeError(f"{text!r} names no region; write SIZE or REGION=SIZE")
    try:
        return Reserve(parse_size(number), region)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("size: ")) from None
