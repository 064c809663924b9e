"""Builds an exported folder's measuring program, runs it, and returns what it printed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tvm_memplan.errors import BadInput, OverBudget, RunFailed
from tvm_memplan.export.ram_use import make


def run_measure(folder: Path, command: str = "", seconds: float = 300) -> str:
    """Build and run ``measure.c`` of a folder.

    Parameters
    ----------
    folder : Path
        What `tvm-memplan export` wrote.
    command : str
        What runs a program that is not for this machine and prints its lines; the program's path is put behind it.
        Empty takes the folder's own: an emulator where it knows one for the board.
    seconds : float
        When to give up: a program that crashed on a board stands still.

    Raises
    ------
    BadInput
        It cannot be built, or there is nothing to run it with.
    OverBudget
        It is too large for the board.
    RunFailed
        It did not end in time, or not well.
    """
    if not (folder / "measure.c").is_file():
        raise BadInput(f"{folder}: no measure.c; `tvm-memplan export MODEL --board NAME -o {folder}` writes one")
    try:
        make(folder, "measure")
    except OverBudget:
        # There may be no room for the guards alone.
        make(folder, "measure", "GUARD_BYTES=0")
    arguments = ["make", "-s", "-C", str(folder), "run-measure", *([f"RUN={command}"] if command else [])]
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        printed, _ = process.communicate()
        last = (printed.strip().splitlines() or ["nothing"])[-1]
        raise RunFailed(
            f"{folder}: the program did not end within {seconds:g} s; the last it printed: {last}"
        ) from None
    if process.returncode:
        said = [line for line in (*printed.splitlines(), *errors.splitlines()) if "memplan:" not in line]
        hint = next((line for line in said if "***" in line and "RUN" in line), "")
        if hint:
            raise BadInput(
                f"{folder}: no emulator is known for its board: give what runs a program there with --run, or run "
                "build/measure.elf on the board and pass what it prints with --from"
            )
        raise RunFailed(f"{folder}: the program failed: {(said or ['it printed nothing'])[0]}")
    return printed
