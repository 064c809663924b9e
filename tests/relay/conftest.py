"""The Relay line's tests; each file skips by itself where `tvm.relay` is not there."""

import os
from pathlib import Path

import pytest

# Otherwise TVM fetches schedules for every target it meets.
os.environ.setdefault("TOPHUB_LOCATION", "NONE")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def model_files():
    """The folder of model files that the repository does not carry."""
    folder = Path(os.environ.get("TVM_MEMPLAN_DATA", ROOT.parent / "shared" / "data")) / "models"
    if not folder.is_dir():
        pytest.skip(f"no model files in {folder}; TVM_MEMPLAN_DATA names the folder above")
    return folder
