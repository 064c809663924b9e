"""Imports point one way, and what needs no TVM does not import it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_memplan

PACKAGE = Path(tvm_memplan.__file__).parent
PLANNING = PACKAGE / "planning"

#: Every part of the package; one imports only from rows above its own, and from itself.
LAYERS = (
    {"errors"},
    {"model_files", "planning", "sizes"},
    {"boards", "report"},
    {"budget", "dialects", "measuring"},
    {"export", "transform"},
    {"analysis", "relax", "relay"},
    {"cli"},
    {"__main__"},
)
#: The same within `planning`. The judge stands where it can share no code with a planner.
LAYERS_OF_PLANNING = (
    {"model"},
    {"compiling", "conflicts", "judge", "preparing", "trace"},
    {"bounds", "effort", "files", "lifetimes", "usmp"},
    {"finishing", "large", "packing"},
    {"exact", "slots"},
    {"planners"},
    {"spilling"},
)
#: The parts that may import TVM. In `budget` and `cli` its place is behind the driver.
WITH_TVM = {"analysis", "dialects", "relax", "relay", "transform"}


def part_of(path, package=PACKAGE):
    return path.relative_to(package).parts[0].removesuffix(".py")


def allowed_to(part, layers):
    """The part itself, and what lies above it."""
    level = next(i for i, layer in enumerate(layers) if part in layer)
    return {part}.union(*layers[:level])


def imports_of(path):
    """The modules that a file imports anywhere in it, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


FILES = sorted(path for path in PACKAGE.rglob("*.py") if part_of(path) != "__init__")
FILES_OF_PLANNING = [path for path in FILES if PLANNING in path.parents and path != PLANNING / "__init__.py"]
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))


def test_every_part_has_a_layer():
    assert {part_of(path) for path in FILES} == set.union(*LAYERS)
    assert {part_of(path, PLANNING) for path in FILES_OF_PLANNING} == set.union(*LAYERS_OF_PLANNING)


@every_file
def test_imports_point_one_way(path):
    ours = {name.split(".")[1] for name in imports_of(path) if name.startswith("tvm_memplan.")}
    assert ours <= allowed_to(part_of(path), LAYERS) | {"__version__"}


@pytest.mark.parametrize("path", FILES_OF_PLANNING, ids=lambda path: str(path.relative_to(PLANNING)))
def test_imports_within_planning_point_one_way(path):
    ours = {name.split(".")[2] for name in imports_of(path) if name.startswith("tvm_memplan.planning.")}
    assert ours <= allowed_to(part_of(path, PLANNING), LAYERS_OF_PLANNING)


@every_file
def test_tvm_is_imported_where_it_is_at_home(path):
    if part_of(path) not in WITH_TVM:
        assert "tvm" not in {name.split(".")[0] for name in imports_of(path)}


def test_all_else_is_importable_without_tvm():
    modules = [
        ".".join(("tvm_memplan", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in FILES
        if part_of(path) not in WITH_TVM | {"__main__"}
    ]
    code = (
        "import importlib, sys\n"
        "sys.modules['tvm'] = None\n"  # any import of it now fails
        "for name in sys.argv[1:]: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code, *modules], check=True)
