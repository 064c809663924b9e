"""The bytes at each operator of a report."""

from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.trace import Alloc, Step, Trace
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.by_operator import by_operator, by_operator_text, peak_bytes

TRACE = Trace(
    (
        Alloc("x", 10, kind=Kind.INPUT),
        Alloc("a", 20, kind=Kind.ACTIVATION),
        Alloc("b", 30, kind=Kind.ACTIVATION),
        Alloc("out", 5, kind=Kind.OUTPUT),
        Step("first", ("x",), ("a",)),
        Step("second", ("a",), ("b",)),
        Step("second", ("b",), ("b",)),
        Step("third", ("b",), ("out",)),
    ),
    live_in=frozenset({"x"}),
    live_out=frozenset({"x", "out"}),
)


def report_of(trace):
    liveness = live_ranges(trace)
    return memory_report(plan(Problem(liveness.buffers)), liveness.steps)


def test_each_operator_has_the_bytes_of_its_heaviest_step():
    rows = by_operator(report_of(TRACE))
    assert [(row.operator, row.step, row.total()) for row in rows] == [
        ("first", 0, 30),
        ("second", 1, 60),
        ("third", 3, 45),
    ]
    assert rows[1].bytes == {Kind.INPUT: 10, Kind.ACTIVATION: 50}


def test_kinds_can_be_left_out():
    report = report_of(TRACE)
    assert peak_bytes(report) == 60
    assert peak_bytes(report, (Kind.INPUT,)) == 50
    assert peak_bytes(report, (Kind.INPUT, Kind.ACTIVATION)) == 5


def test_what_is_shared_in_place_counts_once():
    old, young = Buffer("old", 16, (LiveRange(0, 2),)), Buffer("young", 24, (LiveRange(1, 3),))
    problem = Problem((old, young), in_place=frozenset({(1, 0)}))
    report = memory_report(Plan(problem, (Placement("arena", 0),) * 2), ("make", "both", "use"))
    assert [row.total() for row in by_operator(report)] == [16, 24, 24]


def test_the_table_has_a_line_per_operator_and_no_wide_ones():
    lines = by_operator_text(report_of(TRACE)).splitlines()
    assert len(lines) == 4 and lines[0].split() == [
        "step",
        "operator",
        "input",
        "B",
        "output",
        "B",
        "activation",
        "B",
        "total",
        "B",
    ]
    assert max(map(len, lines)) <= 100
