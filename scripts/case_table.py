#!/usr/bin/env python
"""The programs of `tests.cases`, one line each: what TVM's own passes make of them, and what ours do.

    python scripts/case_table.py

Needs a TVM, of either line; the kernels also need pyopencl and an OpenCL device, which the CPU can be. Every program
runs in a process of its own, since some of them stop it. TVM's passes are StorageRewrite, and for kernels the merge of
shared memory. Exit code 0 when all of ours are right, 1 otherwise.
"""

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("TOPHUB_LOCATION", "NONE")
sys.path.append(str(Path(__file__).resolve().parent.parent))

SEEDS = (1, 2, 3)


def computes(name, ours):
    import numpy as np

    from tests.answers import ANSWERS
    from tests.passes.line import programs, running

    program = getattr(programs, name)
    shape, out, answer = ANSWERS[name]
    module = running.build(program, running.OURS, spy=False) if ours else running.build_as_tvm(program)
    for seed in SEEDS:
        values = np.random.default_rng(seed).normal(size=shape).astype("float32")
        got = running.run(module, [values, np.full(out, np.nan, "float32")])[0][1]
        right = answer(values)
        wrong = ~np.isclose(got, right, rtol=1e-5)
        if wrong.any():
            return f"wrong: {got[wrong][0]:.4g} for {right[wrong][0]:.4g}"
    return "right"


def runs(name, ours):
    from tests.opencl import building, kernels
    from tests.opencl.device import run

    kernel = getattr(kernels, name)
    source = building.planned(kernel.function)[0] if ours else building.merged(kernel.function)
    plain = building.unplanned(kernel.function)
    for seed in SEEDS:
        got, right = (run(s, kernel.inputs(seed), kernel.block, kernel.grid) for s in (source, plain))
        if got.arguments["O"].tobytes() != right.arguments["O"].tobytes():
            return f"wrong, in {got.local_bytes:,} B"
    return f"right, in {got.local_bytes:,} B"


def outcome(function, name, ours):
    """What `function` returns, or how it ends, from a process of its own."""
    command = [sys.executable, __file__, "--one", function.__name__, name, "ours" if ours else "TVM"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode == 0:
        return done.stdout.strip().splitlines()[-1]
    return f"the process ends with {done.returncode}"


def one(function, name, whose):
    """Print the outcome of one program."""
    try:
        print(globals()[function](name, whose == "ours"))
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        print(f"error: {lines[-1][:60] if lines else type(error).__name__}")


def main() -> int:
    from tests.cases import COMPUTED, KERNELS
    from tvm_memplan.dialects.line import installed_line

    print(f"TVM of the {installed_line()} line\n")
    print(f"{'case':>4}  {'right outcome':72}  {'TVM':34}  ours")
    wrong = 0
    rows = [(number, computes, *case) for number, case in COMPUTED.items()]
    rows += [(number, runs, *case) for number, case in KERNELS.items()]
    for number, function, law, name in sorted(rows, key=lambda row: row[0]):
        theirs, ours = outcome(function, name, False), outcome(function, name, True)
        if "has no attribute" in ours:
            theirs = ours = "cannot be written on this line"
        wrong += not ours.startswith(("right", "cannot"))
        print(f"{number:>4}  {law:72}  {theirs:34}  {ours}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(one(*sys.argv[2:]) if sys.argv[1:2] == ["--one"] else main())
