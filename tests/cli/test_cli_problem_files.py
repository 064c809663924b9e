import json

import pytest

from tvm_memplan.planning.files import problem_to_json, read_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem, View


@pytest.fixture
def json_problem(tmp_path):
    """Two pools, of which the first is too small for both buffers, and a view."""
    buffers = (Buffer("a", 8, (LiveRange(0, 2),)), Buffer("b", 4, (LiveRange(1, 3),)))
    problem = Problem(buffers, (Pool("fast", 8), Pool("slow")), views=(View("tail", 0, 4, 4),))
    path = tmp_path / "p.json"
    path.write_text(problem_to_json(problem))
    return path


def test_a_json_problem_is_planned_into_its_own_pools(run, json_problem):
    text = run("plan", json_problem).stdout
    assert "p.json, planned with auto" in text
    assert "fast" in text and "slow" in text
    assert "View 'tail' of 'a': 4 bytes at offset 4 of pool 'fast'." in text


def test_a_plan_is_written_as_json_and_can_be_planned_again(run, json_problem, tmp_path):
    run("plan", json_problem, "-o", "plan.json")
    made = read_plan(tmp_path / "plan.json")
    assert made.planner == "auto" and made.pool_sizes == {"fast": 8, "slow": 4}
    assert "plan.json, planned with auto" in run("plan", "plan.json").stdout


def test_a_csv_problem_can_be_written_as_json(run, problem, tmp_path):
    run("plan", problem, "-o", "plan.json")
    assert read_plan(tmp_path / "plan.json").size() == 8


def test_what_csv_cannot_hold_is_bad_input(run, json_problem):
    assert "write JSON instead" in run("plan", json_problem, "-o", "out.csv", code=2).stderr
    assert "written as .csv or .json" in run("plan", json_problem, "-o", "out.txt", code=2).stderr


def test_pools_of_the_file_and_of_the_command_line_do_not_mix(run, json_problem):
    assert "brings its own pools" in run("plan", json_problem, "--capacity", "64B", code=2).stderr
    assert "brings its own pools" in run("plan", json_problem, "--align", "16", code=2).stderr


def test_pools_that_are_too_small_do_not_fit(run, json_problem):
    document = json.loads(json_problem.read_text())
    document["pools"] = document["pools"][:1]
    json_problem.write_text(json.dumps(document))
    assert "found no room for buffer" in run("plan", json_problem, code=1).stderr


def test_a_malformed_json_problem_is_bad_input_that_names_the_field(run, json_problem):
    json_problem.write_text(
        json_problem.read_text().replace('"size_bytes": 4,\n   "live', '"size_bytes": -4,\n   "live')
    )
    assert "p.json: buffers[1].size_bytes: must be at least 0" in run("plan", json_problem, code=2).stderr


def test_a_pypto_problem_is_planned(run, shared_data):
    file = next(iter(sorted((shared_data / "problems" / "pypto").glob("*kv_a_proj.json"))))
    assert "Left" in run("plan", file).stdout
