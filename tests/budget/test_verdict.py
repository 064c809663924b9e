from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.boards import Board, Region, load_board
from tvm_memplan.budget import explain, judge_budget, raise_over_budget, verdict_fields, verdict_text
from tvm_memplan.errors import OverBudget
from tvm_memplan.planning.model import Kind, LiveRange, Pool
from tvm_memplan.planning.planners import plan
from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import Allocation, LeftAlone, MemoryReport, Peak, PoolFigures

BOARD = Board(
    "toy",
    "",
    "",
    (Region("ram", 1000, "sram", 0x1000), Region("tcm", 300, "tcm", 0x4000), Region("flash", 600, "flash", 0x8000)),
)


def test_what_needs_no_more_than_there_is_fits(make_report):
    verdict = judge_budget(make_report(planned=1000, weights=600), BOARD)
    assert verdict.fits
    assert [(r.region, r.holds, r.need, r.have, r.excess) for r in verdict.rows] == [
        ("ram", "activations", 1000, 1000, 0),
        ("flash", "weights", 600, 600, 0),
    ]
    raise_over_budget(verdict)


@pytest.mark.parametrize(("planned", "weights", "reserve"), [(1001, 600, 0), (1000, 601, 0), (1000, 600, 1)])
def test_one_byte_more_does_not_fit(make_report, planned, weights, reserve):
    verdict = judge_budget(make_report(planned=planned, weights=weights), BOARD, reserve)
    assert not verdict.fits
    assert sum(row.excess for row in verdict.rows) == 1
    with pytest.raises(OverBudget, match="net does not fit toy"):
        raise_over_budget(verdict)


def test_weights_are_held_against_flash_and_never_against_ram(make_report):
    verdict = judge_budget(make_report(planned=10, weights=601), BOARD)
    assert [(r.region, r.fits) for r in verdict.rows] == [("ram", True), ("flash", False)]
    assert "smaller model or a larger region" in explain(verdict)


def test_weights_that_share_a_pool_with_activations_are_held_against_ram(make_report):
    verdict = judge_budget(make_report(planned=1500, weights=500, pool="p", weights_pool="p"), BOARD)
    assert [(r.region, r.fits) for r in verdict.rows] == [("ram", False)]


def test_pools_that_bear_names_of_regions_are_held_against_these(make_report):
    verdict = judge_budget(make_report(planned=301, pool="tcm", weights_pool="flash"), BOARD)
    assert [(r.region, r.need, r.excess) for r in verdict.rows] == [("ram", 0, 0), ("tcm", 301, 1), ("flash", 500, 0)]


def test_weights_on_a_board_without_flash_are_not_judged_and_said_so(make_report):
    verdict = judge_budget(make_report(weights=10**9, pool="l2"), load_board("gap8"))
    assert verdict.fits
    assert "not judged" in verdict_text(verdict)
    assert "net fits gap8 as far as it is judged" in explain(verdict)
    assert "lists no read-only memory" in " ".join(verdict.notes)
    (row,) = (row for row in verdict_fields(verdict)["regions"] if row["holds"] == "weights")
    assert row["fits"] is None and row["have_bytes"] is None and row["need_bytes"] == 10**9


def test_when_no_packing_can_fit_the_operator_and_its_buffers_are_named(make_report):
    verdict = judge_budget(make_report(planned=2000, bound=1400), BOARD)
    text = explain(verdict)
    assert "no planner can help: what is alive together at conv needs 1,400 B" in text
    for words in ("over by 1,000 B", "need   2,000 B", "have   1,000 B", "bound  1,400 B", "step 1, conv", "big"):
        assert words in text
    assert text.index("  big") < text.index("  small")


def test_when_only_a_split_could_fit_that_is_said(make_report):
    text = explain(judge_budget(make_report(planned=1200, bound=1100), BOARD))
    assert "no packing fits this region alone" in text
    assert "1,300 B" in text


