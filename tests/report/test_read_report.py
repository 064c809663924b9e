import json

import pytest

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files import plan_to_csv, plan_to_json, problem_to_json
from tvm_memplan.planning.model import Buffer, LiveRange, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.json import to_fields, to_json
from tvm_memplan.report.read import read_report

PROBLEM = Problem((Buffer("a", 8, (LiveRange(0, 2),)), Buffer("b", 4, (LiveRange(1, 3),))))


@pytest.fixture
def read(tmp_path):
    def read(text, name="file.json"):
        (tmp_path / name).write_text(text)
        return read_report(tmp_path / name)

    return read


def test_a_report_and_a_plan_and_a_verdict_and_a_csv_give_the_same_figures(read):
    made = plan(PROBLEM)
    report = memory_report(made)
    files = [
        to_json(report),
        plan_to_json(made),
        plan_to_csv(made),
        json.dumps({"format": "tvm-memplan/check", "version": 1, "verdict": {}, "report": to_fields(report)}),
        json.dumps({"format": "tvm-memplan/export", "version": 1, "folder": "c", "report": to_fields(report)}),
    ]
    for text in files:
        assert read(text).pools == report.pools
        assert read(text).allocations == report.allocations


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("{}", "'format' must be"),
        ('{"format": "tvm-memplan/check"}', "field 'report' is missing"),
        (problem_to_json(PROBLEM), "not planned yet"),
        ("id,lower,upper,size\na,0,1,4\n", "column 'offset' is missing"),
        (to_json(memory_report(plan(PROBLEM))).replace('"size_bytes": 8', '"size_bytes": "8"'), "size_bytes"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(read, text, says):
    with pytest.raises(BadInput, match=says) as caught:
        read(text)
    assert "file.json" in str(caught.value)


def test_a_wrong_plan_in_a_csv_is_refused(read):
    with pytest.raises(BadPlan, match=r"file\.json"):
        read("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n")
