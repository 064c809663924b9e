import json
import pickle

import pytest

from tests.browser.reports import everything
from tests.planning.test_xla_files import ASSIGNMENT, LIVES
from tvm_memplan.report.json import to_json


@pytest.fixture
def planned(run, problem):
    run("plan", problem, "--json", "report.json", "-o", "plan.json")


@pytest.mark.parametrize("to", ["chrome-trace", "torch-snapshot", "c-header", "vela-csv"])
@pytest.mark.parametrize("source", ["report.json", "plan.json"])
def test_reports_and_plans_are_converted(run, planned, tmp_path, to, source):
    run("convert", source, "--to", to, "-o", "out")
    data = (tmp_path / "out").read_bytes()
    if to == "chrome-trace":
        assert len(json.loads(data)["traceEvents"]) > 3
    elif to == "torch-snapshot":
        assert pickle.loads(data)["device_traces"]
    else:
        assert b"toy.csv" in data or b"plan.json" in data


@pytest.mark.parametrize("to", ["tflm", "tflm-c"])
def test_what_depends_on_the_order_needs_a_plan(run, planned, tmp_path, to):
    run("convert", "plan.json", "--to", to, "-o", "out")
    assert (tmp_path / "out").stat().st_size >= 24
    said = run("convert", "report.json", "--to", to, "-o", "x", code=2).stderr
    assert "does not say in which order a runtime counts its buffers" in said and "-o plan.json" in said


def test_a_pool_of_a_report_becomes_a_csv_that_is_a_plan_again(run, planned, tmp_path, problem):
    run("plan", problem, "-o", "plan.csv")
    made = run("convert", "report.json", "--to", "minimalloc", "-o", "-")
    assert made.stdout == (tmp_path / "plan.csv").read_text()
    (tmp_path / "two.json").write_text(to_json(everything()))
    run("convert", "two.json", "--to", "minimalloc", "-o", "sram.csv")
    assert (
        "14,336 B (14.0 KiB) planned" in run("show", "sram.csv").stdout
    )  # with its in-place pair, one after the other
    run("convert", "two.json", "--to", "minimalloc", "--pool", "flash", "-o", "flash.csv")
    assert (tmp_path / "flash.csv").read_text() == "id,lower,upper,size,offset\nkernel,0,7,30000,0\n"
    said = run("convert", "two.json", "--to", "minimalloc", "--pool", "dram", "-o", "x", code=2).stderr
    assert "no pool 'dram' holds anything; there is sram, flash" in said
    said = run("convert", "two.json", "--to", "tflm", "--pool", "sram", "-o", "x", code=2).stderr
    assert "--pool is for minimalloc" in said


def test_an_unknown_format_is_refused(run, planned):
    assert "invalid choice" in run("convert", "plan.json", "--to", "pdf", "-o", "x", code=2).stderr


def test_an_xla_dump_is_shown_and_compared(run, tmp_path):
    (tmp_path / "m-buffer-assignment.txt").write_text(ASSIGNMENT)
    assert "m-live-range.txt: cannot be read" in run("show", "m-buffer-assignment.txt", code=2).stderr
    (tmp_path / "m-live-range.txt").write_text(LIVES)
    assert "temp: 3,096 B" in run("show", "m-buffer-assignment.txt").stdout
    assert "has changed" in run("diff", "m-buffer-assignment.txt", "m-buffer-assignment.txt").stdout
    (tmp_path / "x.txt").write_text(ASSIGNMENT)
    assert "must end in -buffer-assignment.txt" in run("show", "x.txt", code=2).stderr
