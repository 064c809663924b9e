"""Native code that may crash is tried in a process of its own first, so that a crash is an answer and not the end."""

from __future__ import annotations

import os
import subprocess
import sys

from tvm_memplan.errors import BadInput

_TARGET = """
import sys
import tvm
from tvm import te
x = te.placeholder((8,), name="x")
y = te.compute((8,), lambda i: x[i] + 1.0, name="y")
tvm.build(te.create_schedule(y.op), [x, y], target=sys.argv[1])
"""


def run_trial(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python `code` with `arguments` in a new process that imports what this one does."""
    search = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "PYTHONPATH": search},
    )


def try_target(target: str) -> None:
    """Generate code for a small function; LLVM ends the process on some triples that it does not know.

    Raises
    ------
    BadInput
        No code can be generated for `target`.
    """
    trial = run_trial(_TARGET, target)
    if trial.returncode:
        crashed = f"the code generator crashed (exit status {trial.returncode})"
        told = trial.stderr.strip().splitlines()[-1:] if trial.returncode > 0 else []
        raise BadInput(f"target {target!r}: no code can be generated for it: {(told or [crashed])[0]}")
