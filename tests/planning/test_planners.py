"""Planners on problems small enough to be read."""

from __future__ import annotations

from random import Random

import pytest

from tvm_memplan.errors import BadInput, BadPlan, BadProblem, DoesNotFit
from tvm_memplan.planning.bounds.bound import bound, naive
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.planning.planners import PLANNERS, plan

planners = pytest.mark.parametrize("planner", sorted(PLANNERS))


def buffer(name: str, size: int, start: int = 0, stop: int = 1, alignment: int = 1, **more: object) -> Buffer:
    return Buffer(name, size, (LiveRange(start, stop),), alignment, **more)  # type: ignore[arg-type]


def chain(*sizes: int) -> tuple[Buffer, ...]:
    """Every buffer is alive together with the one before and the one after."""
    return tuple(buffer(f"b{i}", size, i, i + 2) for i, size in enumerate(sizes))


@planners
def test_an_empty_problem_has_an_empty_plan(planner):
    assert plan(Problem(()), planner).size() == 0


def test_a_gap_is_filled_where_slots_would_not_split():
    # While `long` is dead, two short buffers fit into its bytes.
    problem = Problem((buffer("long", 10, 0, 2), buffer("x", 5, 2, 4), buffer("y", 5, 3, 5)))
    assert plan(problem, "greedy_by_size").size() == 10
    assert plan(problem, "colour").size() == 15


@planners
def test_a_chain_of_equal_buffers_takes_two_of_them(planner):
    assert plan(Problem(chain(8, 8, 8, 8, 8)), planner).size() == 16


def test_auto_reaches_the_bound_where_no_single_order_is_asked_to():
    problem = Problem(chain(30, 7, 25, 12, 40, 3, 33, 18, 21, 9))
    assert plan(problem).size() == bound(problem).bytes == 52


@planners
def test_alignments_of_buffer_and_pool_are_both_kept(planner):
    problem = Problem((buffer("a", 3), buffer("b", 5, alignment=64), buffer("c", 7)), (Pool("arena", alignment=16),))
    made = plan(problem, planner)
    assert made.placements[1].offset % 64 == 0
    assert all(place.offset % 16 == 0 for place in made.placements)


@planners
def test_planned_is_never_more_than_naive_although_alignments_are_mixed(planner):
    problem = Problem((buffer("big", 1000), buffer("a", 4, alignment=64), buffer("b", 4, alignment=64)))
    assert plan(problem, planner).size() <= naive(problem) == 1068


@planners
def test_a_buffer_goes_to_the_first_pool_where_it_fits(planner):
    pools = (Pool("fast", capacity=10), Pool("slow"))
    problem = Problem((buffer("big", 8), buffer("small", 2), buffer("other", 3)), pools)
    made = plan(problem, planner)
    assert sorted(made.pool_sizes.items()) in ([("fast", 10), ("slow", 3)], [("fast", 5), ("slow", 8)])


def test_auto_spills_as_little_as_it_can():
    pools = (Pool("fast", capacity=10), Pool("slow"))
    problem = Problem((buffer("a", 6), buffer("b", 5), buffer("c", 5)), pools)
    assert plan(problem).pool_sizes == {"fast": 10, "slow": 6} or plan(problem).pool_sizes["slow"] == 5


@planners
def test_candidates_and_scopes_are_kept(planner):
    pools = (Pool("ram"), Pool("flash", scopes=("constant",)))
    buffers = (buffer("w", 8, scope="constant"), buffer("a", 4), buffer("b", 4, pools=("ram",)))
    made = plan(Problem(buffers, pools), planner)
    assert [place.pool for place in made.placements] == ["flash", "ram", "ram"]
    assert made.pool_sizes == {"ram": 8, "flash": 8}


@planners
def test_no_room_names_the_buffer_and_what_each_pool_lacks(planner):
    pools = (Pool("fast", capacity=10), Pool("slow", capacity=12))
    problem = Problem((buffer("big", 20), buffer("small", 2)), pools)
    with pytest.raises(
        DoesNotFit, match=r"'big' of 20 bytes: pool 'fast' has 10 bytes and would need 2[02].*'slow' has 12"
    ):
        plan(problem, planner)


def test_auto_fits_where_an_order_does_not():
    problem = Problem(chain(30, 7, 25, 12, 40, 3, 33, 18, 21, 9), (Pool("arena", capacity=52),))
    assert plan(problem).size() == 52


@planners
def test_separate_buffers_share_nothing_though_time_would_allow_it(planner):
    buffers = (buffer("a", 8, 0, 1), buffer("b", 8, 1, 2))
    assert plan(Problem(buffers), planner).size() == 8
    assert plan(Problem(buffers, separate=frozenset({(0, 1)})), planner).size() == 16


@planners
def test_an_output_may_take_the_place_of_its_dying_input(planner):
    buffers = (buffer("input", 8, 0, 2), buffer("output", 6, 1, 3), buffer("other", 4, 1, 2))
    problem = Problem(buffers, in_place=frozenset({(1, 0)}))
    assert bound(problem).bytes == 12
    made = plan(problem, planner)
    assert made.size() == 12
    assert made.placements[0] == made.placements[1]


