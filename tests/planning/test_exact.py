"""Laws of the exact search: it finds the best there is, and says so only then."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.errors import BadInput, BadPlan, DoesNotFit
from tvm_memplan.planning.bounds.bound import bound, planned
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact import attempts, kernel
from tvm_memplan.planning.exact.attempts import ORDERS, Ranked, attempt
from tvm_memplan.planning.exact.hunt import Hunt, hunt
from tvm_memplan.planning.exact.infeasible import infeasible_subset
from tvm_memplan.planning.exact.kernel import FOUND, NONE, UNDECIDED
from tvm_memplan.planning.exact.sections import sections
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.planning.packing.pack import Packer
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.preparing.parts import part

few = settings(max_examples=80, deadline=None)


def lowest(problem: Problem) -> int:
    """The smallest arena, by every order in which first fit can place the buffers: one of them is the best."""
    packer = Packer(Conflicts(problem))
    (pool,) = problem.pools
    return min(
        planned(Plan(problem, tuple(packer.placements(packer.pack(order)))), pool)
        for order in permutations(range(len(problem.buffers)))
    )


def box(name: str, size: int, start: int, stop: int, **more) -> Buffer:
    return Buffer(name, size, (LiveRange(start, stop),), **more)


#: At most 6 bytes are alive, but no plan takes less than 7.
GAP = Problem(
    tuple(
        box(f"b{i}", *numbers)
        for i, numbers in enumerate(
            [(3, 3, 6), (1, 2, 5), (3, 5, 6), (1, 1, 4), (3, 0, 2), (3, 0, 1), (1, 2, 4), (1, 1, 3)]
        )
    )
)


@pytest.mark.parametrize("given_conflicts", [False, True])
@given(data=st.data())
@few
def test_exact_is_as_good_as_trying_every_order(given_conflicts, data):
    problem = data.draw(problems(given=given_conflicts, pairs=False, most=6))
    made = plan(problem, "exact", time_limit=None)
    assert made.outcome is not None and made.outcome.proved
    assert planned(made, problem.pools[0]) == made.outcome.least == lowest(problem)


@given(problem=problems(most=6))
@few
def test_exact_claims_no_more_than_is_true(problem):
    made = plan(problem, "exact")
    assert made.outcome.least <= lowest(problem)
    assert not made.outcome.proved or planned(made, problem.pools[0]) <= lowest(problem)


@given(problem=problems(given=False, pairs=False, most=6), data=st.data())
@few
def test_pinned_buffers_are_searched_around(problem, data):
    found = plan(problem)
    pinned = data.draw(st.sets(st.integers(0, len(problem.buffers) - 1)))
    shift = 16 * data.draw(st.integers(0, 2))
    buffers = tuple(
        replace(b, pinned=Placement("arena", at.offset + shift)) if i in pinned else b
        for i, (b, at) in enumerate(zip(problem.buffers, found.placements))
    )
    fixed = replace(problem, buffers=buffers)
    made = plan(fixed, "exact", time_limit=None)
    assert made.outcome.proved
    # Every lowest plan is one in which each buffer, from the lowest up, lies as low as those below it allow.
    assert planned(made, problem.pools[0]) == lowest(fixed)


@given(problem=problems(pairs=False))
@few
def test_no_order_of_the_portfolio_contradicts_another(problem):
    (pool,) = problem.pools
    for parts in sections(Conflicts(problem), pool):
        for height in {parts.least, parts.least + 1, sum(parts.size)}:
            results = {attempt(Ranked(parts, order, False), height, 10**7, Effort(10**8))[0] for order in ORDERS}
            assert len(results) == 1 and UNDECIDED not in results


@given(problem=problems(most=10))
@settings(max_examples=20, deadline=None)
def test_compiled_and_uncompiled_search_take_the_same_steps(problem):
    (pool,) = problem.pools
    for parts in sections(Conflicts(problem), pool):
        slow, fast = Effort(10**6), Effort(10**6)
        one = attempt(Ranked(parts, ORDERS[0], False), parts.least, 10**6, slow)
        assert one == attempt(Ranked(parts, ORDERS[0], True), parts.least, 10**6, fast)
        assert slow.used == fast.used


@given(problem=problems(most=10), portion=st.integers(1, 50))
@few
def test_a_search_that_is_interrupted_goes_on_as_if_it_were_not(problem, portion):
    (pool,) = problem.pools
    for parts in sections(Conflicts(problem), pool):
        whole = attempt(Ranked(parts, ORDERS[0], False), parts.least, 10**6, Effort(10**6))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attempts, "PORTION", portion)
            assert attempt(Ranked(parts, ORDERS[0], False), parts.least, 10**6, Effort(10**6)) == whole


@given(problem=problems())
@few
def test_searching_is_never_worse_than_the_greedy_plan_it_starts_from(problem):
    (pool,) = problem.pools
    greedy = planned(plan(problem, "greedy_by_size"), pool)
    for effort in (0.0, 0.01, None):
        assert planned(plan(problem, "exact", time_limit=effort), pool) <= greedy


@given(problem=problems(pairs=False))
@few
def test_more_work_is_never_worse_and_bounds_never_cross(problem):
    conflicts = Conflicts(problem)
    start = plan(problem, "greedy_by_size")
    heights = []
    for work in (0, 100, 10_000, 10**7):
        hunts = [
            Hunt.begin(s, [start.placements[i].offset // s.unit for i in s.members])
            for s in sections(conflicts, problem.pools[0])
        ]
        least = hunt(hunts, Effort(work))
        heights.append(max((h.high for h in hunts), default=0))
        assert least <= heights[-1]
    assert heights == sorted(heights, reverse=True)


def test_a_gap_between_bound_and_best_is_proved():
    assert bound(GAP).bytes == 6
    made = plan(GAP)
    assert made.size() == lowest(GAP) == 7
    assert made.outcome.proved and made.outcome.least == 7
    assert str(made.outcome) == "proved optimal"


def test_without_any_work_the_outcome_promises_only_the_bound():
    made = plan(GAP, "exact", time_limit=0)
    assert not made.outcome.proved and not made.outcome.cut
    assert made.outcome.least == 6
    assert "best found; no plan takes less than 6 bytes" in str(made.outcome)


def test_time_that_runs_out_is_admitted():
    effort = Effort(10**9, seconds=-1.0)
    assert effort.over and effort.cut
    assert not Effort(0, seconds=-1.0).cut or Effort(0, seconds=-1.0).over


def test_a_negative_time_limit_is_refused():
    with pytest.raises(BadInput, match="must not be negative"):
        plan(GAP, time_limit=-1)


def test_everything_in_the_preferred_pool_is_better_than_a_spill():
    buffers = tuple(replace(b, pools=("fast", "slow")) for b in GAP.buffers)
    problem = Problem(buffers, (Pool("fast", capacity=7), Pool("slow")))
    assert plan(problem, "exact").pool_sizes["slow"] == 0


@pytest.mark.parametrize(
    ("name", "broken", "result"),
    [
        ("passed_over", lambda t, s, depth, height: False, NONE),  # cuts off what must not be
        ("split", None, FOUND),  # (right, as a control)
    ],
)
def test_a_search_that_is_broken_on_purpose_is_caught(name, broken, result):
    (parts,) = sections(Conflicts(GAP), GAP.pools[0])
    with pytest.MonkeyPatch.context() as patch:
        if broken:
            patch.setattr(kernel, name, broken)
        found, _ = attempt(Ranked(parts, ORDERS[0], False), 7, 10**6, Effort(10**6))
    assert found == result


def test_a_search_that_forgets_to_lift_is_caught_by_the_judge():
    (parts,) = sections(Conflicts(GAP), GAP.pools[0])
    ranked = Ranked(parts, ORDERS[0], False)
    ranked.tables = ranked.tables._replace(near_ptr=[0] * len(ranked.tables.near_ptr))
    found, offsets = attempt(ranked, 6, 10**6, Effort(10**6))
    assert found == FOUND
    with pytest.raises(BadPlan, match="share bytes"):
        check_plan(Plan(GAP, tuple(Placement("arena", at) for at in offsets)))


@given(problem=problems(pairs=False, aligned=False, most=7), data=st.data())
@few
def test_an_infeasible_subset_is_infeasible_and_irreducible(problem, data):
    made = plan(problem, "exact", time_limit=None)
    capacity = data.draw(st.integers(0, max(0, made.outcome.least - 1)))
    found = infeasible_subset(problem, capacity, Effort(10**9))
    if made.outcome.least == 0:
        assert found is None
        return
    assert found is not None and found.irreducible

    def least(members):
        return plan(part(problem, members), "exact", time_limit=None).outcome.least

    members = list(found.members)
    assert least(members) > capacity
    for i in members:
        rest = [j for j in members if j != i]
        assert not rest or plan(part(problem, rest), "exact", time_limit=None).size() <= capacity


@given(problem=problems(pairs=False))
@few
def test_what_fits_has_no_infeasible_subset(problem):
    assert infeasible_subset(problem, plan(problem).size(), Effort(10**7)) is None


def test_a_capacity_that_cannot_be_met_is_explained_by_few_buffers():
    more = (*GAP.buffers, *(box(f"far{i}", 2, 10 + i, 12 + i) for i in range(30)))
    problem = Problem(more, (Pool("arena", capacity=6),))
    with pytest.raises(DoesNotFit, match=r"no plan can hold 'b0' \(3\).* in 6 bytes together") as caught:
        plan(problem)
    assert "far" not in str(caught.value).split("no plan can hold")[1]
