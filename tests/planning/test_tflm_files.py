"""TFLM's offline plans as bytes; tests/report/exchange/test_tflm_runtime.py has TFLM run them."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files.tflm import offsets_from_tflm, offsets_to_tflm, plan_from_tflm, plan_to_tflm
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.planning.planners import plan

OFFSETS = st.lists(st.integers(-1, 2**31 - 1), max_size=20)
BUFFERS = (Buffer("x", 8, (LiveRange(0, 2),)), Buffer("y", 8, (LiveRange(1, 3),)), Buffer("z", 8, (LiveRange(2, 3),)))


@given(OFFSETS)
def test_offsets_read_back_as_they_were(offsets):
    data = offsets_to_tflm(offsets)
    assert len(data) == 12 + 4 * len(offsets)
    assert offsets_from_tflm(data) == offsets


def test_the_words_are_those_of_the_documentation():
    assert struct.unpack("<5i", offsets_to_tflm([16, -1])) == (0, 0, 2, 16, -1)


@given(OFFSETS, st.data())
def test_a_plan_that_was_cut_short_or_grew_is_refused(offsets, data):
    good = offsets_to_tflm(offsets)
    bad = data.draw(st.integers(0, len(good) - 1).map(lambda n: good[:n]) | st.binary(min_size=1).map(good.__add__))
    with pytest.raises(BadInput, match=r"12 \+ 4n|the length must be"):
        offsets_from_tflm(bad)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_plan_or_bad_input(data):
    with suppress(BadInput):
        assert offsets_to_tflm(offsets_from_tflm(data))[8:] == data[8:]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((1, 0, 0), "version must be 0, got 1"),
        ((0, 0, -1), "says -1 offsets"),
        ((0, 0, 2**30), "the length must be"),
        ((0, 0, 1, -2), "offset of tensor 0 is -2"),
    ],
)
def test_a_wrong_word_is_named(words, says):
    with pytest.raises(BadInput, match=says):
        offsets_from_tflm(struct.pack(f"<{len(words)}i", *words))


def test_a_plan_goes_out_and_comes_back():
    problem = Problem(BUFFERS)
    made = plan(problem)
    assert plan_from_tflm(plan_to_tflm(made), problem) == made


def test_what_comes_back_is_judged():
    with pytest.raises(BadPlan):
        plan_from_tflm(offsets_to_tflm([0, 0, 0]), Problem(BUFFERS))


@pytest.mark.parametrize(
    ("offsets", "says"),
    [([0, 8], "2 offsets, but the problem has 3 buffers"), ([0, -1, 16], "'y', is left to the runtime")],
)
def test_a_plan_that_is_not_whole_is_refused(offsets, says):
    with pytest.raises(BadInput, match=says):
        plan_from_tflm(offsets_to_tflm(offsets), Problem(BUFFERS))


def test_weights_are_left_to_the_model():
    weights = Buffer("w", 4, (LiveRange(0, 3),), kind=Kind.WEIGHTS, pools=("flash",))
    problem = Problem((weights, BUFFERS[0]), (Pool("arena"), Pool("flash")))
    data = plan_to_tflm(Plan(problem, (Placement("flash", 0), Placement("arena", 0))))
    assert offsets_from_tflm(data) == [-1, 0]
    with pytest.raises(BadInput, match="'w' is a weight"):
        plan_from_tflm(data, problem)


def test_what_does_not_fit_is_refused():
    with pytest.raises(BadInput, match="tensor 0, 2147483648, does not fit 32 bits"):
        offsets_to_tflm([2**31])
    two = Problem(BUFFERS[:2], (Pool("a"), Pool("b")))
    with pytest.raises(BadInput, match="uses pools a, b"):
        plan_to_tflm(Plan(two, (Placement("a", 0), Placement("b", 0))))
