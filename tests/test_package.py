import re
from importlib import metadata
from pathlib import Path

import pytest

import tvm_memplan

PACKAGE = Path(tvm_memplan.__file__).parent


def test_types_and_boards_ship_with_the_package():
    assert (PACKAGE / "py.typed").is_file()
    assert list((PACKAGE / "boards" / "data").glob("*.toml"))


def test_the_version_is_written_in_one_place():
    try:
        installed = metadata.version("tvm-memplan")
    except metadata.PackageNotFoundError:
        pytest.skip("tvm-memplan is not installed here, only on the path")
    assert installed == tvm_memplan.__version__


def test_only_three_packages_are_needed_without_an_extra():
    try:
        needs = metadata.requires("tvm-memplan") or []
    except metadata.PackageNotFoundError:
        pytest.skip("tvm-memplan is not installed here, only on the path")
    core = {re.split(r"[^A-Za-z0-9_.-]", need)[0] for need in needs if "extra ==" not in need}
    assert core == {"numpy", "numba", "tomli"}
