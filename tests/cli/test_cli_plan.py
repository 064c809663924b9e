import csv
import json
import os
import stat

import pytest

from tvm_memplan.report.json import VERSION, from_json


def test_a_problem_file_is_planned_and_reported(run, problem):
    text = run("plan", problem).stdout
    assert "toy.csv, planned with auto" in text
    assert "pressure" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_report_as_json_reads_back(run, problem, tmp_path):
    run("plan", problem, "--json", "out.json")
    report = from_json((tmp_path / "out.json").read_text())
    assert (report.pools[0].naive, report.pools[0].planned, report.pools[0].bound) == (12, 8, 8)
    assert {row.name for row in report.allocations} == {"a", "b", "c"}


def test_offsets_are_written_and_plan_again_to_the_same_problem(run, problem, tmp_path):
    run("plan", problem, "-o", "out.csv")
    rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    assert {row["id"] for row in rows} == {"a", "b", "c"}
    assert max(int(row["offset"]) + int(row["size"]) for row in rows) == 8


@pytest.mark.parametrize(
    "planner", ["auto", "colour", "exact", "greedy_by_size", "greedy_by_conflicts", "first_fit_by_start"]
)
def test_every_planner_is_offered(run, problem, planner):
    assert f"planned with {planner}" in run("plan", problem, "--planner", planner).stdout


def test_a_capacity_that_suffices_is_met(run, problem):
    run("plan", problem, "--capacity", "8B")


def test_a_capacity_below_the_bound_does_not_fit_and_no_planner_can_help(run, problem):
    text = run("plan", problem, "--capacity", "7B", code=1).stdout
    for words in (
        "toy.csv does not fit an arena of 7 B",
        "over by 1 B",
        "need   8 B",
        "have   7 B",
        "no planner can help",
    ):
        assert words in text


def test_a_capacity_is_met_to_the_byte_whatever_the_alignment(run, problem, tmp_path):
    problem.write_text("id,lower,upper,size\na,0,2,100\nb,0,2,100\n")
    made = run("plan", problem, "--capacity", "212", "--align", "16", "-o", "out.csv").stdout
    assert "ends at 212 B, within the capacity" in " ".join(made.split())
    assert {row["offset"] for row in csv.DictReader((tmp_path / "out.csv").open())} == {"0", "112"}
    text = run("plan", problem, "--capacity", "211", "--align", "16", code=1).stdout
    for words in ("over by 1 B", "need   212 B", "bound  212 B", "no planner can help"):
        assert words in text


def test_offsets_that_do_not_fit_are_not_written(run, problem, tmp_path):
    made = run("plan", problem, "--capacity", "7B", "-o", "out.csv", code=1)
    assert "out.csv was not written" in made.stdout
    assert not (tmp_path / "out.csv").exists()


def test_names_that_a_terminal_cannot_show_are_escaped(run, problem):
    problem.write_text("id,lower,upper,size\nm\u00e9moire,0,2,4\n", encoding="utf-8")
    assert "m\\xe9moire" in run("plan", problem, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}).stdout


def test_an_alignment_moves_every_offset(run, problem, tmp_path):
    run("plan", problem, "--align", "16", "--json", "out.json")
    report = from_json((tmp_path / "out.json").read_text())
    assert all(row.offset % 16 == 0 for row in report.allocations)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ""),
        ("id,lower\na,0\n", ""),
        ("id,lower,upper,size\na,0,2,x\n", "x"),
        ("id,lower,upper,size\na,0,2\n", ""),
        ("id,lower,upper,size\na,2,2,4\n", "empty"),
    ],
)
def test_a_malformed_problem_is_bad_input_that_names_the_file(run, problem, text, says):
    problem.write_text(text)
    made = run("plan", problem, code=2)
    assert "toy.csv" in made.stderr and says in made.stderr


@pytest.mark.parametrize("digits", [1001, 5000])
def test_a_number_of_thousands_of_digits_is_bad_input_and_not_repeated(run, problem, digits):
    problem.write_text(f"id,lower,upper,size\na,0,2,{'9' * digits}\n")
    made = run("plan", problem, code=2)
    assert f"is {digits} characters long" in made.stderr and len(made.stderr) < 300
    assert f"a number of {digits} digits" in run("plan", problem, "--capacity", "9" * digits, code=2).stderr


def test_names_are_shown_on_one_line_and_cannot_move_the_cursor(run, problem):
    problem.write_text('id,lower,upper,size\n"one\ntwo",0,2,4\n"\033[31mred",0,2,4\n')
    text = run("plan", problem).stdout
    assert text.count("one\\ntwo") == 2 and "\\x1b[31mred" in text and "\033" not in text


def test_an_option_for_models_is_not_ignored_for_a_problem_file(run, problem):
    assert "--target is for models" in run("plan", problem, "--target", "llvm", code=2).stderr


def test_a_model_without_a_name_or_that_is_a_folder_is_bad_input(run, tmp_path):
    assert "'': no such file" in run("plan", "", code=2).stderr
    assert "is no ordinary file" in run("plan", tmp_path, code=2).stderr


def test_a_missing_file_or_planner_is_bad_input(run, problem):
    assert "gone.csv" in run("plan", "gone.csv", code=2).stderr
    assert "greedy_by_size" in run("plan", problem, "--planner", "gredy", code=2).stderr


def test_offsets_of_a_model_are_not_csv(run):
    assert "use --json" in run("plan", "m.tflite", "-o", "out.csv", code=2).stderr


def test_a_result_that_cannot_be_written_is_bad_input(run, problem):
    assert "cannot be written" in run("plan", problem, "--json", "no/such/folder/out.json", code=2).stderr


def test_a_failed_run_leaves_an_earlier_result_alone(run, problem, tmp_path):
    (tmp_path / "out.json").write_text("earlier")
    run("plan", problem, "--planner", "gredy", "--json", "out.json", code=2)
    assert (tmp_path / "out.json").read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "toy.csv"]


@pytest.mark.skipif(os.name != "posix", reason="file modes of Unix")
def test_results_are_ordinary_files(run, problem, tmp_path):
    (tmp_path / "real.json").write_text("")
    (tmp_path / "link.json").symlink_to("real.json")
    run("plan", problem, "--json", "link.json", umask=0o022)
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["version"] == VERSION
    assert stat.S_IMODE((tmp_path / "real.json").stat().st_mode) == 0o644
    assert json.loads(run("plan", problem, "--json", "/dev/stdout").stdout.split("\ntoy.csv,")[0])["version"] == VERSION


def test_the_time_limit_is_a_number_of_seconds(run, problem):
    assert "planned with exact" in run("plan", problem, "--planner", "exact", "--time-limit", "0").stdout
    assert "'soon' is not a number of seconds" in run("plan", problem, "--time-limit", "soon", code=2).stderr
    assert "'-1' is not a number" in run("plan", problem, "--time-limit=-1", code=2).stderr


@pytest.mark.needs_relay
def test_options_of_the_other_line_are_refused(run, tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"any")
    for options in (["--outputs", "arena"], ["--donate", "x"]):
        assert "are for models on apache-tvm 0.27" in run("plan", "m.tflite", *options, code=2).stderr
