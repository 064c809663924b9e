"""Runs a measurement in a process of its own: a kernel that writes where it should not may end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tvm_memplan.errors import RunFailed
from tvm_memplan.measuring.watch import VARIABLE, build_watch

RESULT = "result.json"

T = TypeVar("T")


def run_here(call: Callable[[], T]) -> T:
    """Run a measurement in this process, and say of any error that it is the run's.

    Raises
    ------
    RunFailed
        It raised something.
    """
    try:
        return call()
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[-1]
        raise RunFailed(f"the run failed: {type(error).__name__}: {said}") from error


def run_apart(module: str, folder: Path, watched: bool) -> dict[str, Any]:
    """Run a module of Python on a folder, and return what it left in ``result.json`` there.

    Parameters
    ----------
    module : str
        Its dotted name; it is given the folder.
    folder : Path
        What it reads, and where it leaves its result.
    watched : bool
        Whether allocators are watched.

    Raises
    ------
    RunFailed
        It crashed, or ended without a result; the message has the signal, or the last line that it printed.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    if watched:
        library = str(build_watch(folder))
        before = environment.get("LD_PRELOAD", "")
        environment |= {"LD_PRELOAD": f"{library} {before}".strip(), VARIABLE: library}
    done = subprocess.run(
        [sys.executable, "-m", module, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    result = folder / RESULT
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise RunFailed(f"the run was ended by {name}: a kernel may have written where it must not")
    if done.returncode or not result.is_file():
        said = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise RunFailed(f"the run failed: {said}")
    read: dict[str, Any] = json.loads(result.read_text())
    return read
