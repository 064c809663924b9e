"""The rules of live ranges, one program each."""

from __future__ import annotations

import pytest

from tvm_memplan.errors import BadTrace
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.trace import Alias, Alloc, Branch, Loop, Node, Step, Trace


def write(*names: str) -> Step:
    return Step("write", writes=names)


def read(*names: str) -> Step:
    return Step("read", reads=names)


def ranges(
    *nodes: Node, live_in: tuple[str, ...] = (), live_out: tuple[str, ...] = ()
) -> dict[str, list[tuple[int, int]]]:
    found = live_ranges(Trace(nodes, frozenset(live_in), frozenset(live_out)))
    return {b.name: [(r.start, r.stop) for r in b.live_ranges] for b in found.buffers}


A, B = Alloc("a", 8), Alloc("b", 8)
OTHER = Step("other")


def test_a_value_lives_from_its_first_to_its_last_touch():
    assert ranges(A, OTHER, write("a"), OTHER, read("a"), OTHER) == {"a": [(1, 4)]}


def test_births_come_before_deaths():
    assert ranges(A, B, write("a"), Step("op", ("a",), ("b",)), read("b")) == {"a": [(0, 2)], "b": [(1, 3)]}


def test_a_value_nobody_reads_lives_through_the_step_that_writes_it():
    assert ranges(A, OTHER, write("a"), OTHER) == {"a": [(1, 2)]}


def test_an_untouched_buffer_gets_the_step_at_its_place_or_the_last():
    assert ranges(OTHER, A, OTHER, OTHER, B) == {"a": [(1, 2)], "b": [(2, 3)]}
    assert ranges(A) == {"a": [(0, 1)]}
    assert ranges(A, live_in=("a",), live_out=("a",)) == {"a": [(0, 1)]}


def test_allocated_outside_a_loop_and_touched_inside_lives_through_the_loop():
    assert ranges(A, write("a"), Loop((OTHER, read("a"), OTHER)), OTHER) == {"a": [(0, 4)]}


def test_allocated_inside_a_loop_lives_within_one_iteration():
    assert ranges(Loop((OTHER, A, write("a"), read("a"), OTHER)))["a"] == [(1, 3)]


def test_what_an_iteration_leaves_for_the_next_lives_through_the_loop():
    assert ranges(Loop((A, OTHER, read("a"), write("a"), OTHER)))["a"] == [(0, 4)]
    assert ranges(Loop((A, OTHER, Step("op", ("a",), ("a",)), OTHER)))["a"] == [(0, 3)]


def test_what_is_carried_by_an_inner_loop_is_carried_by_the_outer_one_too():
    assert ranges(Loop((OTHER, Loop((A, read("a"), write("a"))), OTHER)))["a"] == [(0, 4)]


def test_an_allocation_in_an_outer_loop_lives_through_the_inner_one_only():
    assert ranges(Loop((OTHER, A, write("a"), Loop((OTHER, read("a"), OTHER)), OTHER)))["a"] == [(1, 5)]


def test_a_write_in_a_loop_that_may_not_run_does_not_dominate():
    loop = Loop((A, OTHER, Loop((write("a"),)), read("a"), OTHER))
    assert ranges(loop)["a"] == [(0, 4)]
    loop = Loop((A, OTHER, Loop((write("a"),), at_least_once=True), read("a"), OTHER))
    assert ranges(loop)["a"] == [(1, 3)]


def test_a_write_in_one_body_of_a_branch_does_not_dominate_but_one_in_each_does():
    assert ranges(Loop((A, OTHER, Branch((write("a"),)), read("a"), OTHER)))["a"] == [(0, 4)]
    assert ranges(Loop((A, OTHER, Branch((write("a"),), (write("a"),)), read("a"), OTHER)))["a"] == [(1, 4)]


def test_the_bodies_of_a_branch_can_share():
    assert ranges(Branch((A, write("a")), (B, write("b")))) == {"a": [(0, 1)], "b": [(1, 2)]}


def test_allocated_outside_a_branch_lives_over_the_hull_of_its_touches():
    assert ranges(A, Branch((write("a"), OTHER), (OTHER, write("a"))), read("a"))["a"] == [(0, 5)]


def test_inputs_live_from_the_start_and_results_to_the_end():
    assert ranges(A, B, OTHER, read("a"), write("b"), OTHER, live_in=("a",), live_out=("b",)) == {
        "a": [(0, 2)],
        "b": [(2, 4)],
    }


def test_a_result_that_a_loop_allocates_lives_through_the_loop():
    assert ranges(OTHER, Loop((OTHER, A, write("a"))), OTHER, live_out=("a",))["a"] == [(1, 4)]


def test_an_alias_is_a_use_of_its_root_however_many_steps_away():
    aliases = (Alias("v", "a"), Alias("w", "v"))
    assert ranges(A, *aliases, write("a"), OTHER, read("w"))["a"] == [(0, 3)]
    assert ranges(A, write("a"), OTHER, Branch((*aliases, read("w"))))["a"] == [(0, 3)]
    assert ranges(A, Branch((*aliases,)), write("a"), OTHER, live_out=("w",))["a"] == [(0, 2)]
    assert ranges(A, Branch((*aliases, OTHER)), write("w"))["a"] == [(1, 2)]


def test_a_name_allocated_at_two_places_has_two_ranges_and_one_where_they_touch():
    call = (A, write("a"), read("a"))
    assert ranges(*call, OTHER, *call)["a"] == [(0, 2), (3, 5)]
    assert ranges(*call, *call)["a"] == [(0, 4)]


def test_an_alias_stays_with_the_place_it_was_made_of():
    assert ranges(A, Alias("v", "a"), write("v"), A, Alias("v", "a"), OTHER, write("v"))["a"] == [(0, 1), (2, 3)]


def test_loops_without_steps_change_nothing():
    assert ranges(A, Loop(()), write("a"), Loop((Loop(()), B)), Branch(())) == {"a": [(0, 1)], "b": [(0, 1)]}


def test_steps_are_named_in_reading_order():
    found = live_ranges(Trace((Step("x"), Branch((Step("y"),), (Step("z"),)), Loop((Step("w"),)))))
    assert found.steps == ("x", "y", "z", "w")
    assert found.buffers == ()


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((read("a"),), r"step 0 \(read\) uses 'a'"),
        ((write("a"), A), "uses 'a'"),
        ((Loop((A,)), read("a")), "uses 'a'"),
        ((Alias("v", "a"),), "alias 'v' uses 'a'"),
        ((Branch((A, Alias("v", "a"))), read("v")), "uses 'v'"),
        ((A, Alloc("a", 9)), "'a' is allocated with size 8 and again with 9"),
        ((A, Alloc("a", 8, 4)), "alignment 1 and again with 4"),
        ((A, Alloc("a", 8, scope="shared")), "scope global and again with shared"),
        ((A, B, Alias("v", "a"), Alias("v", "b")), "'v' of 'b': the name already stands for 'a'"),
        ((A, B, Alias("a", "b")), "'a' of 'b': the name already stands for 'a'"),
        ((A, Alias("v", "a"), write("a"), A, write("a"), read("v")), "'a' is allocated again while it is alive"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused_by_name(nodes, message):
    with pytest.raises(BadTrace, match=message):
        ranges(*nodes)


def test_a_result_that_is_never_allocated_is_refused():
    with pytest.raises(BadTrace, match="'x' is live in or live out"):
        ranges(A, live_out=("x",))
