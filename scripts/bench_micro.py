"""Models on an emulated microcontroller: planned bytes, TVM's planners, TFLM's arena, and what a board really used.

Each model is exported, cross-compiled and run in QEMU on random inputs, the arena filled with a pattern first. Outputs
are compared byte by byte with TVM's unplanned build on this machine, and every tensor between operators with an
unplanned build of the same operators, once as the board makes them and once as the same exported C makes them here.
(The two differ where TVM's code shifts 64-bit numbers by 64 bits and more, which C leaves undefined:
`fixed_point_multiply_per_axis` for channels of tiny scale.) Inputs and outputs lie in the arena in every column. TVM's
planners have the operators that TVM makes; the arena in C ends with its last buffer, planned and bound are rounded up
to the alignment. The second table has a model that does not fit a region with TVM's default plan, and does with ours,
the linker enforcing the region.

    python scripts/bench_micro.py [MODEL ...]

Needs the `relay` extra, pytest (its harness is that of the tests), arm-none-eabi-gcc, make and qemu-system-arm. Without
arguments it takes six models from `models` in TVM_MEMPLAN_DATA, which it needs for the second table, too.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from data_folder import DATA

os.environ.setdefault("TOPHUB_LOCATION", "NONE")

ROOT = Path(__file__).resolve().parent.parent
MODELS = DATA / "models"
#: The smallest arena in which TFLM's interpreter ran each model; measured with the package tflite-micro.
TFLM_ARENA = {
    "mlperf_tiny/vww_96_int8.tflite": 103_680,
    "mlperf_tiny/kws_ref_model.tflite": 24_272,
    "mlperf_tiny/pretrainedResnet_quant.tflite": 55_984,
    "mlperf_tiny/ad01_int8.tflite": 4_640,
    "tflm/person_detect.tflite": 85_264,
    "tflm/micro_speech_quantized.tflite": None,
}
TIGHT = "mlperf_tiny/kws_ref_model.tflite", 64 << 10
CPU = "cortex-m3"
RUNS = 8
STACK_BYTES = 1024


def main(arguments):
    tools = [tool for tool in ("arm-none-eabi-gcc", "make", "qemu-system-arm") if not shutil.which(tool)]
    if tools:
        print(f"bench_micro: needs {', '.join(tools)}", file=sys.stderr)
        return 2
    known = {MODELS / name: arena for name, arena in TFLM_ARENA.items()}
    paths = [Path(argument).resolve() for argument in arguments] or list(known)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        print(f"bench_micro: no such file: {', '.join(map(str, missing))}; name model files", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT))
    print("| model | greedy_by_size | hill_climb | planned | bound | high-water | TFLM arena | equal outputs ", end="")
    print("| equal tensors, board / PC |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            row, right = measure(path, known.get(path), Path(folder) / path.stem)
            wrong += not right
            print(f"| {path.stem} | " + " | ".join(row) + " |", flush=True)
        if not arguments:
            print()
            tight(MODELS / TIGHT[0], TIGHT[1], Path(folder) / "tight")
    return 1 if wrong else 0


def measure(path, tflm, folder):
    """One row, and whether all of it is as it should be."""
    from tests.export.boards import one_memory
    from tests.export.emulator import run_folder_on_host, run_on_board, run_on_host, tensor_sizes
    from tests.relay.execution import unplanned
    from tests.relay.networks import inputs_of
    from tvm_memplan.relay import compare, export, micro_config, read_model

    mod, params = read_model(path)
    as_tvm = micro_config(CPU, less_workspace=False)
    usmp = compare(mod, params, as_tvm, io_in_pool=True).usmp
    exported = export(mod, params, folder / "c", board=one_memory(4 << 20, CPU), title=path.name)
    arena = exported.model.arenas[0]
    batches = [list(inputs_of(mod, seed, params).values()) for seed in range(RUNS)]
    board = run_on_board(exported, batches, CPU, guards=False, stack=STACK_BYTES)
    host = run_on_host(
        unplanned(mod, params, micro_config(CPU), our_operators=True),
        tensor_sizes(exported.model),
        batches,
        folder / "h",
    )
    plain = run_on_host(unplanned(mod, params, as_tvm), {}, batches, folder / "t")
    again = run_folder_on_host(exported, batches, folder / "p")
    equal = [a == b for a, b in zip(board.outputs, plain.outputs, strict=True)]
    figures = exported.report.pool("sram")
    same, same_here = (sum(a == b for a, b in zip(run.traces, host.traces, strict=True)) for run in (board, again))
    row = [
        f"{usmp['greedy_by_size']:,}",
        f"{usmp['hill_climb']:,}",
        f"{figures.planned:,}",
        f"{figures.bound:,}",
        f"{board.high['sram']:,}",
        f"{tflm:,}" if tflm else "-",
        f"{sum(equal)} of {len(equal)}",
        f"{same} / {same_here} of {len(board.traces)}",
    ]
    right = all(equal) and again.outputs == host.outputs == plain.outputs and same_here == len(board.traces)
    return row, right and board.high["sram"] == arena.size


def tight(path, ram, folder):
    """A model with TVM's default plan and with ours, in one region, the linker deciding."""
    from tests.export.boards import one_memory
    from tests.export.emulator import build, run_on_board
    from tests.relay.networks import inputs_of
    from tvm_memplan.planning.usmp import usmp_greedy_by_size
    from tvm_memplan.relay import export, micro_config, read_model

    mod, params = read_model(path)
    batches = [list(inputs_of(mod, seed, params).values()) for seed in range(RUNS)]
    print(f"| {path.stem} in {ram >> 10} KiB of RAM | arena | linker | run |")
    print("|---|---|---|---|", flush=True)
    theirs = {"target": micro_config(CPU, less_workspace=False), "planner": usmp_greedy_by_size}
    default = export(mod, params, folder / "a", board=one_memory(4 << 20, CPU), **theirs)
    script = default.folder / "memory.ld"
    script.write_text(script.read_text().replace(f"LENGTH = {4 << 20}\n", f"LENGTH = {ram}\n", 1))
    made = build(default.folder, check=False, stack=STACK_BYTES)
    said = [line for line in made.stderr.splitlines() if "overflowed" in line]
    verdict = said[0].partition("ld: ")[2] if said else "fits"
    print(f"| TVM's greedy_by_size | {default.model.arenas[0].size:,} | {verdict} | - |", flush=True)
    ours = export(mod, params, folder / "b", board=one_memory(ram, CPU), reserve=2 * STACK_BYTES)
    run = run_on_board(ours, batches, CPU, guards=False, trace=False, stack=STACK_BYTES)
    print(
        f"| tvm-memplan | {ours.model.arenas[0].size:,} | fits | {len(run.outputs)} runs, "
        f"high-water {run.high['sram']:,} |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
