"""Problems and plans in CSV files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import problems
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files import plan_to_csv, problem_from_csv, problem_to_csv, read_csv
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Pool, Problem, View
from tvm_memplan.planning.planners import plan


def spans(text: str) -> list[tuple[int, int]]:
    (buffer,) = problem_from_csv(text).buffers
    return [(r.start, r.stop) for r in buffer.live_ranges]


@given(problem=problems(given=False, pairs=False))
@settings(max_examples=80, deadline=None)
def test_a_problem_that_is_written_and_read_is_the_same(problem):
    assert problem_from_csv(problem_to_csv(problem), pools=problem.pools) == problem


@given(names=st.sets(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1), max_size=5))
@settings(max_examples=80, deadline=None)
def test_any_name_survives(names):
    problem = Problem(tuple(Buffer(name, 4, (LiveRange(0, 1),)) for name in sorted(names)))
    assert problem_from_csv(problem_to_csv(problem)) == problem


@given(problem=problems(given=False, pairs=False))
@settings(max_examples=40, deadline=None)
def test_written_offsets_are_read_as_pins(problem):
    made = plan(problem, "greedy_by_size")
    again = problem_from_csv(plan_to_csv(made), pools=problem.pools, pin_offsets=True)
    assert plan(again).placements == made.placements
    assert problem_from_csv(plan_to_csv(made), pools=problem.pools) == problem


@given(text=st.text(alphabet='id,lowerupsz\n-01 "@,,,\n', max_size=60))
@settings(max_examples=300, deadline=None)
def test_whatever_the_text_it_is_a_problem_or_an_error_with_a_line(text):
    try:
        problem_from_csv("id,lower,upper,size,gaps\n" + text, "file")
    except BadInput as error:
        assert str(error).startswith("file:")


def test_columns_come_in_any_order_and_hints_are_ignored():
    (buffer,) = problem_from_csv("size, hint,upper,id,alignment,lower\n64,7,10,x,16,2\n").buffers
    assert buffer == Buffer("x", 64, (LiveRange(2, 10),), 16)


def test_upper_is_half_open_and_end_is_inclusive():
    assert spans("id,lower,upper,size\na,2,5,1\n") == [(2, 5)]
    assert spans("buffer_id,start,end,size\na,2,5,1\n") == [(2, 6)]
    assert spans("id,begin,end,size\na,2,2,1\n") == [(2, 3)]


def test_gaps_split_a_live_range():
    assert spans("id,lower,upper,size,gaps\na,0,10,1,8-9 3-5\n") == [(0, 3), (5, 8), (9, 10)]
    assert spans("id,lower,end,size,gaps\na,0,9,1,3-4\n") == [(0, 3), (5, 10)]
    assert spans("id,lower,upper,size,gaps\na,0,10,1,0-5\n") == [(5, 10)]
    assert spans("id,lower,upper,size,gaps\na,0,10,1,\n") == [(0, 10)]


def test_offsets_count_only_when_asked_for():
    text = "id,lower,upper,size,offset\na,0,1,4,16\n"
    pools = (Pool("ram", 64),)
    assert problem_from_csv(text, pools=pools).buffers[0].pinned is None
    assert problem_from_csv(text, pools=pools, pin_offsets=True).buffers[0].pinned == Placement("ram", 16)


def test_sizes_may_be_zero_or_huge():
    assert [b.size for b in problem_from_csv(f"id,lower,upper,size\na,0,1,0\nb,0,1,{2**80}\n").buffers] == [0, 2**80]


HEAD = "id,lower,upper,size,alignment,gaps,offset\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv:1: the file is empty"),
        ("\n\n", "p.csv:1: the file is empty"),
        ("id,lower,upper\n", "p.csv:1: column 'size' is missing"),
        ("id,lower,size\n", "p.csv:1: one of the columns 'upper' .* 'end'"),
        ("id,lower,upper,end,size\n", "p.csv:1: one of the columns"),
        ("id,lower,upper,size,colour\n", "p.csv:1: unknown column 'colour'; known are id"),
        ("id,lower,start,upper,size\n", "p.csv:1: column 'start' comes twice"),
        (HEAD + "a,0,1,4,1,\n", "p.csv:2: 6 fields, but the header has 7"),
        (HEAD + "a,0,1,4,1,,0\nb,x,1,4,1,,0\n", "p.csv:3: column 'lower': must be an integer, got 'x'"),
        (HEAD + "a,0,1,4.5,1,,0\n", "p.csv:2: column 'size': must be an integer, got '4.5'"),
        (HEAD + "a,0,1,,1,,0\n", "p.csv:2: column 'size': must be an integer, got ''"),
        (HEAD + "a,0,1,-4,1,,0\n", "p.csv:2: column 'size': must not be negative, got -4"),
        (HEAD + "a,-1,1,4,1,,0\n", "p.csv:2: column 'lower': must not be negative"),
        (HEAD + "a,3,3,4,1,,0\n", r"p.csv:2: column 'upper': the live range \[3, 3\) is empty"),
        (HEAD + "a,0,1,4,12,,0\n", "p.csv:2: column 'alignment': must be a power of two, got 12"),
        (HEAD + "a,0,1,4,0,,0\n", "p.csv:2: column 'alignment': must be a power of two, got 0"),
        (HEAD + "a,0,1,4,1,,0\n\na,0,1,4,1,,0\n", "p.csv:4: column 'id': 'a' is already in line 2"),
        (HEAD + ",0,1,4,1,,0\n", "p.csv:2: column 'id': is empty"),
        (HEAD + "a,0,9,4,1,3,0\n", "p.csv:2: column 'gaps': must look like 3-5 8-9, got '3'"),
        (HEAD + "a,0,9,4,1,5-3,0\n", "p.csv:2: column 'gaps': the gap '5-3' is empty"),
        (HEAD + "a,0,9,4,1,5-12,0\n", r"p.csv:2: column 'gaps': the gap \[5, 12\) lies outside"),
        (HEAD + "a,0,9,4,1,2-5 4-6,0\n", r"p.csv:2: column 'gaps': the gap \[4, 6\).*meets another"),
        (HEAD + "a,0,9,4,1,0-9,0\n", "p.csv:2: column 'gaps': nothing is left"),
        (HEAD + "a,0,9,4,1,2-5@0:2,0\n", "p.csv:2: column 'gaps': '2-5@0:2' keeps a part"),
        (HEAD + "a,0,9,4,1,,x\n", "p.csv:2: column 'offset': must be an integer"),
        (HEAD + '"a,0,9,4\n', "p.csv:2: not CSV"),
    ],
)
def test_malformed_files_are_refused_by_line_and_column(tmp_path, text, message):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_csv(path)


def test_what_is_not_text_is_refused_by_line(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"id,lower,upper,size\n\xff,0,1,4\n")
    with pytest.raises(BadInput, match=r"p\.csv:2: not UTF-8"):
        read_csv(path)
    with pytest.raises(BadInput, match="cannot be read"):
        read_csv(tmp_path / "missing.csv")


def test_pinning_needs_offsets():
    with pytest.raises(BadInput, match="column 'offset' is missing"):
        problem_from_csv("id,lower,upper,size\n", pin_offsets=True)
    with pytest.raises(BadInput, match="column 'offset': is empty"):
        problem_from_csv("id,lower,upper,size,offset\na,0,1,4,\n", pin_offsets=True)


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"\xef\xbb\xbfid,lower,upper,size\r\na,0,1,4\r\n")
    assert read_csv(path).buffers == (Buffer("a", 4, (LiveRange(0, 1),)),)


def test_conflicts_without_live_ranges_cannot_be_written():
    with pytest.raises(BadInput, match="'a' has no live range"):
        problem_to_csv(Problem((Buffer("a", 4),), conflicts=frozenset()))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"pools": (Pool("x"), Pool("y"))}, "several pools"),
        ({"separate": frozenset({(0, 1)})}, "separate pairs"),
        ({"in_place": frozenset({(0, 1)})}, "in-place pairs"),
        ({"conflicts": frozenset()}, "given conflicts"),
        ({"views": (View("v", 0, 0, 1),)}, "views"),
        ({"penalties": frozenset({(0, 1, 1)})}, "penalties"),
    ],
)
def test_what_the_format_has_no_place_for_is_refused_and_not_lost(change, what):
    buffers = (Buffer("a", 4, (LiveRange(0, 1),)), Buffer("b", 4, (LiveRange(1, 2),)))
    with pytest.raises(BadInput, match=f"the problem has {what}, .* write JSON instead"):
        problem_to_csv(Problem(buffers, **change))


def test_a_plan_in_several_pools_is_refused():
    buffers = (Buffer("a", 4, (LiveRange(0, 1),), pools=("x",)), Buffer("b", 4, (LiveRange(0, 1),), pools=("y",)))
    with pytest.raises(BadInput, match="the plan uses pools x, y"):
        plan_to_csv(plan(Problem(buffers, (Pool("x"), Pool("y")))))
