"""Bounds: no packing is smaller, and what they say is what they found."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import spans
from tvm_memplan.planning.bounds import clique_search
from tvm_memplan.planning.bounds.bound import bound, naive
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem, round_up
from tvm_memplan.planning.planners import plan

few = settings(max_examples=80, deadline=None)


@st.composite
def tiny(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(1, 4))
    sizes, powers = st.integers(0, 6), st.sampled_from((1, 2, 4))
    buffers = tuple(Buffer(f"b{i}", draw(sizes), draw(spans()), draw(powers)) for i in range(count))
    every = list(combinations(range(count), 2))
    some = st.frozensets(st.sampled_from(every)) if every else st.just(frozenset())
    conflicts = draw(some) if draw(st.booleans()) else None
    pool = Pool("arena", None, draw(powers), granularity=draw(powers))
    return Problem(buffers, (pool,), conflicts, draw(some), frozenset((j, i) for i, j in draw(some)))


def smallest(problem: Problem) -> int:
    """The smallest arena, by trying every offset of every buffer."""
    (pool,) = problem.pools
    conflicts = Conflicts(problem)
    best = naive(problem)

    def go_on(offsets: list[int], end: int) -> None:
        nonlocal best
        i = len(offsets)
        if round_up(end, pool.granularity) >= best:
            return
        if i == len(problem.buffers):
            best = round_up(end, pool.granularity)
            return
        buffer = problem.buffers[i]
        near = [j for j in conflicts.of(i).tolist() if j < i]
        for at in range(0, best - buffer.size, max(buffer.alignment, pool.alignment, pool.granularity)):
            apart = all(
                min(at + buffer.size, offsets[j] + problem.buffers[j].size) <= max(at, offsets[j])
                or (j in conflicts.partners.get(i, ()) and at == offsets[j])
                for j in near
            )
            if apart:
                go_on([*offsets, at], max(end, at + buffer.size))

    go_on([], 0)
    return best


@given(problem=tiny())
@settings(max_examples=300, deadline=None)
def test_no_packing_at_all_is_smaller_than_the_bound(problem):
    least = min(max(b.alignment, problem.pools[0].alignment, problem.pools[0].granularity) for b in problem.buffers)
    assert round_up(smallest(problem), least) >= bound(problem).bytes


@given(problem=tiny())
@few
def test_a_clique_is_of_buffers_that_conflict(problem):
    found = bound(problem)
    if found.kind == "clique":
        conflicts = Conflicts(problem)
        assert all(j in conflicts.of(i) for i, j in combinations(found.members, 2))
        assert found.bytes <= sum(round_up(problem.buffers[i].size, 4) for i in found.members)


@given(problem=tiny(), data=st.data())
@few
def test_separating_a_pair_cannot_lower_the_bound(problem, data):
    every = list(combinations(range(len(problem.buffers)), 2))
    if every:
        more = replace(problem, separate=problem.separate | {data.draw(st.sampled_from(every))})
        assert bound(more).bytes >= bound(problem).bytes


def random_graph(seed: int, count: int, dense: float) -> Problem:
    random = Random(seed)
    buffers = tuple(Buffer(f"b{i}", random.randint(1, 100)) for i in range(count))
    pairs = combinations(range(count), 2)
    return Problem(buffers, conflicts=frozenset(pair for pair in pairs if random.random() < dense))


@pytest.mark.parametrize("seed", range(20))
def test_the_heaviest_clique_of_a_small_graph_is_found(seed):
    problem = random_graph(seed, 14, 0.5)
    pairs = problem.conflicts
    sizes = [b.size for b in problem.buffers]
    heaviest = max(
        sum(sizes[i] for i in some)
        for count in range(1, 15)
        for some in combinations(range(14), count)
        if all(pair in pairs for pair in combinations(some, 2))
    )
    assert bound(problem).bytes == heaviest


def test_each_search_alone_finds_a_clique(monkeypatch):
    problem = random_graph(7, 60, 0.6)
    best = bound(problem).bytes
    monkeypatch.setattr(clique_search, "EFFORT", 0)
    assert 0 < bound(problem).bytes <= best


def test_a_hidden_clique_is_found_in_a_large_graph():
    random = Random(5)
    hidden = sorted(random.sample(range(300), 25))
    problem = random_graph(3, 300, 0.3)
    problem = replace(problem, conflicts=problem.conflicts | frozenset(combinations(hidden, 2)))
    assert bound(problem).bytes >= sum(problem.buffers[i].size for i in hidden)


def test_several_live_ranges_can_conflict_in_pairs_and_never_all_at_once():
    # a and b meet at 0, b and c at 2, a and c at 4: no step has all three, but no two may share.
    a = Buffer("a", 4, (LiveRange(0, 1), LiveRange(4, 5)))
    b = Buffer("b", 4, (LiveRange(0, 1), LiveRange(2, 3)))
    c = Buffer("c", 4, (LiveRange(2, 3), LiveRange(4, 5)))
    found = bound(Problem((a, b, c)))
    assert (found.bytes, found.kind, found.members) == (12, "clique", (0, 1, 2))


def test_separate_buffers_count_together():
    buffers = tuple(Buffer(f"b{i}", 8, (LiveRange(i, i + 1),)) for i in range(3))
    assert bound(Problem(buffers)).bytes == 8
    assert bound(Problem(buffers, separate=frozenset({(0, 2)}))).bytes == 16


def test_mixed_alignments_waste_what_no_order_can_avoid():
    # Two of 20 bytes aligned to 16 take 32 + 20, although the sizes alone add up to 41.
    alive = (LiveRange(0, 1),)
    problem = Problem((Buffer("a", 20, alive, 16), Buffer("b", 20, alive, 16), Buffer("c", 1, alive)))
    assert bound(problem).bytes == 52 == plan(problem).size()


def test_a_granularity_counts_like_an_alignment():
    alive = (LiveRange(0, 1),)
    problem = Problem((Buffer("a", 20, alive), Buffer("b", 20, alive)), (Pool("arena", granularity=16),))
    assert bound(problem).bytes == 64 == plan(problem).size()
