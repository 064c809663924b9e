"""Outputs are moved onto their dying inputs where that costs nothing."""

from hypothesis import given

from tests.planning.strategies import problems
from tvm_memplan.planning.finishing.onto_inputs import onto_inputs
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Problem
from tvm_memplan.planning.planners import plan


def together(made):
    return {(i, j) for i, j in made.problem.in_place if made.placements[i] == made.placements[j]}


@given(problems())
def test_the_plan_stays_right_and_grows_nowhere(problem):
    made = plan(problem, "greedy_by_size")
    moved = onto_inputs(made)
    check_plan(moved)
    assert moved.size() <= made.size()


def chain():
    """`b` may lie on `a`, and `c` on `b`; something of another time has room for either."""
    spans = {"other": (0, 2), "a": (1, 3), "b": (2, 4), "c": (3, 5)}
    buffers = tuple(Buffer(name, 16, (LiveRange(*span),)) for name, span in spans.items())
    return Problem(buffers, in_place=frozenset({(2, 1), (3, 2)}))


def test_a_chain_ends_up_on_one_place():
    made = Plan(chain(), tuple(Placement("arena", offset) for offset in (0, 16, 0, 16)))
    moved = onto_inputs(made)
    assert together(moved) == {(2, 1), (3, 2)}
    assert [place.offset for place in moved.placements] == [0, 16, 16, 16]


def test_nobody_is_moved_onto_a_third_that_is_alive():
    problem = chain()
    longer = Buffer("other", 16, (LiveRange(0, 9),))
    problem = Problem((longer, *problem.buffers[1:]), in_place=frozenset({(2, 1)}))
    made = Plan(problem, tuple(Placement("arena", offset) for offset in (0, 16, 32, 48)))
    assert onto_inputs(made).placements[2].offset == 16
    wide = Problem((longer, problem.buffers[1], Buffer("b", 32, (LiveRange(2, 4),)), problem.buffers[3]),
                   in_place=frozenset({(2, 1)}))  # fmt: skip
    blocked = Plan(wide, tuple(Placement("arena", offset) for offset in (16, 0, 32, 64)))
    check_plan(blocked)
    assert onto_inputs(blocked) == blocked
