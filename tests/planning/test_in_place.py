"""A pair is found where it is safe and worth it, and nowhere else; random programs are the judge."""

from dataclasses import replace

import pytest

from tests.planning.element_programs import agrees, random_program
from tvm_memplan.planning import dependence, in_place
from tvm_memplan.planning.bound import bound
from tvm_memplan.planning.in_place import in_place_pairs
from tvm_memplan.planning.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.trace import Alias, Alloc, Elements, Loop, Step, Trace


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


def test_a_loop_of_unknown_length_makes_no_pair():
    assert pairs(program(copy("a", "b", j=1), extent=None)) == set()


def test_a_buffer_with_a_second_name_makes_no_pair():
    trace = program(copy("a", "b", j=1))
    assert pairs(Trace((trace.body[0], Alias("view", "a"), *trace.body[1:]))) == set()


def test_the_carried_value_of_an_outer_loop_is_not_overwritten():
    body = program(copy("a", "b", j=1)).body
    assert pairs(Trace((*body[:2], Loop(tuple(body[2:]), True, "t", 3)))) == set()


def test_what_an_outer_loop_makes_afresh_may_be_overwritten():
    assert pairs(Trace((Loop(program(copy("a", "b", j=1)).body, True, "t", 3),))) == {("b", "a")}


def wrong_pairs(seeds):
    """Programs and pairs for which the machine reads something else in place."""
    found, seen = [], 0
    for seed in seeds:
        trace = random_program(seed)
        for d, s in pairs(trace):
            seen += 1
            if not all(agrees(trace, (d, s), chance) for chance in range(3)):
                found.append((seed, d, s))
    return found, seen


def test_no_pair_changes_what_a_random_program_reads():
    found, seen = wrong_pairs(range(4000))
    assert found == []
    assert seen > 300, "the programs are there to have pairs"


right, overlap = dependence.precedes, dependence._overlap


def forgets_the_order(old, write, around):
    """Whatever comes later in the program counts as earlier."""
    return right(replace(old, step=-1), write, around)


def forgets_later_rounds(old, write, moving, level, sign):
    return level == len(moving) and overlap(old, write, moving, level, sign)


def forgets_inner_rounds(old, write, moving, level, sign):
    """Only the outermost loop counts."""
    return (level == 0 or level == len(moving)) and overlap(old, write, moving, level, sign)


def forgets_other_indices(old, write, around):
    return right(replace(old, elements=old.elements and write.elements), write, around)


def forgets_width(old, write, moving, level, sign):
    thin = (replace(access, elements=replace(access.elements, width=1)) for access in (old, write))
    return overlap(*thin, moving, level, sign)


def forgets_loops_of_one(old, write, moving, level, sign):
    """A loop that only one of the two stands in stays at 0."""
    common = set(old.loops) & set(write.loops)
    outer = (replace(access, loops=tuple(_still(access.loops, common))) for access in (old, write))
    return overlap(*outer, moving, level, sign)


def _still(loops, common):
    return (loop if loop in common else replace(loop, extent=min(loop.extent, 1)) for loop in loops)


def forgets_that_workers_run_ahead(old, write, around):
    serial = (replace(access, loops=tuple(replace(x, parallel=False) for x in access.loops)) for access in (old, write))
    return right(*serial, {replace(loop, parallel=False) for loop in around})


def forgets_which_branch(old, write, around):
    """Any two branches count as one."""
    one = (replace(access, arms=tuple((0, arm) for _, arm in access.arms)) for access in (old, write))
    return right(*one, around)


@pytest.mark.parametrize(
    ("where", "name", "wrong"),
    [
        (in_place, "precedes", forgets_the_order),
        (dependence, "_overlap", forgets_later_rounds),
        (dependence, "_overlap", forgets_inner_rounds),
        (in_place, "precedes", forgets_other_indices),
        (dependence, "_overlap", forgets_width),
        (dependence, "_overlap", forgets_loops_of_one),
        (in_place, "precedes", forgets_that_workers_run_ahead),
        (in_place, "precedes", forgets_which_branch),
    ],
)
def test_a_removed_condition_is_found_out(monkeypatch, where, name, wrong):
    monkeypatch.setattr(where, name, wrong)
    found, _ = wrong_pairs(range(4000))
    assert found