def test_when_the_bound_fits_it_is_a_packing_matter(make_report):
    assert "a packing matter" in explain(judge_budget(make_report(planned=1200, bound=900), BOARD))


def test_a_reserve_is_shown_with_what_it_leaves(make_report):
    text = explain(judge_budget(make_report(planned=1000), BOARD, 50))
    assert "have   950 B = 1,000 B less a reserve of 50 B" in text


def test_inputs_and_outputs_of_the_caller_count_in_full_beside_the_plan(make_report):
    report = make_report(planned=900, bound=900)
    row = Allocation("in", "input", Kind.INPUT, "global", 70, 1, (LiveRange(0, 1),), "caller", 0)
    out = Allocation("out", "output", Kind.OUTPUT, "global", 60, 1, (LiveRange(1, 2),), "caller", 0)
    shared = PoolFigures("caller", None, 1, 130, 70, 70, "pressure", Peak(0, "input", ("in",)))
    report = replace(report, allocations=(*report.allocations, row, out), pools=(*report.pools, shared))
    verdict = judge_budget(report, BOARD)
    assert (verdict.rows[0].need, verdict.rows[0].caller, verdict.rows[0].excess) == (1030, 130, 30)
    assert verdict.peak == report.pools[0].peak
    assert "= 900 B planned + 130 B of the caller's inputs and outputs" in explain(verdict)
    assert "bound  1,030 B" in explain(verdict)


def test_buffers_left_alone_count_in_full(make_report):
    left = LeftAlone("tmp", "conv", "global", 30, "opaque call")
    verdict = judge_budget(make_report(planned=990, left_alone=(left,)), BOARD)
    assert verdict.rows[0].need == 1020 and verdict.rows[0].unplanned == 30
    assert not verdict.fits


def test_nothing_fits_for_sure_while_a_size_is_unknown(make_report):
    left = LeftAlone("tmp", "conv", "global", None, "extent n has no bound")
    verdict = judge_budget(make_report(planned=1, left_alone=(left,)), BOARD)
    assert not verdict.fits
    assert "cannot be judged: tmp in conv has no known size (extent n has no bound)" in explain(verdict)


@given(problems(), st.integers(0, 6), st.integers(1, 400))
def test_a_plan_fits_what_holds_its_last_byte_and_no_plan_fits_less_than_the_bound(problem, shift, capacity):
    problem = replace(problem, pools=(Pool("ram", alignment=1 << shift),))
    made = plan(problem)
    report = memory_report(made)
    board = Board("b", "", "", (Region("ram", capacity, "sram", alignment=1 << shift),))
    (row,) = judge_budget(report, board).rows
    assert row.need == made.size()
    assert row.fits == (made.size() <= capacity)
    assert row.least <= made.size()


@given(
    planned=st.integers(0, 5000), slack=st.integers(0, 500), weights=st.integers(1, 2000), reserve=st.integers(0, 1000)
)
def test_a_verdict_fits_exactly_when_every_need_is_at_most_what_there_is(planned, slack, weights, reserve):
    bound = max(0, planned - slack)
    row = Allocation("w" * 200, "o" * 200, Kind.WEIGHTS, "global", weights, 1, (LiveRange(0, 1),), "w", 0)
    act = Allocation("a" * 200, "o" * 200, Kind.ACTIVATION, "global", planned, 1, (LiveRange(0, 1),), "a", 0)
    report = MemoryReport(
        "net",
        "",
        "auto",
        (
            PoolFigures("a", None, 1, planned, planned, bound, "pressure", Peak(0, "o" * 200, (act.name,))),
            PoolFigures("w", None, 1, weights, weights, weights, "pressure", None),
        ),
        (act, row),
        ("o",),
    )
    verdict = judge_budget(report, BOARD, reserve)
    assert verdict.fits == (planned <= 1000 - reserve and weights <= 600)
    assert verdict_fields(verdict)["fits"] == verdict.fits
    assert all(len(line) <= 100 for line in verdict_text(verdict).splitlines())
