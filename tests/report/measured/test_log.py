"""Lines from a board: read whatever stands around them, and refused when they are not all there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.errors import BadInput
from tvm_memplan.report.measured import Arena, Stack, measurement_from_log
from tvm_memplan.report.measured.measurement import both

LOG = """\
memplan: begin 1 kws
memplan: arena 0 1000 32 sram1+sram2
memplan: arena 1 64 0 dtcm
memplan: run 0
memplan: same 0 100 200
memplan: same 0 900 1000
memplan: guard 0 0
memplan: same 1 0 64
memplan: guard 1 0
memplan: run 1
memplan: same 0 90 150
memplan: same 0 160 300
memplan: same 0 950 1000
memplan: guard 0 0
memplan: same 1 0 64
memplan: guard 1 0
memplan: stack 4096 512
memplan: end 2
"""


def test_a_byte_was_written_unless_it_stayed_in_every_run():
    seen = measurement_from_log(LOG)
    first, second = seen.arenas
    assert first == Arena("sram1+sram2", 1000, 950, 0, 32, ((100, 150), (160, 200), (950, 1000)))
    assert second == Arena("dtcm", 64, 0, 0, 0, ((0, 64),))
    assert seen.runs == 2 and seen.stack == Stack(4096, 512)
    assert any("behind the end of dtcm" in what for what in seen.unmeasured)


def test_a_serial_line_may_add_stamps_noise_and_its_own_ends_of_lines():
    noisy = "boot\r\n" + "".join(f"[00:00:{i:02}] {line}\r\nother\r\n" for i, line in enumerate(LOG.splitlines()))
    assert measurement_from_log(noisy) == measurement_from_log(LOG)
    assert measurement_from_log(LOG + LOG) == measurement_from_log(LOG), "the board started again when it was done"


def test_a_written_guard_counts_as_bytes_behind_the_end():
    seen = measurement_from_log(LOG.replace("memplan: guard 0 0", "memplan: guard 0 5", 1))
    assert seen.arenas[0].high == 1005


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "no line has 'memplan:' in it"),
        (LOG.partition("memplan: stack")[0], "does not end"),
        (LOG.replace("memplan: run 1\n", ""), "line 10: not a span"),
        (LOG.replace("memplan: end 2", "memplan: end 4"), "4 runs were made, and 2 are in the log"),
        (LOG.replace("memplan: run 1\n", "memplan: run 2\n"), "run 1 was expected"),
        (LOG.replace("memplan: run 0\n", ""), "line 4: not what is expected"),
        (LOG.replace("memplan: begin 1 kws\n", ""), "the start of the measurement is missing"),
        (LOG.replace("begin 1", "begin 2"), "version 2"),
        (LOG.replace("same 0 900 1000", "same 0 900 1001"), "line 6: not a span of the 1000 bytes"),
        (LOG.replace("same 0 900 1000", "same 0 150 1000"), "not a span"),
        (LOG.replace("same 0 900 1000", "same 2 900 1000"), "there is no arena 2"),
        (LOG.replace("same 0 900 1000", "same 0 900"), "a number is missing or cut short"),
        (LOG.replace("stack 4096 512", "stack 4096 x"), "a number is missing"),
        (LOG.replace("arena 1 64 0 dtcm", "arena 1 64 0"), "not what is expected"),
        (LOG.replace("memplan: run 1", "memplan: begin 1 kws"), "began again before it was done"),
        (LOG.replace("stack", "stock"), "not what is expected"),
    ],
)
def test_a_log_that_is_cut_or_wrong_is_refused_with_what_is_wrong(log, words):
    with pytest.raises(BadInput, match=words):
        measurement_from_log(log, "serial.txt")


SPANS = st.sets(st.integers(0, 40)).map(
    lambda bytes: tuple(
        (i, next(k for k in range(i, 42) if k not in bytes)) for i in sorted(bytes) if i - 1 not in bytes
    )
)


@given(SPANS, SPANS)
def test_the_spans_in_both_are_the_bytes_in_both(first, second):
    def members(spans):
        return {i for start, stop in spans for i in range(start, stop)}

    assert members(both(first, second)) == members(first) & members(second)
