"""What was written is seen, whatever was written."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.measuring.paint import Watched, passes, pattern, random_value, spans


@given(st.data(), st.integers(0, 300))
def test_every_byte_that_is_written_in_each_run_is_seen_whatever_its_value(data, size):
    front, guard = 16, 32
    writes = data.draw(st.dictionaries(st.integers(0, front + size + guard - 1), st.integers(0, 255)))
    memory = np.empty(front + size + guard, np.uint8)
    watched = Watched("p", size, front)
    for _, flip in passes(1):
        watched.fill(memory, flip)
        for at, value in writes.items():
            memory[at] = value
        watched.look(memory, flip)
    arena = watched.arena()
    inside = {at - front for at in writes if front <= at < front + size}
    behind = {at - front for at in writes if at >= front + size}
    untouched = {i for start, stop in arena.untouched for i in range(start, stop)}
    assert untouched == set(range(size)) - inside
    assert arena.high == max(inside | behind, default=-1) + 1
    assert arena.below == max((front - at for at in writes if at < front), default=0)


def test_one_pattern_alone_would_miss_what_equals_it():
    """The reason for the second run: memory that is overwritten with the pattern itself."""
    memory, watched = np.empty(64, np.uint8), Watched("p", 64, 0)
    watched.fill(memory, False)
    memory[:] = pattern(64, False)
    watched.look(memory, False)
    assert watched.arena().high == 0
    watched.fill(memory, True)
    memory[:] = pattern(64, False)
    watched.look(memory, True)
    assert watched.arena().high == 64


def test_spans_are_the_runs_of_true():
    assert spans(np.array([1, 1, 0, 1, 0], bool)) == ((0, 2), (3, 4))
    assert spans(np.array([], bool)) == ()


def test_random_inputs_have_the_asked_shape_and_type_and_indices_stay_small():
    random = np.random.default_rng(0)
    for dtype in ("float32", "float16", "int8", "uint8", "int32", "int64", "bool"):
        value = random_value((3, 50), dtype, random)
        assert value.shape == (3, 50) and str(value.dtype) == dtype
        if dtype in ("int32", "int64", "bool"):
            assert set(np.unique(value)) == {0, 1}
    assert random_value((), "float32", random).shape == ()
