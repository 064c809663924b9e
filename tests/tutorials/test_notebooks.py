"""Every tutorial is a notebook as well, and its code cells run one after the other."""

import json
import subprocess
import sys

import pytest

from tests.tutorials.test_tutorials import FOLDER, TUTORIALS

SCRIPT = FOLDER.parent / "scripts" / "make_notebooks.py"


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    out = tmp_path_factory.mktemp("notebooks")
    subprocess.run([sys.executable, str(SCRIPT), str(out)], check=True, capture_output=True)
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in out.glob("*.ipynb")}


def test_there_is_one_for_each_tutorial(notebooks):
    assert set(notebooks) == {path.stem for path in FOLDER.glob("[0-9]*.py")}


def test_text_and_code_are_in_cells_of_their_kind(notebooks):
    for name, book in notebooks.items():
        assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
        assert "".join(book["cells"][0]["source"]).startswith("# "), name
        for cell in book["cells"]:
            text = "".join(cell["source"])
            assert text.strip() and set(cell) >= {"cell_type", "id", "metadata", "source"}
            if cell["cell_type"] == "markdown":
                assert "%%" not in text and "----" not in text and "::" not in text
            else:
                assert cell["outputs"] == [] and cell["execution_count"] is None


def test_no_line_of_code_is_lost(notebooks):
    for name, book in notebooks.items():
        source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        code = [
            line
            for cell in book["cells"]
            if cell["cell_type"] == "code"
            for line in "".join(cell["source"]).splitlines()
        ]
        wanted = source.split('"""', 2)[2].splitlines()
        assert [line for line in code if line] == [line for line in wanted if line and not line.startswith("#")]


@pytest.mark.parametrize("path", TUTORIALS)
def test_a_notebook_runs(notebooks, path, tmp_path):
    cells = [cell["source"] for cell in notebooks[path.stem]["cells"] if cell["cell_type"] == "code"]
    names = [tmp_path / f"cell_{number}.py" for number in range(len(cells))]
    for name, cell in zip(names, cells):
        name.write_text("".join(cell), encoding="utf-8")
    # Each cell on its own, in one namespace, and with a source that can be found, as a kernel runs them.
    runner = "import sys\nfor name in sys.argv[1:]: exec(compile(open(name).read(), name, 'exec'), globals())"
    command = [sys.executable, "-c", runner, *map(str, names)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
