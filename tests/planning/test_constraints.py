"""Constraints, one by one and together: planners keep them, and the judge notices when they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.planning.constrained import constrained
from tvm_memplan.errors import BadPlan, BadProblem
from tvm_memplan.planning.finishing.penalties import with_less_penalty
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem, View, round_up
from tvm_memplan.planning.planners import PLANNERS, plan
from tvm_memplan.planning.preparing.granularity import without_granularity
from tvm_memplan.planning.preparing.parts import part
from tvm_memplan.report import memory_report

planners = pytest.mark.parametrize("planner", sorted(PLANNERS))
few = settings(max_examples=60, deadline=None)


def buffer(name: str, size: int, start: int = 0, stop: int = 1, alignment: int = 1, **more: object) -> Buffer:
    return Buffer(name, size, (LiveRange(start, stop),), alignment, **more)  # type: ignore[arg-type]


@planners
@given(problem=constrained())
@few
def test_every_planner_keeps_every_constraint(planner, problem):
    made = plan(problem, planner)  # judged
    for pool in problem.pools:
        assert made.size(pool.name) % pool.granularity == 0
        assert pool.capacity is None or made.size(pool.name) <= pool.capacity
    for view, place in zip(problem.views, made.view_placements):
        root = made.placements[view.root]
        assert (place.pool, place.offset) == (root.pool, root.offset + view.offset)
    for figures in memory_report(made).pools:
        assert figures.naive >= figures.planned >= figures.bound
        assert figures.planned >= made.size(figures.pool)


@given(problem=constrained())
@few
def test_penalties_change_no_size_and_are_never_more_than_without_looking(problem):
    blind = plan(replace(problem, penalties=frozenset()), "greedy_by_size")
    made = plan(problem, "greedy_by_size")
    assert all(made.size(pool.name) <= blind.size(pool.name) for pool in problem.pools)
    assert made.penalty <= Plan(problem, blind.placements).penalty


@given(problem=constrained())
@few
def test_granules_are_alignments_and_smaller_capacities(problem):
    plain = without_granularity(problem)
    made = plan(plain, "greedy_by_size")
    check_plan(Plan(problem, made.placements))


@given(problem=constrained())
@few
def test_a_part_of_everything_is_everything(problem):
    whole = part(problem, range(len(problem.buffers)))
    assert (whole.separate, whole.in_place, whole.views, whole.penalties) == (
        problem.separate,
        problem.in_place,
        problem.views,
        problem.penalties,
    )


# --- granularity ---


@planners
def test_sizes_count_in_whole_granules(planner):
    problem = Problem((buffer("a", 20), buffer("b", 20)), (Pool("arena", 64, granularity=16),))
    assert plan(problem, planner).size() == 64
    with pytest.raises(Exception, match="found no room for buffer"):
        plan(replace(problem, pools=(Pool("arena", 63, granularity=16),)), planner)


def test_the_judge_notices_broken_granules():
    problem = Problem((buffer("a", 20), buffer("b", 20, 1, 2)), (Pool("arena", 30, granularity=16),))
    with pytest.raises(BadPlan, match=r"'a' at offset 0.*its 32 bytes end beyond the capacity of 30 bytes"):
        check_plan(Plan(problem, (Placement("arena", 0), Placement("arena", 0))))
    problem = replace(problem, pools=(Pool("arena", granularity=16),))
    with pytest.raises(BadPlan, match=r"'b' at offset 8.*not a multiple of the pool's granularity 16"):
        check_plan(Plan(problem, (Placement("arena", 0), Placement("arena", 8))))


# --- penalties ---


def costly(*sizes: int) -> Problem:
    """Buffers one after another in time, of which the first two should rather not share."""
    buffers = tuple(buffer(f"b{i}", size, i, i + 1) for i, size in enumerate(sizes))
    return Problem(buffers, penalties=frozenset({(0, 1, 7)}))


@planners
def test_sharing_that_costs_is_left_where_there_is_room_anyway(planner):
    made = plan(costly(4, 4, 8), planner)
    assert (made.size(), made.penalty) == (8, 0)


@planners
def test_no_arena_grows_to_save_a_penalty(planner):
    made = plan(costly(4, 4), planner)
    assert (made.size(), made.penalty) == (4, 7)


def test_with_room_to_grow_a_penalty_is_saved():
    made = with_less_penalty(plan(costly(4, 4)), room={"arena": 8})
    check_plan(made)
    assert (made.size(), made.penalty) == (8, 0)


def test_single_moves_save_what_a_plan_without_penalties_cannot():
    # Every pair costs, so no plan is free, but 2 of 3 in 8 bytes can lie apart.
    buffers = tuple(buffer(f"b{i}", 4, i, i + 1) for i in range(3))
    costs = frozenset({(0, 1, 5), (0, 2, 3), (1, 2, 1)})
    problem = Problem((*buffers, buffer("b3", 8, 3, 4)), penalties=costs)
    made = plan(problem)
    assert (made.size(), made.penalty) == (8, 1)


def test_pinned_buffers_do_not_move_for_penalties():
    pinned = (buffer("a", 4, pinned=Placement("arena", 0)), buffer("b", 4, 1, 2, pinned=Placement("arena", 2)))
    made = plan(Problem((*pinned, buffer("c", 9)), penalties=frozenset({(0, 1, 1)})))
    assert made.penalty == 1


def test_penalties_are_reported():
    report = memory_report(plan(costly(4, 4)))
    assert "Penalties for sharing: 7 of 7 are paid." in report.notes


# --- views ---


def test_views_lie_where_their_root_lies_and_take_nothing():
    problem = Problem((buffer("a", 8), buffer("b", 8)), views=(View("tail", 1, 6, 2),))
    made = plan(problem)
    assert made.size() == 16
    assert made.view_placements[0].offset == made.placements[1].offset + 6
    (note,) = memory_report(made).notes
    assert note.startswith("View 'tail' of 'b': 2 bytes at offset ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"views": (View("v", 2, 0, 1),)}, "view 'v': root 2 must be an index below 2"),
        ({"views": (View("v", 0, 6, 4),)}, r"view 'v': bytes \[6, 10\) do not lie in the 8 bytes of 'a'"),
        ({"views": (View("v", 0, -1, 4),)}, r"view 'v': bytes \[-1, 3\)"),
        ({"views": (View("b", 0, 0, 4),)}, "'b' is defined twice"),
        ({"penalties": frozenset({(1, 0, 4)})}, r"penalty \(1, 0, 4\) must be"),
        ({"penalties": frozenset({(0, 1, 0)})}, r"penalty \(0, 1, 0\) must be .* a positive cost"),
        ({"penalties": frozenset({(0, 2, 1)})}, r"penalty \(0, 2, 1\) must be two indices i < j below 2"),
        ({"penalties": frozenset({(0, 1, 1), (0, 1, 2)})}, "two penalties are for the same pair"),
    ],
)
def test_contradictions_are_refused_when_a_problem_is_made(change, message):
    with pytest.raises(BadProblem, match=message):
        Problem((buffer("a", 8), buffer("b", 8)), **change)


def test_a_granularity_is_a_power_of_two():
    with pytest.raises(BadProblem, match="pool 'p': granularity must be a power of two, got 12"):
        Pool("p", granularity=12)


def test_the_end_of_an_arena_is_a_whole_granule():
    made = Plan(Problem((buffer("a", 5),), (Pool("arena", granularity=4),)), (Placement("arena", 0),))
    assert made.size() == round_up(5, 4) == 8
