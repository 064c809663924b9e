"""The problems of USMP's own tests: what TVM makes of them, and what we do."""

from __future__ import annotations

import pytest

from tests.planning.usmp_problems import EXPECTED, FAN_OUT_EITHER
from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.usmp import usmp_greedy_by_conflicts, usmp_greedy_by_size

problems = pytest.mark.parametrize("name", sorted(EXPECTED))


@problems
def test_the_sizes_that_tvm_expects_are_reproduced(name):
    problem, pool, by_size, by_conflicts, _ = EXPECTED[name]
    for planner, expected in ((usmp_greedy_by_size, by_size), (usmp_greedy_by_conflicts, by_conflicts)):
        made = planner(FAN_OUT_EITHER if expected == 320 else problem)
        check_plan(made)
        assert made.size(pool) == expected


@problems
def test_auto_is_no_larger_than_any_of_tvms_planners(name):
    problem, pool, *theirs = EXPECTED[name]
    assert plan(problem).size(pool) <= min(theirs)


@pytest.mark.parametrize(
    "problem", [EXPECTED["linear"][0], EXPECTED["fan-out"][0], EXPECTED["resnet"][0], FAN_OUT_EITHER]
)
def test_auto_is_at_the_bound(problem):
    assert plan(problem).size() == bound(problem).bytes


@problems
def test_filling_gaps_is_no_worse_than_stacking(name):
    problem, pool, by_size, by_conflicts, _ = EXPECTED[name]
    assert plan(problem, "greedy_by_size").size(pool) <= by_size
    assert plan(problem, "greedy_by_conflicts").size(pool) <= by_conflicts


def test_where_usmp_gives_up_the_buffer_is_named():
    three = tuple(Buffer(name, 10) for name in "abc")
    problem = Problem(three, (Pool("tiny", 10),), frozenset({(0, 1), (1, 2), (0, 2)}))
    with pytest.raises(DoesNotFit, match=r"no room for buffer 'b' of 10 bytes"):
        usmp_greedy_by_size(problem)
