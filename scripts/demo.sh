#!/usr/bin/env bash
# The main job on a real model: does it fit the board, and what holds the peak?
# Makes .venv-relay with the package and TVM 0.19 in it; it is kept and reused.
#
#   ./scripts/demo.sh                          the model below on its board
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

# Otherwise TVM fetches schedules for every target.
export TOPHUB_LOCATION=NONE

MODEL=${1:-PLACEHOLDER}
BOARD=${2:-stm32f746g_disco}

say "tvm-memplan check $MODEL --board $BOARD --reserve 24KiB"
status=0
.venv-relay/bin/tvm-memplan check "$MODEL" --board "$BOARD" --reserve 24KiB || status=$?
case $status in
    0) say "it fits" ;;
    1) say "it does not fit, and the figures above say by how much and why" ;;
    *) exit "$status" ;;
esac
