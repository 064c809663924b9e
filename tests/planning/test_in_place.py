"""A pair is found where it is safe and worth it, and nowhere else; random programs are the judge."""

from dataclasses import replace

import pytest

from tests.planning.element_programs import agrees, random_program
from tests.removed_rules import OF_PAIRS, REMOVED
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.lifetimes.in_place import in_place_pairs
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.trace import Alias, Alloc, Branch, Elements, Loop, Step, Trace


def pairs(trace):
    liveness = live_ranges(trace)
    names = [buffer.name for buffer in liveness.buffers]
    return {(names[d], names[s]) for d, s in in_place_pairs(trace, liveness)}


def touch(buffer, write=False, constant=0, dtype="float32", **terms):
    return Elements(buffer, write, dtype, constant, tuple(sorted(terms.items())))


def wide(buffer, write=False):
    """Two elements per round, moving by one."""
    return Elements(buffer, write, "float32", 0, (("j", 1),), 2)


def copy(source, target, *more, **terms):
    """``target[...] = f(source[...])`` at one and the same element."""
    reads = tuple(dict.fromkeys((source, *(e.buffer for e in more))))
    return Step("copy", reads, (target,), (touch(source, **terms), touch(target, True, **terms), *more))


def program(*loop, kind=Kind.ACTIVATION, extent=8, live_out=()):
    """`a` is made, `loop` makes `b` from it, `b` is used."""
    return Trace(
        (
            Alloc("a", 32, kind=kind),
            Loop((Step("make", (), ("a",), (touch("a", True, i=1),)),), True, "i", extent),
            Alloc("b", 32),
            Loop(tuple(loop), True, "j", extent),
            Loop((Step("use", ("b",), (), (touch("b", k=1),)),), True, "k", extent),
        ),
        live_out=frozenset(live_out),
    )


def test_an_element_wise_step_works_in_place():
    trace = program(copy("a", "b", j=1))
    assert pairs(trace) == {("b", "a")}
    liveness = live_ranges(trace)
    problem = Problem(liveness.buffers, in_place=in_place_pairs(trace, liveness))
    assert plan(problem).size() == bound(problem).bytes == 32


def test_a_chain_works_in_place_all_along():
    trace = program(copy("a", "t", j=1), copy("t", "b", j=1))
    trace = Trace((Alloc("t", 32), *trace.body))
    assert pairs(trace) >= {("b", "a"), ("t", "a"), ("b", "t")}


@pytest.mark.parametrize(
    ("why", "loop"),
    [
        ("a is read at another index as well", [copy("a", "b", touch("a", constant=7, j=-1), j=1)]),
        ("each element is written twice", [Loop((copy("a", "b", j=1),), True, "again", 2)]),
        ("a is read after b was written", [copy("a", "b", j=1), Step("peek", ("a",), (), (touch("a", j=1),))]),
        ("a is read at another place", [Step("x", ("a",), ("b",), (touch("a", j=1), touch("b", True, 1, j=1)))]),
        ("elements overlap from round to round", [Step("x", ("a",), ("b",), (wide("a"), wide("b", True)))]),
        ("the types differ", [Step("x", ("a",), ("b",), (touch("a", j=1), touch("b", True, dtype="int32", j=1)))]),
        ("somebody got the address of a", [copy("a", "b", j=1), Step("call", ("a",), ("a",))]),
        ("a is all read in each round", [Step("x", ("a",), ("b",), (touch("b", True, j=1),))]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_there_is_no_pair_when(why, loop):
    assert pairs(program(*loop)) == set()


def test_an_input_is_not_overwritten():
    assert pairs(program(copy("a", "b", j=1), kind=Kind.INPUT)) == set()


def test_a_value_that_is_needed_later_is_not_overwritten():
    trace = program(copy("a", "b", j=1))
    later = Loop((Step("later", ("a",), (), (touch("a", m=1),)),), True, "m", 8)
    assert pairs(Trace((*trace.body, later))) == set()
    assert pairs(program(copy("a", "b", j=1), live_out=("a",))) == set()


def test_a_loop_of_unknown_length_is_taken_for_one_of_any_length():
    assert pairs(program(copy("a", "b", j=1), extent=None)) == {("b", "a")}
    behind, ahead = (Step("x", ("a",), ("b",), (touch("a", constant=c, j=1), touch("b", True, j=1))) for c in (-1, 1))
    assert pairs(program(behind, extent=None)) == set()
    assert pairs(program(ahead, extent=None)) == {("b", "a")}


def without_lengths(node):
    if isinstance(node, Loop):
        return replace(node, extent=None, body=tuple(map(without_lengths, node.body)))
    if isinstance(node, Branch):
        return Branch(tuple(map(without_lengths, node.then)), tuple(map(without_lengths, node.orelse)))
    return node


def test_no_pair_that_asks_for_no_length_changes_what_a_random_program_reads():
    found = 0
    for seed in range(500):
        trace = random_program(seed)
        open_trace = replace(trace, body=tuple(map(without_lengths, trace.body)))
        for pair in pairs(open_trace):
            found += 1
            assert all(agrees(trace, pair, chance) for chance in range(3)), (seed, pair)
    assert found > 20, "the programs are there to have pairs"


def test_a_buffer_with_a_second_name_makes_no_pair():
    trace = program(copy("a", "b", j=1))
    assert pairs(Trace((trace.body[0], Alias("view", "a"), *trace.body[1:]))) == set()


def test_the_carried_value_of_an_outer_loop_is_not_overwritten():
    body = program(copy("a", "b", j=1)).body
    assert pairs(Trace((*body[:2], Loop(tuple(body[2:]), True, "t", 3)))) == set()


def test_what_an_outer_loop_makes_afresh_may_be_overwritten():
    assert pairs(Trace((Loop(program(copy("a", "b", j=1)).body, True, "t", 3),))) == {("b", "a")}


def judged_pairs(seeds):
    """Every pair of random programs, and whether the machine reads the same in place."""
    for seed in seeds:
        trace = random_program(seed)
        for pair in sorted(pairs(trace)):
            yield seed, pair, all(agrees(trace, pair, chance) for chance in range(3))


def test_no_pair_changes_what_a_random_program_reads():
    judged = list(judged_pairs(range(4000)))
    assert [(seed, pair) for seed, pair, right in judged if not right] == []
    assert len(judged) > 300, "the programs are there to have pairs"


@pytest.mark.parametrize("rule", OF_PAIRS)
def test_a_removed_condition_is_found_out(monkeypatch, rule):
    monkeypatch.setattr(*REMOVED[rule])
    assert not all(right for _, _, right in judged_pairs(range(4000)))
