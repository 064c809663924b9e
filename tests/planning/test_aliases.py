"""Buffers that must share become one root and views of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.errors import BadProblem
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem, View
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.preparing.aliases import share


def buffer(name: str, size: int, start: int = 0, stop: int = 1, alignment: int = 1, **more: object) -> Buffer:
    return Buffer(name, size, (LiveRange(start, stop),), alignment, **more)  # type: ignore[arg-type]


@given(problem=problems(given=False, pairs=False, most=6), data=st.data())
@settings(max_examples=80, deadline=None)
def test_a_plan_with_the_roots_is_right_for_all_that_share(problem, data):
    """Placing members where their views are breaks no rule between different groups."""
    count = len(problem.buffers)
    order = sorted(range(count), key=lambda i: -problem.buffers[i].size)
    pairs = []
    for member in data.draw(st.sets(st.sampled_from(order[1:]))) if count > 1 else ():
        root = order[0]
        room = problem.buffers[root].size - problem.buffers[member].size
        offset = (
            data.draw(st.integers(0, room)) // problem.buffers[member].alignment * problem.buffers[member].alignment
        )
        pairs.append((member, root, offset))
    made = plan(share(problem, pairs), "greedy_by_size")
    place = {b.name: at for b, at in zip(made.problem.buffers, made.placements)}
    place |= {v.name: at for v, at in zip(made.problem.views, made.view_placements)}
    group = {i: order[0] for i, _, _ in pairs} | {order[0]: order[0]}
    for i in range(count):
        for j in range(i):
            if i in group and j in group:
                continue
            two = (problem.buffers[j], problem.buffers[i])
            check_plan(Plan(Problem(two), tuple(place[b.name] for b in two)))


def test_a_root_lives_as_long_as_its_members_and_conflicts_as_they_do():
    buffers = (buffer("root", 8, 0, 2), buffer("member", 4, 4, 6), buffer("x", 8, 5, 7), buffer("y", 8, 2, 3))
    problem = share(Problem(buffers, separate=frozenset({(1, 3)})), [(1, 0, 4)])
    root = problem.buffers[0]
    assert root.live_ranges == (LiveRange(0, 2), LiveRange(4, 6))
    assert problem.views == (View("member", 0, 4, 4),)
    assert problem.separate == {(0, 2)}
    assert plan(problem).size() == 16


def test_members_of_members_add_up():
    buffers = (buffer("a", 16), buffer("b", 8), buffer("c", 2, alignment=2))
    problem = share(Problem(buffers), [(1, 0, 8), (2, 1, 4)])
    assert {view.name: view.offset for view in problem.views} == {"b": 8, "c": 12}
    assert problem.buffers[0].alignment == 2


def test_pairs_with_a_member_go_to_its_root():
    buffers = tuple(buffer(name, 8) for name in "abcd")
    problem = Problem(
        buffers,
        conflicts=frozenset({(0, 1), (1, 2)}),
        in_place=frozenset({(2, 1), (3, 2)}),
        penalties=frozenset({(0, 3, 2), (1, 3, 3)}),
    )
    shared = share(problem, [(1, 0, 0)])
    assert shared.conflicts == {(0, 1)}
    assert shared.separate == {(0, 1)}  # the whole root would have to match the pair's output
    assert shared.in_place == {(2, 1)}
    assert shared.penalties == {(0, 2, 5)}


def test_a_pinned_member_pins_its_root():
    buffers = (buffer("a", 16), buffer("b", 4, pinned=Placement("arena", 12)))
    (root,) = share(Problem(buffers), [(1, 0, 8)]).buffers
    assert root.pinned == Placement("arena", 4)


def test_a_root_goes_where_all_its_members_may():
    buffers = (buffer("a", 16), buffer("b", 4, pools=("y",)))
    (root,) = share(Problem(buffers, (Pool("x"), Pool("y"))), [(1, 0, 0)]).buffers
    assert root.pools == ("y",)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(1, 0, 14)], "'b' does not lie in 'a'"),
        ([(1, 0, -1)], "'b' does not lie in 'a'"),
        ([(2, 0, 2)], "'c' needs alignment 4, but must lie 2 bytes into 'a'"),
        ([(1, 0, 0), (1, 2, 0)], "'b' must share with two roots"),
        ([(1, 2, 0), (2, 1, 0)], "is a root of itself"),
        ([(3, 0, 0)], "'a' and 'd' must share, but must also lie apart"),
        ([(4, 0, 0)], "'a' and 'e' must share, but no pool may hold both"),
        ([(1, 0, 0), (5, 0, 0)], "'a' and 'f' must share, but where one is pinned"),
        ([(9, 0, 0)], "must be two indices"),
    ],
)
def test_what_cannot_share_is_refused(pairs, message):
    buffers = (
        buffer("a", 16, pools=("x",)),
        buffer("b", 4, pinned=Placement("x", 0)),
        buffer("c", 4, alignment=4),
        buffer("d", 4),
        buffer("e", 4, pools=("y",)),
        buffer("f", 4, pinned=Placement("x", 4)),
    )
    with pytest.raises(BadProblem, match=message):
        share(Problem(buffers, (Pool("x"), Pool("y")), separate=frozenset({(0, 3)})), pairs)
