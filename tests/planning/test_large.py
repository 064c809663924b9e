"""Very many buffers: the fast ways agree with the simple ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.errors import BadPlan
from tvm_memplan.planning import planners
from tvm_memplan.planning.bounds import bound as bounds
from tvm_memplan.planning.bounds import pressure
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.judge import check
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.judge.sweep import overlaps
from tvm_memplan.planning.large.columns import columns
from tvm_memplan.planning.large.fit import fit
from tvm_memplan.planning.large.pack import ORDERS, arrange, pack
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem, round_up
from tvm_memplan.planning.packing.pack import Packer
from tvm_memplan.planning.planners import plan

few = settings(max_examples=60, deadline=None)


def timeline(count: int, seed: int = 0) -> Problem:
    random = Random(seed)
    buffers = []
    for i in range(count):
        start = random.randrange(count)
        length = random.choice((1, 2, 5, 40, count // 2))
        buffers.append(Buffer(f"b{i}", random.randrange(1, 900) * 16, (LiveRange(start, start + length),), 16))
    return Problem(tuple(buffers))


@pytest.mark.parametrize("best_fit", [False, True])
@given(problem=problems(given=False, pairs=False))
@settings(max_examples=100, deadline=None)
def test_the_index_over_time_packs_as_the_plain_kernel_does(best_fit, problem):
    given_columns = columns(problem)
    assert given_columns is not None
    own, _ = given_columns
    packer = Packer(Conflicts(problem))
    for name in ORDERS:
        order = arrange(own, name)
        solid = order[own.size[order] > 0]
        offsets, top, _ = fit(solid, own.size, own.align, own.ptr, own.start, own.stop, best_fit)
        layout = packer.pack(order.tolist(), best_fit)
        assert offsets.tolist() == [int(at) for at in layout.offset]
        assert top == int(layout.top[0])


@given(problem=problems(given=False, pairs=False))
@few
def test_the_pressure_of_columns_is_that_of_the_sweep(problem):
    own, _ = columns(problem)
    everybody = range(len(problem.buffers))
    weight = {i: round_up(problem.buffers[i].size, bounds.granule(problem, everybody)) for i in everybody}
    assert own.pressure == pressure.pressure(problem, weight)[0] <= bound(problem).bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pressure, "MANY", 0)
        assert bound(problem) == own_bound(problem)


def own_bound(problem: Problem) -> bounds.Bound:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pressure, "MANY", 10**9)
        return bound(problem)


@given(problem=problems(given=False, pairs=False))
@few
def test_planning_by_columns_is_judged_right_and_never_worse_than_its_first_order(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planners, "MOST_LISTED", 0)
        made = plan(problem)
    own, _ = columns(problem)
    first = arrange(own, ORDERS[0])
    _, top, _ = fit(first[own.size[first] > 0], own.size, own.align, own.ptr, own.start, own.stop)
    assert made.size() <= max(top, 0)
    assert made.outcome.least <= bound(problem).bytes  # which looks at cliques and mixed alignments, too


def test_thousands_of_buffers_come_close_to_the_bound():
    problem = timeline(12_000)
    made = plan(problem, time_limit=0.0)
    assert made.size() <= 1.05 * bound(problem).bytes
    assert not made.outcome.cut
    assert plan(problem, time_limit=0.0) == made


def test_a_fit_that_grows_too_large_gives_up():
    own, _ = columns(timeline(100))
    _, top, _ = fit(arrange(own, "size"), own.size, own.align, own.ptr, own.start, own.stop, False, 10)
    assert top == -1


def test_no_buffers_take_no_bytes():
    assert plan(Problem(())).size() == 0
    none = np.zeros(0, dtype=np.int64)
    own, _ = columns(timeline(3))
    empty = replace(own, size=none, align=none, ptr=np.zeros(1, dtype=np.int64), start=none, stop=none)
    assert pack(empty, Effort(10**6))[1] == 0


def test_problems_with_more_than_time_to_respect_do_not_qualify():
    two = timeline(2)
    assert columns(replace(two, separate=frozenset({(0, 1)}))) is None
    assert columns(replace(two, in_place=frozenset({(1, 0)}))) is None
    assert columns(replace(two, conflicts=frozenset())) is None
    pinned = tuple(replace(b, pinned=Placement("arena", 0)) for b in two.buffers)
    assert columns(replace(two, buffers=pinned)) is None
    elsewhere = (replace(two.buffers[0], pools=("b",)), replace(two.buffers[1], pools=("a",)))
    assert columns(Problem(elsewhere, (Pool("a"), Pool("b")))) is None
    huge = tuple(replace(b, size=b.size << 60) for b in two.buffers)
    assert columns(replace(two, buffers=huge)) is None


@given(problem=problems(given=False, pairs=False), data=st.data())
@settings(max_examples=300, deadline=None)
def test_the_sweeping_judge_agrees_with_the_one_that_looks_at_every_pair(problem, data):
    pools = (Pool("arena"), Pool("other"))
    problem = replace(problem, buffers=tuple(replace(b, alignment=1) for b in problem.buffers), pools=pools)
    places = tuple(
        Placement(data.draw(st.sampled_from(("arena", "arena", "other"))), data.draw(st.integers(0, 9)) * 8)
        for _ in problem.buffers
    )
    made = Plan(problem, places)
    every = _every_overlap(made)
    found = list(overlaps(made))
    assert set(found) <= every
    assert bool(found) == bool(every)
    with pytest.MonkeyPatch.context() as patch:
        for many in (0, 10**9):
            patch.setattr(check, "MANY", many)
            if every:
                with pytest.raises(BadPlan, match="share bytes"):
                    check_plan(made)
            else:
                check_plan(made)


def _every_overlap(made: Plan) -> set[tuple[int, int]]:
    buffers, places = made.problem.buffers, made.placements
    return {
        (i, j)
        for j in range(len(buffers))
        for i in range(j)
        if places[i].pool == places[j].pool
        and max(places[i].offset, places[j].offset)
        < min(places[i].offset + buffers[i].size, places[j].offset + buffers[j].size)
        and buffers[i].alive_with(buffers[j])
    }


@pytest.mark.parametrize("seed", range(3))
def test_one_wrong_offset_among_thousands_is_found(seed):
    problem = timeline(11_000, seed)
    made = plan(problem, time_limit=0.0)
    assert len(problem.buffers) > check.MANY
    random = Random(seed)
    found = 0
    for _ in range(5):
        i = random.randrange(len(problem.buffers))
        moved = replace(made.placements[i], offset=0 if made.placements[i].offset else 16)
        broken = Plan(problem, (*made.placements[:i], moved, *made.placements[i + 1 :]))
        touching = _every_overlap_of(broken, i)
        if touching:
            found += 1
            with pytest.raises(BadPlan, match=f"b{i}'"):
                check_plan(broken)
        else:
            check_plan(broken)
    assert found


def _every_overlap_of(made: Plan, i: int) -> set[int]:
    buffers, places = made.problem.buffers, made.placements
    return {
        j
        for j in range(len(buffers))
        if j != i
        and max(places[i].offset, places[j].offset)
        < min(places[i].offset + buffers[i].size, places[j].offset + buffers[j].size)
        and buffers[i].alive_with(buffers[j])
    }
