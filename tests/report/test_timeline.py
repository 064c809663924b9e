"""The pressure curve, held against counting bytes one by one."""

from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.memory import Allocation
from tvm_memplan.report.timeline import Timeline, timeline


def row(offset, size, *spans):
    return Allocation("b", "", Kind.ACTIVATION, "global", size, 1, tuple(LiveRange(*s) for s in spans), "p", offset)


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=2).map(
    lambda pairs: [(start, start + length) for start, length in pairs]
)
ROWS = st.lists(
    st.builds(lambda o, s, spans: row(o, s, *spans), st.integers(0, 20), st.integers(0, 9), SPANS), max_size=6
)


@given(ROWS)
def test_a_byte_counts_while_anybody_holds_it(rows):
    curve = timeline(rows)
    for step in range(-1, 20):
        held = {
            byte
            for r in rows
            if any(live.start <= step < live.stop for live in r.live_ranges)
            for byte in range(r.offset, r.end)
        }
        assert curve.at(step) == len(held)
    assert not curve.held or curve.held[-1] == 0


def test_a_byte_of_two_buffers_counts_once():
    assert timeline([row(0, 8, (0, 2)), row(0, 8, (1, 3)), row(4, 8, (1, 2))]) == Timeline((0, 1, 2, 3), (8, 12, 8, 0))


def test_the_mean_is_over_time():
    assert timeline([row(0, 6, (0, 1)), row(0, 2, (1, 5))]).mean == (6 + 4 * 2) / 5
    assert timeline([]).mean == timeline([]).most == 0


def test_sizes_beyond_64_bits_stay_exact():
    assert timeline([row(1, 2**70, (0, 1)), row(0, 1, (0, 1))]).most == 2**70 + 1
