#!/usr/bin/env bash
# Runs every test: style and types, then the tests without TVM, with TVM 0.19 (Relay) and with the TVM of today.
# Makes .venv-dev with nox in it, and nox makes the four environments; all of them are kept and reused.
#
#   ./scripts/test.sh                       everything
#   ./scripts/test.sh -s core               one environment (lint, core, relay, relax)
#   ./scripts/test.sh -s core -- -k budget  what follows -- goes to pytest
#   PYTHON=python3.12 ./scripts/test.sh     with a Python of your choice (3.10 to 3.13)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/python.sh

make_venv .venv-dev
if ! .venv-dev/bin/python -c 'import nox' 2>/dev/null; then
    say "installing nox into .venv-dev"
    .venv-dev/bin/python -m pip install -q 'nox>=2024.4.15'
fi

say "running: nox ${*:-(all: lint, core, relay, relax)}"
exec .venv-dev/bin/python -m nox "$@"
