"""What is left of the workspace of models on a microcontroller: operators as TVM makes them, and as we do.

Prints one row per model, bytes with inputs and outputs counted: what TVM's hill_climb plans; ours for the same
operators; ours where operators end at the narrowest tensor and read through copies; the tensors alone (the heaviest
step, without any workspace); the smallest arena in which TFLite Micro runs the model, where that is known. Then what
it costs to run: time on this machine (the faster of several runs, C built by GCC with -O2), and instructions on an
emulated Cortex-M3, after against before, with arm-none-eabi-gcc and qemu-system-arm installed. The outputs of both
builds are compared for several inputs, and on the emulated board too.

    python scripts/bench_workspace.py [MODEL ...]

Without arguments it takes four MLPerf Tiny models, person_detect and micro_speech from `models` in TVM_MEMPLAN_DATA.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data_folder import DATA

os.environ.setdefault("TOPHUB_LOCATION", "NONE")

ROOT = Path(__file__).resolve().parent.parent
MODELS = DATA / "models"
#: The smallest arena TFLite Micro's interpreter ran in, bytes; inputs and outputs are in it.
TFLM = {
    "mlperf_tiny/kws_ref_model.tflite": 24_272,
    "mlperf_tiny/vww_96_int8.tflite": 103_680,
    "mlperf_tiny/pretrainedResnet_quant.tflite": 55_984,
    "mlperf_tiny/ad01_int8.tflite": 4_640,
    "tflm/person_detect.tflite": 85_264,
    "tflm/micro_speech_quantized.tflite": None,
}
COLUMNS = ("model", "hill_climb", "ours before", "ours after", "tensors alone", "TFLM arena", "time", "instructions")
INPUTS = 8

# A board of the emulator: code at 0, RAM at 0x20000000, output through semihosting, SysTick counts at 25 MHz
# while `-icount shift=0` makes an instruction last a nanosecond.
LINKER = """
MEMORY { ROM (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
ENTRY(reset)
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.ex*) . = ALIGN(8); } > ROM
  load = LOADADDR(.data);
  .data : { data_start = .; *(.data*) . = ALIGN(8); data_end = .; } > RAM AT > ROM
  .bss : { bss_start = .; *(.bss*) *(COMMON) . = ALIGN(8); bss_end = .; } > RAM
  stack_top = ORIGIN(RAM) + LENGTH(RAM);
}
"""
MAIN = """
#include <stddef.h>
#include <stdint.h>
#include "tvmgen_default.h"
int32_t tvmgen_default_run(struct tvmgen_default_inputs*, struct tvmgen_default_outputs*);
extern uint32_t stack_top, load, data_start, data_end, bss_start, bss_end;
static void host(int op, const void* argument) {
  register int r0 __asm__("r0") = op;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void number(uint32_t value) {
  char text[12] = {0};
  int i = 11;
  do text[--i] = '0' + value %% 10; while (value /= 10);
  host(4, text + i);
  host(4, " ");
}
void* TVMBackendAllocWorkspace(int t, int i, uint64_t size, int c, int b) { return NULL; }
int TVMBackendFreeWorkspace(int t, int i, void* p) { return 0; }
static _Alignas(16) uint8_t given[%(given)d], made[%(made)d];
void reset(void) {
  for (uint32_t *to = &data_start, *from = &load; to < &data_end;) *to++ = *from++;
  for (uint32_t* to = &bss_start; to < &bss_end;) *to++ = 0;
  uint32_t seed = 7, sum = 0;
  for (size_t i = 0; i < sizeof given; i++) given[i] = (seed = seed * 1664525u + 1013904223u) >> 24;
  struct tvmgen_default_inputs in = {given};
  struct tvmgen_default_outputs out = {made};
  volatile uint32_t* tick = (volatile uint32_t*)0xE000E010;
  tick[1] = 0xffffff, tick[2] = 0, tick[0] = 5;
  uint32_t start = tick[2];
  tvmgen_default_run(&in, &out);
  uint32_t ticks = (start - tick[2]) & 0xffffff;
  for (size_t i = 0; i < sizeof made; i++) sum = sum * 31 + made[i];
  number(ticks), number(sum);
  uint32_t end[2] = {0x20026, 0};
  host(0x20, end);
}
__attribute__((section(".vectors"), used)) const void* const vectors[16] = {&stack_top, reset};
"""


def main(arguments):
    paths = [Path(argument) for argument in arguments] or [MODELS / name for name in TFLM]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        print(f"bench_workspace: no such file: {', '.join(map(str, missing))}; name model files", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT))  # the tests know how to run a build
    try:
        from tvm_memplan.relay import read_model
    except ImportError as error:
        print(f"bench_workspace: {error}; this needs: pip install 'tvm-memplan[relay]'", file=sys.stderr)
        return 2
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            known = next((size for name, size in TFLM.items() if Path(name).name == path.name), None)
            row = measure(*read_model(path), known, Path(folder))
            print(f"| {path.stem} | " + " | ".join(row) + " |", flush=True)
    return 0


def measure(mod, params, tflm, folder):
    """One row of the table."""
    from tests.relay import networks
    from tests.relay.execution import CProgram
    from tvm_memplan.planning.model import Kind
    from tvm_memplan.relay import build, compare, micro_config, plan

    before, after = micro_config(less_workspace=False), micro_config()
    hill_climb = compare(mod, params, before).usmp["hill_climb"]
    planned = {config: plan(mod, params, config, io_in_pool=True) for config in (before, after)}
    sizes = {config: made.plan.size("workspace") for config, made in planned.items()}
    programs = [CProgram(build(mod, params, config).module, folder) for config in (before, after)]
    batches = [networks.inputs_of(mod, seed, params) for seed in range(INPUTS)]
    for batch in batches:
        first, second = (program(batch) for program in programs)
        if any(a.tobytes() != b.tobytes() for a, b in zip(first, second, strict=True)):
            raise SystemExit("bench_workspace: the two builds compute different bits")
    io = sum(array.nbytes for array in (*batches[0].values(), *first))
    seconds = [min(timed(program, batch) for batch in batches * 4) for program in programs]
    rows = [row for row in planned[after].report.allocations if row.pool == "workspace"]
    tensors = [row for row in rows if row.kind is not Kind.WORKSPACE]
    heaviest = max(
        sum(row.size for row in tensors if any(alive.start <= step < alive.stop for alive in row.live_ranges))
        for step in range(len(planned[after].report.steps))
    )
    counted = [instructions(program, batches[0], first) for program in programs]
    if all(counted) and counted[0][1] != counted[1][1]:
        raise SystemExit("bench_workspace: the two builds compute different bits on the emulated board")
    return [
        f"{hill_climb + io:,}",
        f"{sizes[before]:,}",
        f"{sizes[after]:,}",
        f"{heaviest:,}",
        f"{tflm:,}" if tflm else "",
        f"{seconds[1] / seconds[0]:.2f}",
        f"{counted[1][0] / counted[0][0]:.2f}" if all(counted) else "",
    ]


def timed(program, batch):
    start = time.perf_counter()
    program(batch)
    return time.perf_counter() - start


def instructions(program, inputs, outputs):
    """Instructions of one run on the emulated board, in units of 40, and a sum of its outputs; None without tools."""
    import tvm

    tools = [shutil.which(tool) for tool in ("arm-none-eabi-gcc", "qemu-system-arm")]
    if not all(tools) or len(inputs) != 1 or len(outputs) != 1:
        return None
    folder = Path(program.library._name).parent
    sizes = {"given": next(iter(inputs.values())).nbytes, "made": outputs[0].nbytes}
    (folder / "board.ld").write_text(LINKER)
    (folder / "main.c").write_text(MAIN % sizes)
    sources = [path for path in sorted(folder.glob("lib*.c")) if "malloc(size" not in path.read_text()]
    roots = [folder, *(Path(tvm.__path__[0], part) for part in ("include", "3rdparty/dlpack/include"))]
    includes = [f"-I{root}" for root in roots]
    options = [
        "-mcpu=cortex-m3",
        "-mthumb",
        "-O2",
        "-w",
        "-fno-strict-aliasing",
        "-nostartfiles",
        "--specs=nosys.specs",
    ]
    elf = folder / "model.elf"
    subprocess.run(
        [tools[0], *options, *includes, "-T", folder / "board.ld", "-o", elf, folder / "main.c", *sources, "-lm"],
        check=True,
    )
    quiet = ["-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [tools[1], "-M", "mps2-an385", "-icount", "shift=0", *quiet, "-kernel", elf],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    ticks, outcome = (done.stdout + done.stderr).split()  # semihosting writes to either
    return int(ticks), outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
