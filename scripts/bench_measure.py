"""The plan against reality: what three models per line really use, with the TVM that is installed.

Prints one row per pool, all in bytes:

- *planned*: what the plan has for it, aligned;
- *measured*: of an arena the byte after the last one that a run wrote to, with every input over a pattern and over its
  complement; of inputs, outputs, weights and kernels' own workspaces what was asked for;
- *never touched*: planned bytes of an arena that no run wrote to;
- *allocator's own*: what TVM's run time takes for itself beside all pools of the model, at once at most.

On TVM 0.19 each model runs here (llvm), and as C on an emulated Cortex-M3 where QEMU and the cross compiler are
installed; there the stack is a row of its own, with what was kept for it. Ends with 1 when reality exceeds a plan.

    python scripts/bench_measure.py
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from data_folder import DATA

ROOT = Path(__file__).resolve().parent.parent

#: For TVM 0.19, of MLPerf Tiny, under the data folder.
TINY = {
    "keyword spotting": "kws_ref_model",
    "person detection": "vww_96_int8",
    "image classification": "pretrainedResnet_quant",
}
#: For apache-tvm 0.27: package, file in it, and the shape of its input.
PACKAGED = {"PP-OCRv4 detection": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "x=1,3,64,64")}
#: More for it, of tests/relax/networks.py, with random weights.
NETWORKS = ("ResNet-18", "BERT-like")
BOARD = "mps2_an385"
HEAD = ("model", "runs on", "pool", "planned", "measured", "never touched", "allocator's own")


def main():
    relay = importlib.util.find_spec("tvm") is not None and importlib.util.find_spec("tvm.relay") is not None
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    broken = 0
    with tempfile.TemporaryDirectory() as made:
        for name, where, file, options in (on_relay if relay else on_relax)(Path(made)):
            found = measured(file, *options)
            if not found:
                print(f"bench_measure: {name} could not be measured", file=sys.stderr)
                broken += 1
                continue
            broken += not found["holds"]
            for row in rows(name, where, found):
                print("| " + " | ".join(row) + " |", flush=True)
    return 1 if broken else 0


def on_relay(folder):
    """Models, where they run, what is to be measured, and options."""
    board = all(map(shutil.which, ("qemu-system-arm", "arm-none-eabi-gcc", "make")))
    for name, file in TINY.items():
        path = DATA / "models" / "mlperf_tiny" / f"{file}.tflite"
        if not path.is_file():
            print(f"bench_measure: no {path}; TVM_MEMPLAN_DATA names the folder of data", file=sys.stderr)
            continue
        yield name, "llvm, here", path, ()
        if board:
            target = folder / file
            command = ["export", path, "--board", BOARD, "--reserve", "24KiB", "-o", target]
            run(command, stdout=subprocess.DEVNULL)
            yield name, f"C, {BOARD}", target, ()


def on_relax(folder):
    for name, (package, file, shape) in PACKAGED.items():
        found = importlib.util.find_spec(package)
        path = Path(found.submodule_search_locations[0]) / file if found else Path(file)
        if not path.is_file():
            print(f"bench_measure: {name} needs pip install {package.replace('_', '-')}", file=sys.stderr)
            continue
        yield name, "llvm, here", path, ("--shape", shape)
    import tvm

    sys.path.insert(0, str(ROOT))
    from tests.relax.networks import FULL

    for name in NETWORKS:
        path = folder / f"{name}.json"
        path.write_text(tvm.ir.save_json(FULL[name]().module))
        yield name, "llvm, here", path, ()


def measured(file, *options):
    with tempfile.TemporaryDirectory() as made:
        out = Path(made) / "reality.json"
        run(["measure", file, *options, "--json", out], check=False, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text()) if out.is_file() else None


def rows(name, where, found):
    own = sum(row["bytes"] for row in found["run_time_own"])
    for i, pool in enumerate(found["pools"]):
        spans = pool["never_touched"]
        idle = None if spans is None else sum(span["stop_bytes"] - span["start_bytes"] for span in spans)
        figures = (number(size) for size in (pool["planned_bytes"], pool["measured_bytes"], idle))
        # Bare C has no allocator at all.
        yield (name, where, pool["pool"], *figures, f"{own:,}" if "llvm" in where and not i else "-")
    if found["stack"]:
        yield name, where, "stack", *map(number, (found["stack"]["kept_bytes"], found["stack"]["used_bytes"])), "-", "-"


def number(size):
    return "-" if size is None else f"{size:,}"


def run(arguments, check=True, **options):
    environment = {"TOPHUB_LOCATION": "NONE", "TVM_NUM_THREADS": "1", **os.environ}
    command = [sys.executable, "-m", "tvm_memplan", *map(str, arguments)]
    return subprocess.run(command, check=check, cwd=ROOT, env=environment, **options)


if __name__ == "__main__":
    sys.exit(main())
