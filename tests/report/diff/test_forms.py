"""The forms of a difference: text, Markdown, JSON."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.report.any_report import REPORTS
from tests.report.diff.chain import chain
from tvm_memplan.report.diff import Growth, Limits, diff_fields, diff_markdown, diff_text, difference, overruns
from tvm_memplan.report.diff.markdown import _code

OLD = (("conv", 800), ("relu", 800), ("conv", 400), ("dense", 10))
FOUND = difference(chain(*OLD), chain(OLD[0], ("pool", 900), *OLD[1:]))
BROKEN = overruns(FOUND, Limits(Growth.read("2%")))


def test_the_text_says_what_changed_where_and_that_it_is_too_much():
    text = diff_text(FOUND, BROKEN)
    for words in (
        "chain -> chain",
        "arena          1,600          1,700      +100  +6.2%               +100",
        "arena: the peak was at step 1, relu",
        "it is now at step 1, pool",
        "now there  900 B  sid_1 of pool",
        "no longer  800 B  sid_1 of relu",
        "pool          -    900      +900",
        "sid_1 of pool  added      -    900      +900  arena",
        "over the limits:",
        "pool 'arena' grew by 100 B (6.25%); allowed is 2%",
    ):
        assert words in text, words
    assert "sid_2" not in text


def test_nothing_changed_is_said():
    same = difference(chain(*OLD), chain(*OLD))
    assert "no size and no figure has changed" in diff_text(same)
    assert "No size and no figure has changed." in diff_markdown(same)


@given(REPORTS, REPORTS)
def test_no_line_of_text_is_wider_than_100_columns(old, new):
    assert all(len(line) <= 100 for line in diff_text(difference(old, new), rows=None).split("\n"))


def test_markdown_has_tables_of_even_rows_and_folds_the_rest():
    text = diff_markdown(FOUND, BROKEN)
    assert text.startswith("### Memory of `chain`\n\n**Over the limits:**\n")
    assert "| `arena` | 1,600 | 1,700 | +100 | +6.2% | +100 |" in text
    assert "<details><summary>1 operator changed</summary>\n\n| operator |" in text
    assert "| `sid_1 of pool` | added | - | 900 | +900 |" in text
    assert text.count("<details>") == text.count("</details>") == 2


@given(st.text(alphabet="a`|*_<>[\\\n ", max_size=12))
def test_a_name_in_markdown_is_a_code_span_that_ends_where_it_should(name):
    code = _code(name)
    fence = code[: len(code) - len(code.lstrip("`"))]
    inner = code[len(fence) : -len(fence)]
    assert code.endswith(fence) and "\n" not in code
    runs = {len(run) for run in "".join(c if c == "`" else " " for c in inner).split()}
    assert len(fence) not in runs and not inner.startswith("`") and not inner.endswith("`")
    assert inner.count("|") == inner.count("\\|")


def test_markdown_of_evil_names_has_no_markup():
    old = chain(*OLD)
    evil = replace(old, model="<img src=x>", pools=tuple(replace(p, pool="a|b`<b>") for p in old.pools))
    text = diff_markdown(difference(old, evil))
    assert "`<img src=x>`" in text and "``  a\\|b`<b>  ``".replace("  ", " ") in text


def test_the_fields_say_the_same_in_numbers():
    fields = diff_fields(FOUND, BROKEN)
    assert json.loads(json.dumps(fields)) == fields
    assert fields["within_limits"] is False and len(fields["overruns"]) == 1
    assert fields["pools"][0]["growth_bytes"] == 100
    assert fields["operators"] == [{"operator": "pool", "old_bytes": None, "new_bytes": 900, "growth_bytes": 900}]
    assert fields["buffers"][0]["what"] == "added" and fields["buffers"][0]["new_name"] == "sid_1"
