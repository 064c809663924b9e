#!/usr/bin/env python
"""What needs a CUDA device: kernels with planned shared memory against unplanned ones, on the device.

    python scripts/check_gpu.py

For each kernel, static and dynamic: are the outputs equal bit for bit, how many bytes of shared memory do the compiled
kernels take (asked of nvcc, where it is), and how long do they run. Exits with 1 when outputs differ, and with 0,
saying what it skipped, where there is no apache-tvm with CUDA or no device.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

SEEDS = (1, 2, 3)


def main() -> int:
    """Run and return the exit code."""
    try:
        import tvm
        from tvm import tirx  # noqa: F401
    except ImportError:
        return skipped("needs a TVM with tirx: pip install 'tvm-memplan[relax]'")
    if not tvm.runtime.enabled("cuda"):
        return skipped("the installed TVM has no CUDA runtime")
    device = tvm.cuda(0)
    if not device.exist:
        return skipped("there is no CUDA device")
    from tests.opencl.building import both, source_of
    from tests.opencl.kernels import KERNELS

    target = tvm.target.Target.from_device(device)
    wrong = 0
    print(f"{'kernel':32} {'scope':11} {'outputs':8} {'shared bytes':>16} {'microseconds':>18}")
    for name, kernel in KERNELS.items():
        for scope in ("shared", "shared.dyn"):
            builds = both(replace(kernel, scope=scope).function, dict(target.export()))
            results, times = [], []
            for built in builds:
                for seed in SEEDS:
                    arrays = [tvm.runtime.tensor(a, device) for a in kernel.inputs(seed).values()]
                    built["entry"](*arrays)
                    results.append([array.numpy().tobytes() for array in arrays])
                timer = built.mod.time_evaluator("entry", device, number=100, repeat=5)
                times.append(1e6 * float(sorted(timer(*arrays).results)[2]))
            equal = results[: len(SEEDS)] == results[len(SEEDS) :]
            wrong += not equal
            sizes = " -> ".join(shared_bytes(source_of(built)) for built in builds)
            clock = f"{times[0]:.1f} -> {times[1]:.1f}"
            print(f"{name:32} {scope:11} {'equal' if equal else 'DIFFER':8} {sizes:>16} {clock:>18}")
    return int(wrong > 0)


def skipped(why: str) -> int:
    """Say so."""
    print(f"skipped: all kernels with shared memory (outputs, shared bytes, times): {why}")
    return 0


def shared_bytes(source: str) -> str:
    """The static shared memory of the only kernel of `source`; dynamic memory is given at the launch."""
    compiler = shutil.which("nvcc")
    if compiler is None or "extern __shared__" in source:
        return "?"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cu")
        file.write_text(source, encoding="utf-8")
        command = [compiler, "-cubin", "-arch=native", "-Xptxas", "-v", "-o", f"{folder}/kernel.cubin", str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    found = re.search(r"(\d+) bytes smem", said)
    return found[1] if found else "0"


if __name__ == "__main__":
    sys.exit(main())
