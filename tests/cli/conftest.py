import os
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_memplan

# The commands run elsewhere and have to find the package that the tests use, installed or not.
PACKAGE = str(Path(tvm_memplan.__file__).resolve().parent.parent)


@pytest.fixture
def run(tmp_path):
    """Run the command line as a user does, in a folder of its own."""

    def run(*arguments, code=0, env=(), **options):
        made = subprocess.run(
            [sys.executable, "-m", "tvm_memplan", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": PACKAGE, **dict(env)},
            **options,
        )
        assert "Traceback" not in made.stderr
        assert made.returncode == code, made.stderr + made.stdout
        return made

    return run


@pytest.fixture
def problem(tmp_path):
    """A problem file of three buffers: 4 and 3 are alive together, 5 afterwards with 3; the bound is 8 bytes."""
    path = tmp_path / "toy.csv"
    path.write_text("id,lower,upper,size\na,0,2,4\nb,0,4,3\nc,2,4,5\n")
    return path
