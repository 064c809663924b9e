from dataclasses import replace

from hypothesis import given

from tests.report.any_report import REPORTS
from tvm_memplan.report.memory import LeftAlone
from tvm_memplan.report.table import shorten, table
from tvm_memplan.report.text import report_text


def test_the_text_has_the_figures_the_peak_and_who_holds_it(report):
    text = report_text(report)
    for words in (
        "kws, planned with auto for c",
        "96,000",
        "48,000",
        "20.0%",  # over the bound
        "50.0%",  # saved
        "262,144",
        "46.9 KiB",
        "sram: peak 40,000 B (pressure) at step 1, conv2d",
        "24,000  60.0%  activation  b1",
        "[1, 3)",
        "weights 5,000 B (4.9 KiB)",
    ):
        assert words in text
    assert "flash: peak" not in text


@given(REPORTS)
def test_no_line_is_wider_than_100_columns(report):
    # Control characters and the like have no width to speak of; the count is what is kept.
    assert all(len(line) <= 100 for line in report_text(report, rows=None).split("\n"))


def test_long_names_are_shortened_in_the_middle(report):
    long = replace(
        report, allocations=tuple(replace(a, name=a.name * 99, operator="op" * 99) for a in report.allocations)
    )
    lines = report_text(long).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert "…" in report_text(long)
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert shorten("abcde", 5) == "abcde"


def test_the_largest_buffers_are_shown_first_to_go_in(report):
    text = report_text(report, rows=1)
    assert "b1" in text and "and 2 smaller buffers of 21,000 B together" in text
    assert "alive in steps" not in report_text(report, rows=0)


def test_what_was_left_alone_is_named_with_its_reason(report):
    left = LeftAlone("shared_0", "softmax", "shared", None, "shared scopes are not planned here")
    text = report_text(replace(report, left_alone=(left,), notes=("a note",)))
    assert "shared_0 in softmax (shared, unknown size): shared scopes are not planned here" in text
    assert "a note" in text


def test_columns_line_up():
    lines = list(table(("name", "size"), [("a", "1"), ("bcd", "1,000")], "lr", 40))
    assert lines == ["name   size", "a         1", "bcd   1,000"]
