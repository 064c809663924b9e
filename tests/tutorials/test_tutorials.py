"""Every tutorial runs from top to bottom, in a process of its own, where the environment can run it."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tutorials"
NEEDS = {
    "02_passes_in_your_own_pipeline": pytest.mark.needs_relay,
    "03_does_it_fit_my_board": pytest.mark.needs_relay,
    "04_a_model_on_a_microcontroller": pytest.mark.needs_relay,
    "05_relax_and_dynamic_shapes": pytest.mark.needs_relax,
}
TUTORIALS = [
    pytest.param(path, id=path.stem, marks=NEEDS.get(path.stem, ())) for path in sorted(FOLDER.glob("[0-9]*.py"))
]


@pytest.mark.parametrize("path", TUTORIALS)
def test_a_tutorial_runs(path, tmp_path):
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_there_is_a_tutorial_for_the_bare_package():
    assert "01_a_plan_by_hand" in {path.values[0].stem for path in TUTORIALS}
