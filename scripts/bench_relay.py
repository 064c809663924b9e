"""Whole-program memory of models on a microcontroller: TVM's own planners beside ours.

Prints one row per model: buffers, naive, TVM's greedy_by_size, greedy_by_conflicts and hill_climb, ours, and the
bound, all in bytes of workspace without inputs, outputs and weights, all for one and the same lowered program; then,
for each board, whether it fits with 24 KiB kept for stack and heap, inputs and outputs counted, weights in flash.

    python scripts/bench_relay.py [MODEL ...]

Without arguments it takes four MLPerf Tiny models and person_detect from `models` in TVM_MEMPLAN_DATA.
"""

import os
import sys
import time
from pathlib import Path

from data_folder import DATA

os.environ.setdefault("TOPHUB_LOCATION", "NONE")

ROOT = Path(__file__).resolve().parent.parent
MODELS = DATA / "models"
DEFAULT = (
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/vww_96_int8.tflite",
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "mlperf_tiny/ad01_int8.tflite",
    "tflm/person_detect.tflite",
)
ALGORITHMS = ("greedy_by_size", "greedy_by_conflicts", "hill_climb")
BOARDS = ("stm32f746g_disco", "nrf52840dk")
RESERVE_BYTES = 24 * 1024


def main(arguments):
    paths = [Path(argument) for argument in arguments] or [MODELS / name for name in DEFAULT]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        print(f"bench_relay: no such file: {', '.join(map(str, missing))}; name model files", file=sys.stderr)
        return 2
    try:
        from tvm_memplan.errors import MemPlanError
        from tvm_memplan.relay import read_model
    except ImportError as error:
        print(f"bench_relay: {error}; this needs: pip install 'tvm-memplan[relay]'", file=sys.stderr)
        return 2
    print(
        "| model | buffers | naive | " + " | ".join(ALGORITHMS) + " | ours | bound | " + " | ".join(BOARDS) + " | s |"
    )
    print("|---" * (len(ALGORITHMS) + len(BOARDS) + 6) + "|", flush=True)
    worse = 0
    for path in paths:
        try:
            row, better = measure(*read_model(path))
        except MemPlanError as error:
            print(f"bench_relay: {error}", file=sys.stderr)
            return 2
        worse += not better
        print(f"| {path.stem} | " + " | ".join(row) + " |", flush=True)
    if worse:
        print(f"bench_relay: ours is larger than TVM's best on {worse} models", file=sys.stderr)
    return 1 if worse else 0


def measure(mod, params):
    """One row of the table, and whether ours is no larger than the best of TVM's."""
    from tvm_memplan.boards import load_board
    from tvm_memplan.budget import judge_budget
    from tvm_memplan.relay import compare, micro_config

    start = time.perf_counter()
    compared = compare(mod, params, micro_config("cortex-m3", less_workspace=False))
    seconds = time.perf_counter() - start
    buffers = sum(row.pool == "workspace" for row in compared.planned.report.allocations)
    figures = compared.planned.report.pool("workspace")
    ours = compared.planned.plan.size("workspace")
    row = [str(buffers), f"{figures.naive:,}", *(f"{compared.usmp[name]:,}" for name in ALGORITHMS)]
    verdicts = [judge_budget(compared.planned.report, load_board(board), RESERVE_BYTES) for board in BOARDS]
    fits = ["fits" if v.fits else f"over by {sum(r.excess for r in v.rows):,}" for v in verdicts]
    return [*row, f"{ours:,}", f"{figures.bound:,}", *fits, f"{seconds:.1f}"], ours <= min(compared.usmp.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