@planners
def test_separation_overrules_an_in_place_pair(planner):
    buffers = (buffer("input", 8, 0, 2), buffer("output", 6, 1, 3))
    problem = Problem(buffers, separate=frozenset({(0, 1)}), in_place=frozenset({(1, 0)}))
    assert plan(problem, planner).size() == 14


@planners
def test_given_conflicts_overrule_live_ranges(planner):
    buffers = (buffer("a", 8, 0, 5), buffer("b", 8, 0, 5), buffer("c", 8, 7, 9))
    problem = Problem(buffers, conflicts=frozenset({(0, 2)}))
    assert plan(problem, planner).size() == 16
    assert bound(problem).kind == "clique"
    assert bound(problem).bytes == 16
    assert bound(problem).members in ((0, 2),)


def test_given_conflicts_need_no_live_ranges():
    problem = Problem((Buffer("a", 8), Buffer("b", 4)), conflicts=frozenset({(0, 1)}))
    assert all(plan(problem, planner).size() == 12 for planner in PLANNERS)


@planners
def test_pinned_buffers_stay_and_others_fill_the_gap_below(planner):
    pinned = buffer("fixed", 4, pinned=Placement("arena", 8))
    made = plan(Problem((pinned, buffer("a", 8), buffer("later", 16, 1, 2))), planner)
    assert made.placements[0].offset == 8
    if planner != "colour":  # slots lie above everything pinned
        assert made.size() == 16


def test_pins_that_contradict_each_other_are_the_problems_fault():
    pins = (buffer("a", 8, pinned=Placement("arena", 0)), buffer("b", 8, pinned=Placement("arena", 4)))
    with pytest.raises(BadProblem, match=r"pinned.*'a' and 'b' share bytes \[4, 8\)"):
        plan(Problem(pins))


def test_an_unknown_planner_is_answered_with_the_known_ones():
    with pytest.raises(
        BadInput, match=r"'best'; there are auto, colour, exact, first_fit_by_start, greedy_by_conflicts"
    ):
        plan(Problem(()), "best")


def test_a_thousand_buffers_in_two_ranges_each_are_judged_right():
    buffers = tuple(Buffer(f"b{i}", 1 + i % 7, (LiveRange(i, i + 3), LiveRange(i + 5, i + 7))) for i in range(1000))
    made = plan(Problem(buffers), "greedy_by_size")
    assert made.size() < sum(b.size for b in buffers) / 20


@pytest.mark.parametrize("planner", ["auto", "greedy_by_size"])
def test_a_problem_too_large_to_search_is_planned_and_judged(planner):
    random = Random(3)
    starts = [random.randrange(20_000) for _ in range(3500)]
    problem = Problem(tuple(buffer(f"b{i}", random.randrange(1, 900), s, s + 40) for i, s in enumerate(starts)))
    assert plan(problem, planner).size() < 1.5 * bound(problem).bytes


TWO = Problem((buffer("a", 8), buffer("b", 8)), (Pool("x", capacity=16, alignment=4), Pool("y", scopes=("other",))))


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([("x", 0), ("x", 4)], r"buffers 'a' and 'b' share bytes \[4, 8\) of pool 'x', both alive at step 0"),
        (
            [("x", 0), ("x", 10)],
            r"'b' at offset 10 of pool 'x': not a multiple of the pool's alignment 4; .* capacity of 16",
        ),
        ([("x", -8), ("x", 0)], "the offset is negative"),
        ([("x", 0), ("y", 0)], "'b' at offset 0 of pool 'y': the pool does not serve scope 'global'"),
        ([("x", 0), ("z", 0)], "there is no such pool"),
        ([("x", 0), ("x", 12)], "its 8 bytes end beyond the capacity of 16 bytes"),
    ],
)
def test_the_judge_says_what_is_wrong_by_name(places, message):
    with pytest.raises(BadPlan, match=message):
        check_plan(Plan(TWO, tuple(Placement(*place) for place in places)))


def test_the_judge_knows_pins_candidates_and_alignment_of_buffers():
    problem = Problem(
        (buffer("a", 8, alignment=8, pinned=Placement("x", 0)), buffer("b", 8, pools=("y",))), (Pool("x"), Pool("y"))
    )
    with pytest.raises(BadPlan) as caught:
        check_plan(Plan(problem, (Placement("x", 4), Placement("x", 12))))
    text = str(caught.value)
    assert "it is pinned at offset 0 of pool 'x'" in text
    assert "not a multiple of its alignment 8" in text
    assert "it may only go to y" in text


def test_the_judge_lets_an_in_place_pair_start_together_and_nothing_in_between():
    problem = Problem((buffer("in", 8, 0, 2), buffer("out", 8, 1, 3)), in_place=frozenset({(1, 0)}))
    check_plan(Plan(problem, (Placement("arena", 0), Placement("arena", 0))))
    check_plan(Plan(problem, (Placement("arena", 0), Placement("arena", 8))))
    with pytest.raises(BadPlan, match="an in-place pair that does not start together"):
        check_plan(Plan(problem, (Placement("arena", 0), Placement("arena", 4))))


def test_the_judge_stops_after_the_first_few():
    many = Problem(tuple(buffer(f"b{i}", 4) for i in range(20)))
    with pytest.raises(BadPlan, match=r"; and more$") as caught:
        check_plan(Plan(many, (Placement("arena", 0),) * 20))
    assert str(caught.value).count("share bytes") == 5
