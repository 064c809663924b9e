"""Problems and plans as our own JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from tests.planning.constrained import constrained
from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files import (
    is_problem_file,
    plan_from_json,
    plan_text,
    plan_to_json,
    problem_from_json,
    problem_to_json,
    read_plan,
    read_problem,
)
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem, View
from tvm_memplan.planning.planners import plan

few = settings(max_examples=80, deadline=None)


@given(problem=constrained())
@few
def test_a_problem_that_is_written_and_read_is_the_same(problem):
    assert problem_from_json(problem_to_json(problem)) == problem


@given(problem=constrained())
@few
def test_a_plan_that_is_written_and_read_is_the_same(problem):
    made = plan(problem, "greedy_by_size")
    again = plan_from_json(plan_to_json(made))
    assert again == made and again.planner == made.planner
    assert problem_from_json(plan_to_json(made)) == problem


def test_pins_and_live_ranges_before_zero_survive():
    pinned = Buffer("a", 4, (LiveRange(-3, 1),), pinned=Placement("arena", 8))
    assert problem_from_json(problem_to_json(Problem((pinned,)))).buffers == (pinned,)


FULL = {
    "format": "tvm-memplan/problem",
    "version": 1,
    "pools": [{"name": "p"}, {"name": "q", "capacity_bytes": 64, "granularity_bytes": 8}],
    "buffers": [
        {"name": "a", "size_bytes": 8, "live_ranges_steps": [[0, 2]]},
        {"name": "b", "size_bytes": 4, "live_ranges_steps": [[1, 2], [4, 5]], "alignment_bytes": 4, "kind": "output"},
    ],
    "separate": [["b", "a"]],
    "in_place": [["b", "a"]],
    "views": [{"name": "v", "root": "a", "offset_bytes": 4, "size_bytes": 2}],
    "penalties": [{"buffers": ["b", "a"], "cost": 2}],
}


def test_what_is_left_out_has_its_default():
    problem = problem_from_json(json.dumps(FULL))
    assert problem.pools == (Pool("p"), Pool("q", 64, granularity=8))
    assert problem.buffers[0] == Buffer("a", 8, (LiveRange(0, 2),))
    assert problem.conflicts is None and problem.separate == {(0, 1)} and problem.in_place == {(1, 0)}
    assert problem.views == (View("v", 0, 4, 2),) and problem.penalties == {(0, 1, 2)}


def test_conflicts_that_are_an_empty_list_are_given():
    assert problem_from_json(json.dumps({**FULL, "conflicts": []})).conflicts == frozenset()
    assert problem_from_json(json.dumps({**FULL, "conflicts": None})).conflicts is None


def changed(path: str, value: object) -> str:
    """The full document with one field replaced; a path like ``buffers.0.size_bytes``."""
    document = json.loads(json.dumps(FULL))
    at = document
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        at = at[step]
    at[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"p\.json:1: not JSON"),
        ('{"format": "tvm-memplan/problem",\n"version": 1,}', r"p\.json:2: not JSON"),
        ('{"version": 1, "version": 1}', "field 'version' comes twice"),
        ('{"version": NaN}', "NaN is no number"),
        ("[]", r"p\.json: must be an object, got \[\]"),
        (changed("version", 2), "version: must be 1, got 2"),
        (changed("format", "other"), "field 'format' must be 'tvm-memplan/problem'"),
        (changed("sizes", 2), "unknown field 'sizes'; known are format, version, pools"),
        (changed("buffers.0.sise", 2), r"buffers\[0\]: unknown field 'sise'; known are name, size_bytes"),
        (changed("buffers.1.size_bytes", "4"), r'buffers\[1\]\.size_bytes: must be an integer, got "4"'),
        (changed("buffers.1.size_bytes", True), r"buffers\[1\]\.size_bytes: must be an integer, got true"),
        (changed("buffers.1.size_bytes", 4.0), r"buffers\[1\]\.size_bytes: must be an integer, got 4.0"),
        (changed("buffers.1.size_bytes", -4), r"buffers\[1\]\.size_bytes: must be at least 0, got -4"),
        (changed("buffers.1.alignment_bytes", 12), r"buffers\[1\]\.alignment_bytes: must be a power of two, got 12"),
        (changed("buffers.1.live_ranges_steps", [[2, 2]]), r"live_ranges_steps\[0\]: the live range \[2, 2\) is empty"),
        (changed("buffers.1.live_ranges_steps", [[2]]), r"live_ranges_steps\[0\]: must be a list of 2, got 1"),
        (changed("buffers.1.live_ranges_steps", [[2, 4], [3, 5]]), r"buffers\[1\]: .*must be sorted and apart"),
        (changed("buffers.1.kind", "input?"), r"buffers\[1\]\.kind: must be one of input, output"),
        (changed("buffers.1.name", 4), r"buffers\[1\]\.name: must be a string, got 4"),
        (changed("buffers.1.name", "a"), r"buffers\[1\]\.name: 'a' is already buffers\[0\]"),
        (changed("buffers.1.pools", ["r"]), "buffer 'b' names pool 'r'"),
        (changed("buffers", {}), r"buffers: must be a list, got \{\}"),
        (changed("pools.1.capacity_bytes", -1), r"pools\[1\]\.capacity_bytes: must be at least 0"),
        (changed("pools.1.granularity_bytes", 3), r"pools\[1\]\.granularity_bytes: must be a power of two"),
        (changed("separate", [["a", "c"]]), r"separate\[0\]\[1\]: there is no buffer 'c'"),
        (changed("separate", [["a"]]), r"separate\[0\]: must be a list of 2"),
        (changed("in_place", [["a", "a"]]), r"in_place\[0\]: must be two different buffers"),
        (changed("views.0.root", "v"), r"views\[0\]\.root: there is no buffer 'v'"),
        (changed("views.0.size_bytes", 9), "view 'v': bytes .* do not lie in the 8 bytes of 'a'"),
        (changed("penalties.0.cost", 0), r"penalties\[0\]\.cost: must be at least 1, got 0"),
        (changed("penalties.0.buffers", ["a", "a"]), r"penalties\[0\]\.buffers: must be two different"),
        (json.dumps({key: value for key, value in FULL.items() if key != "pools"}), "field 'pools' is missing"),
    ],
)
def test_malformed_documents_are_refused_by_path_and_field(text, message):
    with pytest.raises(BadInput, match=message) as caught:
        problem_from_json(text, "p.json")
    assert str(caught.value).startswith("p.json")


def made_plan() -> Plan:
    return plan(problem_from_json(json.dumps(FULL)))


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda d: d["placements"].pop(), BadInput, "placements: 'b' has no place"),
        (lambda d: d["placements"].append(d["placements"][0]), BadInput, r"placements\[2\]\.name: 'a' is placed twice"),
        (lambda d: d["placements"][0].update(name="z"), BadInput, r"placements\[0\]\.name: 'z' is not in the problem"),
        (lambda d: d["placements"][0].update(pool="z"), BadInput, r"placements\[0\]\.pool: there is no pool 'z'"),
        (lambda d: d["placements"][0].pop("pool"), BadInput, r"placements\[0\]: field 'pool' is missing"),
        (lambda d: d["views"][0].update(offset_bytes=1), BadInput, "views: 'v' lies at byte"),
        (lambda d: d["placements"][1].update(d["placements"][0], name="b"), BadPlan, "'a' and 'b' share bytes"),
        (lambda d: d["problem"].update(version=1), BadInput, "problem: unknown field 'version'"),
        (lambda d: d.pop("planner"), BadInput, "field 'planner' is missing"),
    ],
)
def test_plans_that_are_malformed_or_wrong_are_refused(tmp_path, change, kind, message):
    document = json.loads(plan_to_json(made_plan()))
    change(document)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    with pytest.raises(kind, match=message) as caught:
        read_plan(path)
    assert str(caught.value).startswith(str(path))


def test_a_problem_is_no_plan():
    with pytest.raises(BadInput, match="field 'format' must be 'tvm-memplan/plan'"):
        plan_from_json(json.dumps(FULL))


def test_files_are_told_apart_by_their_contents(tmp_path):
    made = made_plan()
    for name, text in (("p.json", json.dumps(FULL)), ("plan.json", plan_to_json(made)), ("p.txt", json.dumps(FULL))):
        (tmp_path / name).write_text(text)
        assert read_problem(tmp_path / name) == made.problem
    (tmp_path / "p.csv").write_text("id,lower,upper,size\na,0,1,4\n")
    assert read_problem(tmp_path / "p.csv").buffers == (Buffer("a", 4, (LiveRange(0, 1),)),)
    (tmp_path / "model.json").write_text('{"root": 1, "nodes": []}')
    with pytest.raises(BadInput, match=r"model\.json: neither 'tvm-memplan/problem' nor"):
        read_problem(tmp_path / "model.json")
    (tmp_path / "cut.json").write_text(json.dumps(FULL)[:-20])
    names = ("p.json", "plan.json", "p.csv", "cut.json", "model.json", "missing.json", "model.tflite")
    assert [is_problem_file(tmp_path / name) for name in names] == [True, True, True, True, False, False, False]
    with pytest.raises(BadInput, match=r"cut\.json:1: not JSON"):
        read_problem(tmp_path / "cut.json")


def test_the_end_of_a_name_says_what_a_plan_is_written_as():
    one = plan(Problem((Buffer("a", 4, (LiveRange(0, 1),)),)))
    assert plan_text(one, "x.csv") == "id,lower,upper,size,offset\na,0,1,4,0\n"
    assert plan_from_json(plan_text(one, "x.JSON")) == one
    with pytest.raises(BadInput, match=r"x\.txt: offsets are written as \.csv or \.json"):
        plan_text(one, "x.txt")
