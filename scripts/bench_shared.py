#!/usr/bin/env python
"""Local memory of kernels with shared memory: each buffer for itself, TVM's merge, ours, and the bound.

    python scripts/bench_shared.py

Needs a TVM of either line, pyopencl and an OpenCL device; the CPU's will do. Bytes are what the device reports; a merge
is "wrong" when a build without any merging computes other bits. TVM's merge is its whole pipeline with the merge of
static shared memory switched on; "added" are barriers that ours has beyond those of the unmerged build.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.opencl.building import bound_of, merged, planned, unplanned
from tests.opencl.device import run
from tests.opencl.kernels import KERNELS

SEEDS = (1, 2, 3)


def main() -> None:
    """Print the table."""
    print(f"{'kernel':32} {'naive':>7} {'TVM':>14} {'ours':>7} {'bound':>7}  {'outputs':8} added")
    for name, kernel in KERNELS.items():
        function = kernel.function
        sources = unplanned(function), merged(function), planned(function)[0]
        results = [[run(s, kernel.inputs(seed), kernel.block, kernel.grid) for seed in SEEDS] for s in sources]
        naive, theirs, ours = (result[0].local_bytes for result in results)
        right = [
            all(a.arguments["O"].tobytes() == b.arguments["O"].tobytes() for a, b in zip(result, results[0]))
            for result in results
        ]
        added = sources[2].count("barrier(") - sources[0].count("barrier(")
        merge = f"{theirs:,}" + ("" if right[1] else " wrong")
        equal = "equal" if right[2] else "DIFFER"
        print(f"{name:32} {naive:>7,} {merge:>14} {ours:>7,} {bound_of(function):>7,}  {equal:8} {added}")


if __name__ == "__main__":
    main()
