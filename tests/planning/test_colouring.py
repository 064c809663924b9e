"""Colourings, slots, and slots of several dimensions."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.constrained import constrained
from tests.planning.strategies import problems
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Plan, Problem
from tvm_memplan.planning.packing.pack import cost
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.preparing.granularity import without_granularity
from tvm_memplan.planning.slots.colour import colour, stacked
from tvm_memplan.planning.slots.colouring import dsatur, largest_first, left_edge, smallest_last
from tvm_memplan.planning.slots.problem import slot_problem

few = settings(max_examples=80, deadline=None)


@st.composite
def graphs(draw, most=9):
    count = draw(st.integers(0, most))
    every = list(combinations(range(count), 2))
    edges = draw(st.sets(st.sampled_from(every))) if every else set()
    return [[j for j in range(count) if (min(i, j), max(i, j)) in edges] for i in range(count)]


intervals = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 9)).map(
        lambda t: (LiveRange(t[0], t[0] + t[1]), t[2])
    ),
    max_size=15,
)


def fewest(near):
    """The fewest colours there can be, by trying."""

    def possible(colours, most):
        i = len(colours)
        if i == len(near):
            return True
        used = {colours[j] for j in near[i] if j < i}
        return any(possible([*colours, c], most) for c in range(min(most, i + 1)) if c not in used)

    return next(most for most in range(len(near) + 1) if possible([], most))


@given(near=graphs(), data=st.data())
@few
def test_neighbours_have_different_colours_and_every_colour_is_used(near, data):
    sizes = data.draw(st.lists(st.integers(0, 9), min_size=len(near), max_size=len(near)))
    for colours in (largest_first(near, sizes), smallest_last(near), dsatur(near)):
        assert all(colours[i] != colours[j] for i in range(len(near)) for j in near[i])
        assert set(colours) == set(range(max(colours, default=-1) + 1))


@given(near=graphs())
@few
def test_smallest_last_takes_one_colour_more_than_the_degeneracy_at_most(near):
    left, degeneracy = set(range(len(near))), 0
    while left:
        i = min(left, key=lambda i: len(left & set(near[i])))
        degeneracy = max(degeneracy, len(left & set(near[i])))
        left.remove(i)
    assert max(smallest_last(near), default=-1) <= degeneracy


@given(near=graphs(most=7))
@few
def test_dsatur_takes_the_fewest_colours_where_two_are_enough(near):
    least = fewest(near)
    assert max(dsatur(near), default=-1) + 1 >= least
    if least <= 2:
        assert max(dsatur(near), default=-1) + 1 == least


@given(rows=intervals)
@few
def test_left_edge_takes_as_many_colours_as_are_alive_at_once(rows):
    spans, sizes = [span for span, _ in rows], [size for _, size in rows]
    colours = left_edge(spans, sizes)
    assert all(
        colours[i] != colours[j] or not spans[i].overlaps(spans[j]) for i, j in combinations(range(len(rows)), 2)
    )
    alive = max((sum(s.start <= step < s.stop for s in spans) for step in range(20)), default=0)
    assert max(colours, default=-1) + 1 == alive


@given(near=graphs(), data=st.data())
@few
def test_largest_first_gives_the_largest_the_first_colour(near, data):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=len(near), max_size=len(near)))
    colours = largest_first(near, sizes)
    for i, own in enumerate(colours):
        # Whoever keeps a buffer from a lower colour is no smaller.
        for lower in range(own):
            assert any(colours[j] == lower and sizes[j] >= sizes[i] for j in near[i])


@given(problem=constrained())
@few
def test_colours_are_plans_like_any_other_and_packing_is_no_worse_than_stacking(problem):
    made = plan(problem, "colour")  # judged
    plain = without_granularity(problem)
    conflicts = Conflicts(plain)
    assert cost(plain, colour(conflicts)) <= cost(plain, stacked(conflicts))
    assert made.planner == "colour"


@given(problem=problems())
@few
def test_slots_are_a_problem_whose_plans_are_right_for_the_members(problem):
    conflicts = Conflicts(problem)
    members = [i for i, b in enumerate(problem.buffers) if b.size]
    near = {i: set(conflicts.of(i).tolist()) - conflicts.partners.get(i, frozenset()) for i in members}

    def colouring(_, group):
        return smallest_last([[group.index(j) for j in near[i] if j in group] for i in group])

    slots, of = slot_problem(conflicts, colouring)
    assert sorted(i for own in of for i in own) == members
    places = plan(slots, "greedy_by_size").placements
    where = {i: place for own, place in zip(of, places) for i in own}
    check_plan(
        Plan(problem, tuple(where.get(i, plan(problem, "colour").placements[i]) for i in range(len(problem.buffers))))
    )


def test_a_colouring_that_is_none_is_refused():
    alive = (LiveRange(0, 1),)
    with pytest.raises(ValueError, match="'a' and 'b' have one colour"):
        slot_problem(
            Conflicts(Problem((Buffer("a", 1), Buffer("b", 1)), conflicts=frozenset({(0, 1)}))), lambda *_: [0, 0]
        )
    problem = Problem((Buffer("a", 1, alive), Buffer("b", 1, alive)))
    assert len(slot_problem(Conflicts(problem), lambda *_: [0, 1])[1]) == 2


def test_slots_that_are_never_alive_together_share_bytes():
    # Two pairs, one after the other: four colours side by side take 40 bytes, in time they take 20.
    first = tuple(Buffer(f"a{i}", 10, (LiveRange(0, 2),)) for i in range(2))
    second = tuple(Buffer(f"b{i}", 10, (LiveRange(3, 5),)) for i in range(2))
    problem = Problem((*first, *second))
    slots, of = slot_problem(Conflicts(problem), lambda _, group: list(range(len(group))))
    assert len(of) == 4 and plan(slots).size() == 20


def test_a_chain_takes_two_slots_until_ends_must_lie_apart():
    chain = Problem(tuple(Buffer(f"b{i}", 4, (LiveRange(i, i + 2),)) for i in range(6)))
    assert plan(chain, "colour").size() == 8
    assert plan(replace(chain, separate=frozenset({(0, 2)})), "colour").size() == 12
