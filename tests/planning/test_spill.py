"""Memories of different worth: what leaves the fast one."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.errors import DoesNotFit
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.preparing.parts import part
from tvm_memplan.planning.spilling.spill import plan_pools, spill_cost, spill_notes, spilled
from tvm_memplan.planning.spilling.traffic import traffic
from tvm_memplan.planning.trace import Alias, Alloc, Branch, Elements, Loop, Step, Trace


def buffer(name, size, start, stop, **more):
    return Buffer(name, size, (LiveRange(start, stop),), **more)


def names(made, pool):
    return {b.name for b, place in zip(made.problem.buffers, made.placements) if place.pool == pool}


FAST_AND_SLOW = (Pool("fast", 100), Pool("slow"))


def test_everything_stays_in_the_fast_memory_where_it_fits():
    problem = Problem((buffer("a", 60, 0, 2), buffer("b", 40, 1, 3), buffer("c", 60, 2, 4)), FAST_AND_SLOW)
    made = plan_pools(problem, {"a": 1, "b": 2, "c": 3})
    assert not spilled(made)
    assert not spill_notes(made, {})


def test_the_least_moved_leaves_not_the_largest():
    problem = Problem((buffer("a", 60, 0, 2), buffer("b", 50, 0, 2)), FAST_AND_SLOW)
    assert names(plan_pools(problem, {"a": 1000, "b": 10}), "slow") == {"b"}
    assert names(plan_pools(problem, {"a": 10, "b": 1000}), "slow") == {"a"}


def test_a_peak_a_little_too_high_does_not_send_all_of_it_away():
    """Fast 128 kB, peak 140 kB: one small buffer goes, 128 kB and less stay."""
    problem = Problem(
        (buffer("a", 80, 0, 2), buffer("b", 48, 1, 3), buffer("c", 12, 1, 2)), (Pool("fast", 128), Pool("slow", 32000))
    )
    made = plan_pools(problem, {"a": 800, "b": 480, "c": 60})
    assert names(made, "slow") == {"c"}
    assert made.pool_sizes == {"fast": 128, "slow": 12}
    (note,) = spill_notes(made, {"a": 800, "b": 480, "c": 60})
    assert "1 of 3 buffers (12 B) lie in slow; a run moves 60 of 1,340 B there" in note


def test_two_cheap_buffers_may_leave_instead_of_one_that_costs_more():
    problem = Problem((buffer("a", 60, 0, 1), buffer("b", 30, 0, 1), buffer("c", 30, 0, 1)), FAST_AND_SLOW)
    assert names(plan_pools(problem, {"a": 50, "b": 10, "c": 20}), "slow") == {"b"}
    tight = Problem(problem.buffers, (Pool("fast", 60), Pool("slow")))
    assert names(plan_pools(tight, {"a": 50, "b": 10, "c": 20}), "slow") == {"b", "c"}


def test_candidates_and_pins_of_a_buffer_are_kept():
    problem = Problem(
        (
            buffer("only_fast", 60, 0, 1, pools=("fast",)),
            buffer("only_slow", 10, 0, 1, pools=("slow",)),
            buffer("either", 60, 0, 1),
            buffer("pinned", 10, 0, 1, pinned=Placement("fast", 90)),
        ),
        FAST_AND_SLOW,
    )
    made = plan_pools(problem, {"either": 1000})
    assert names(made, "fast") == {"only_fast", "pinned"}
    assert names(made, "slow") == {"only_slow", "either"}


def test_what_fits_nowhere_is_an_error():
    problem = Problem((buffer("a", 60, 0, 1), buffer("b", 60, 0, 1)), (Pool("fast", 60), Pool("slow", 50)))
    with pytest.raises(DoesNotFit):
        plan_pools(problem, {})


def test_three_memories_are_filled_in_order():
    problem = Problem(
        tuple(buffer(n, 10, 0, 1) for n in "abc"), (Pool("dtcm", 10), Pool("sram", 10), Pool("sdram", 100))
    )
    made = plan_pools(problem, {"a": 1, "b": 30, "c": 20})
    assert (names(made, "dtcm"), names(made, "sram"), names(made, "sdram")) == ({"b"}, {"c"}, {"a"})


@st.composite
def cases(draw):
    count = draw(st.integers(1, 7))
    buffers = []
    for i in range(count):
        start = draw(st.integers(0, 5))
        size = draw(st.integers(1, 12))
        buffers.append(buffer(f"b{i}", size, start, start + draw(st.integers(1, 4))))
    costs = {f"b{i}": draw(st.integers(0, 40)) for i in range(count)}
    return Problem(tuple(buffers), (Pool("fast", draw(st.integers(5, 30))), Pool("slow"))), costs


def least_cost(problem, costs):
    """By trying every set of buffers."""
    everything = range(len(problem.buffers))
    best = sum(costs.values())
    for count in range(len(problem.buffers) + 1):
        for gone in combinations(everything, count):
            cost = sum(costs[f"b{i}"] for i in gone)
            stay = [i for i in everything if i not in gone]
            if cost < best and (not stay or fits(problem, stay)):
                best = cost
    return best


def fits(problem, stay):
    own = part(problem, stay)
    buffers = tuple(Buffer(b.name, b.size, b.live_ranges, pools=("fast",)) for b in own.buffers)
    try:
        plan(Problem(buffers, problem.pools[:1]), "exact", None)
    except DoesNotFit:
        return False
    return True


@given(cases())
def test_no_set_of_buffers_would_have_been_cheaper(case):
    problem, costs = case
    made = plan_pools(problem, costs)
    check_plan(made)
    assert spill_cost(made, costs) == least_cost(problem, costs)


def test_traffic_counts_every_access_in_its_loops():
    def touch(name, write=False, dtype="int8", width=1):
        return Elements(name, write, dtype, width=width)

    inner = Step("op", ("s",), ("d",), (touch("s"), touch("d", True, "float32")))
    trace = Trace(
        (
            Alloc("s", 50),
            Alloc("d", 40),
            Alias("v", "d"),
            Loop((Loop((inner,), extent=5), Step("op", ("v",), (), ())), extent=10),
            Branch((Step("x", ("s",), (), (touch("s", width=3),)),), (Step("y", ("s",), (), (touch("s"),)),)),
            Loop((Step("z", ("unknown",)),)),
        )
    )
    assert traffic(trace) == {"s": 50 + 3, "d": 200 + 40, "unknown": 1}


@given(cases())
def test_each_arena_is_as_small_as_the_planner_makes_it(case):
    """The choice asks only whether a set fits; what stays is then packed as well as can be."""
    problem, costs = case
    roomy = Problem(problem.buffers, (Pool("fast", 1000), Pool("slow")))
    assert plan_pools(roomy, costs).pool_sizes["fast"] == plan(Problem(problem.buffers)).size()
    made = plan_pools(problem, costs)
    away = list(spilled(made))
    if away:
        alone = part(problem, away)
        alone = Problem(tuple(Buffer(b.name, b.size, b.live_ranges) for b in alone.buffers))
        assert made.pool_sizes["slow"] == plan(alone).size()
