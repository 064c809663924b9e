"""Every command gives its answer as JSON, too: into a file beside the text, or on the standard output in its place.

Those that take models only, ``check`` and ``export``, are tested in their own files.
"""

import json

import pytest

COMMANDS = {
    "boards": ("boards",),
    "one board": ("boards", "nrf52840dk"),
    "plan": ("plan", "toy.csv"),
    "plan over": ("plan", "toy.csv", "--capacity", "7"),
    "show": ("show", "report.json"),
    "show page": ("show", "report.json", "-o", "page.html"),
    "diff": ("diff", "report.json", "report.json"),
    "diff markdown": ("diff", "report.json", "report.json", "--markdown"),
    "suggest": ("suggest", "toy.csv"),
    "convert": ("convert", "report.json", "--to", "c-header", "-o", "plan.h"),
    "measure": ("measure", "report.json", "--from", "serial.txt"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_is_json_and_nothing_else(run, problem, tmp_path, name):
    run("plan", problem, "--json", "report.json")
    (tmp_path / "serial.txt").write_text(
        "memplan: begin 1 toy\nmemplan: arena 0 8 4 arena\nmemplan: run 0\nmemplan: end 1\n"
    )
    code = 1 if name.endswith("over") else 0
    made = run(*COMMANDS[name], "--json", "-", code=code)
    fields = json.loads(made.stdout)
    assert fields["format"].startswith("tvm-memplan/") and isinstance(fields["version"], int)
    text = run(*COMMANDS[name], "--json", "out.json", code=code).stdout
    assert json.loads((tmp_path / "out.json").read_text()) == fields
    assert "{" not in text and (text or name == "show page")


def test_an_error_leaves_the_output_empty(run, tmp_path):
    made = run("show", "gone.json", "--json", "-", code=2)
    assert made.stdout == "" and "gone.json: cannot be read" in made.stderr
    assert "cannot both be" in run("convert", "x", "--to", "tflm", "-o", "-", "--json", "-", code=2).stderr


def test_a_report_that_is_shown_as_json_is_the_one_that_was_read(run, problem, tmp_path):
    run("plan", problem, "--json", "report.json")
    assert run("show", "report.json", "--json", "-").stdout == (tmp_path / "report.json").read_text()


def test_boards_as_json_have_all_that_is_known(run):
    from tvm_memplan.boards import list_boards, load_board

    boards = json.loads(run("boards", "--json", "-").stdout)["boards"]
    assert [board["name"] for board in boards] == list(list_boards())
    disco = next(board for board in boards if board["name"] == "stm32f746g_disco")
    assert len(disco["regions"]) == len(load_board("stm32f746g_disco").regions) and disco["sources"]
