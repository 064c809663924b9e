"""Progress for people: on a terminal only, and gone when the work is done.

rich draws it where it is installed (`pip install 'tvm-memplan[progress]'`; the extras with a TVM bring it): a line that
turns and counts the seconds, for as long as the work takes. Without rich a line says what is going on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from tvm_memplan.cli.quiet import quiet
from tvm_memplan.report.table import shorten

#: Says what of the work is being done.
Tell = Callable[[str], None]


@contextmanager
def progress(what: str, descriptor: int = 2) -> Iterator[Tell]:
    """Say on a terminal what is going on and for how long; into a file or pipe, say nothing.

    Parameters
    ----------
    what : str
        The work.
    descriptor : int
        Of the stream to say it on.

    Yields
    ------
    callable
        Takes what of the work is being done now.
    """
    if sys.stderr is None or not os.isatty(descriptor):
        yield lambda detail: None
        return
    with os.fdopen(os.dup(descriptor), "w", errors="backslashreplace") as terminal:
        try:
            import rich.progress  # noqa: F401 - it takes a tenth of a second, which a pipe need not wait for
        except ImportError:
            shown = _plain(what, terminal)
        else:
            shown = _live(what, terminal)
        with shown as tell:
            yield tell


@contextmanager
def stage(what: str) -> Iterator[Tell]:
    """`progress` of work that TVM does, whose routine remarks are held back."""
    with quiet() as terminal, progress(what, terminal) as tell:
        yield tell


@contextmanager
def _live(what: str, terminal: TextIO) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(file=terminal)
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)

    def fitting(text: str) -> str:
        return shorten(text, max(8, console.width - len("x 0:00:00 ") - 1))

    # What is printed meanwhile is not for this stream, and to catch it would hide it from pipes.
    apart = {"redirect_stdout": False, "redirect_stderr": False}
    with Progress(*columns, console=console, transient=True, **apart) as shown:
        task = shown.add_task(fitting(what))
        yield lambda detail: shown.update(task, description=fitting(f"{what}: {detail}"))


@contextmanager
def _plain(what: str, terminal: TextIO) -> Iterator[Tell]:
    start = time.monotonic()
    print(f"{what} ...", end="", file=terminal, flush=True)
    try:
        yield lambda detail: None
    finally:
        print(f"\r{what} ... {time.monotonic() - start:.1f} s", file=terminal, flush=True)
