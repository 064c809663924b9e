from dataclasses import replace

from hypothesis import given

from tests.report.any_report import REPORTS
from tvm_memplan.report.map import IDLE, map_text


def cells(text):
    """The rows of the first map, top first."""
    return [line.split("|", 1)[1] for line in text.splitlines() if "|" in line]


def test_a_buffer_is_where_and_when_it_lies(report):
    rows = cells(map_text(report))
    wide = len(rows[0]) // 3  # three steps, the same width each
    assert len(rows) == 20 and len(rows[0]) == 87
    # b0 is 16000 of 48000 bytes at the bottom in steps 0 and 1, b1 24000 above it in steps 1 and 2.
    assert rows[-1] == "a" * 2 * wide + IDLE * wide
    assert rows[10] == IDLE * wide + "b" * 2 * wide
    assert rows[0] == IDLE * 3 * wide


def test_the_list_says_who_the_letters_are_and_who_holds_the_peak(report):
    lines = map_text(report).splitlines()
    (line,) = [line for line in lines if line.startswith("b  ")]
    assert "b1 of conv2d" in line and "24,000" in line and "[1, 3)" in line and line.endswith("at the peak")
    assert any("in use  " in line and "3" * 29 + "8" * 29 + "5" * 29 in line for line in lines)


def test_a_pool_of_weights_alone_has_a_line_and_no_map(report):
    text = map_text(report)
    assert len(cells(text)) == 20
    assert text.rstrip().endswith("flash: 5,000 B (4.9 KiB) planned, bound 5,000 B (4.9 KiB)")


@given(REPORTS)
def test_no_line_is_wider_than_100_columns(report):
    assert all(len(line) <= 100 for line in map_text(report).split("\n"))


def test_there_is_colour_only_where_it_is_asked_for(report):
    assert "\x1b" not in map_text(report)
    assert "\x1b[30;44mb" in map_text(report, colour=True)


def test_names_cannot_move_the_cursor(report):
    evil = replace(report, model="\x1b[2J", allocations=(replace(report.allocations[0], name="\x1b]0;x\x07"),))
    assert "\x1b" not in map_text(evil)
