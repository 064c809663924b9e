"""An arena is cut where no buffer lies across, and the judge says so."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.finishing.pieces import cuts, in_pieces
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem, round_up
from tvm_memplan.planning.planners import plan


@st.composite
def plans(draw, aligned=True):
    """Plans of one pool, and the bytes of an element of each buffer."""
    made = plan(draw(problems(aligned=aligned)), draw(st.sampled_from(("greedy_by_size", "first_fit_by_start"))))
    elements = [min(buffer.alignment, draw(st.sampled_from((1, 2, 8)))) for buffer in made.problem.buffers]
    return made, elements


def sizes(pieces):
    return [pool.capacity for pool in pieces.problem.pools]


@given(plans())
def test_pieces_are_a_right_plan_and_as_long_together_as_the_arena(given_plan):
    made, elements = given_plan
    pieces = in_pieces(made, cuts(made, elements))
    check_plan(pieces)
    assert sum(sizes(pieces)) == made.size()


@given(plans())
def test_a_piece_is_an_array_of_its_widest_element(given_plan):
    made, elements = given_plan
    pieces = in_pieces(made, cuts(made, elements))
    for pool in pieces.problem.pools[:-1]:
        inside = [i for i, place in enumerate(pieces.placements) if place.pool == pool.name]
        end = max(pieces.placements[i].offset + made.problem.buffers[i].size for i in inside)
        assert round_up(end, max(elements[i] for i in inside)) <= pool.capacity


@given(plans(aligned=False))
def test_without_alignments_only_those_stay_together_that_share_bytes(given_plan):
    made, _ = given_plan
    there = [i for i, buffer in enumerate(made.problem.buffers) if buffer.size]
    group = {i: i for i in there}
    for i, j in combinations(there, 2):
        if made.share(i, j):
            merged = {group[i], group[j]}
            group = {k: min(merged) if g in merged else g for k, g in group.items()}
    starts = cuts(made, [1] * len(made.problem.buffers))
    assert len(starts) == max(len(set(group.values())), 1)


def laid_out(*buffers):
    """A plan of buffers given as (size, alignment, offset), none of which is alive with another."""
    problem = Problem(
        tuple(Buffer(f"b{i}", size, (LiveRange(i, i + 1),), align) for i, (size, align, _) in enumerate(buffers)),
        (Pool("arena"),),
    )
    return Plan(problem, tuple(Placement("arena", offset) for _, _, offset in buffers))


def test_what_lies_between_two_pieces_belongs_to_the_first():
    made = laid_out((100, 4, 0), (64, 64, 128))
    assert sizes(in_pieces(made, cuts(made, [4, 4]))) == [128, 64]


def test_two_pieces_stay_one_where_the_second_could_not_be_aligned():
    """b1 begins at 4 and b2, which shares its bytes, has to be at a multiple of 64."""
    made = laid_out((4, 4, 0), (100, 4, 4), (64, 64, 64))
    assert cuts(made, [4, 4, 4]) == (0,)


def test_two_pieces_stay_one_where_the_first_could_not_be_an_array_of_its_elements():
    made = laid_out((3, 1, 0), (4, 4, 0), (5, 1, 0), (1, 1, 5))
    assert cuts(made, [1, 4, 1, 1]) == (0,)
    assert cuts(made, [1, 1, 1, 1]) == (0, 5)


@pytest.mark.parametrize("starts", [(), (1,), (0, 100, 100), (0, 120, 100), (0, 128)])
def test_pieces_that_are_none_are_refused(starts):
    with pytest.raises(BadPlan, match="begin at 0 and ascend"):
        in_pieces(laid_out((100, 4, 0), (28, 4, 100)), starts)


def test_a_cut_through_a_buffer_is_refused_by_the_judge():
    with pytest.raises(BadPlan, match=r"'b0'.*end beyond the capacity"):
        check_plan(in_pieces(laid_out((100, 4, 0), (28, 4, 100)), (0, 96)))


def test_a_cut_that_takes_a_buffer_its_alignment_is_refused_by_the_judge():
    with pytest.raises(BadPlan, match=r"'b1'.*not a multiple of its alignment 64"):
        check_plan(in_pieces(laid_out((4, 4, 0), (64, 64, 64)), (0, 32)))
