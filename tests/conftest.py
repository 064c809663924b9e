"""What every test may ask for: data, and the capabilities of the environment it runs in.

``@pytest.mark.needs_relay`` and ``needs_relax`` skip where that TVM cannot be imported: by what is there,
never by a version. ``shared_data`` is the folder of problem files, models and board facts.
"""

import importlib
import os
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import tvm_memplan

ROOT = Path(__file__).resolve().parent.parent

# TVM would fetch schedules for every target otherwise.
os.environ.setdefault("TOPHUB_LOCATION", "NONE")

# No test is about time, least of all on a busy machine; and a change is judged by its own examples, not by luck.
settings.register_profile(
    "tests", deadline=None, derandomize=bool(os.environ.get("CI")), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")

CAPABILITIES = {
    "needs_relay": ("tvm.relay", "needs TVM 0.19: pip install 'tvm-memplan[relay]'"),
    "needs_relax": ("tvm.tirx", "needs a TVM with tirx: pip install 'tvm-memplan[relax]'"),
}


def pytest_configure(config):
    for name, (_, reason) in CAPABILITIES.items():
        config.addinivalue_line("markers", f"{name}: {reason}")
    if os.environ.get("TVM_MEMPLAN_TEST_INSTALLED") and Path(tvm_memplan.__file__).resolve().parent.parent == ROOT:
        raise pytest.UsageError(f"these tests are for the installed wheel, but import {tvm_memplan.__file__}")


def pytest_runtest_setup(item):
    for name, (module, reason) in CAPABILITIES.items():
        if item.get_closest_marker(name) and not _importable(module):
            pytest.skip(reason)


@lru_cache
def _importable(module):
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


@pytest.fixture(scope="session")
def shared_data():
    """The folder of data that the repository does not carry; see CONTRIBUTING."""
    folder = Path(os.environ.get("TVM_MEMPLAN_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}; TVM_MEMPLAN_DATA names the folder")
    return folder
