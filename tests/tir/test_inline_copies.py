"""Copies that need not be stored are read through, to the same bits; where that would be wrong, they stay."""

import json

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import numpy as np
import tvm
from tvm import arith, te, tir

from tests.tir import copies as programs
from tvm_memplan.dialects.tir import copies, inline_copies
from tvm_memplan.transform import InlineCopies, PlanMemory, RewriteStorage
from tvm_memplan.transform.inline_copies import INLINED_ATTRIBUTE


def results(function, alias=False):
    """What the program writes, for several inputs; with `alias`, into the array that it reads."""
    module = tvm.build(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), target="llvm")
    found = []
    for seed in range(3):
        given = np.random.default_rng(seed).integers(-1000, 1000, 8).astype("int32")
        array = tvm.nd.array(given)
        out = array if alias else tvm.nd.array(np.full(8, 99, "int32"))
        module["main"](array, out)
        found.append(out.numpy().tolist())
    return found


def realized(function):
    names = []

    def visit(node):
        if isinstance(node, tir.BufferRealize):
            names.append(node.buffer.name)

    tir.stmt_functor.post_order_visit(function.body, visit)
    return names


def reads_outside(function):
    """Whether an index of a parameter can lie outside of it, as far as the loops say."""
    analyzer = arith.Analyzer()
    outside = []

    def visit(node):
        if isinstance(node, tir.BufferLoad) and node.buffer.name == "A":
            outside.append(int(analyzer.const_int_bound(node.indices[0]).max_value) >= int(node.buffer.shape[0]))

    def bind(node):
        if isinstance(node, tir.For):
            analyzer.bind(node.loop_var, tvm.ir.Range.from_min_extent(node.min, node.extent))

    tir.stmt_functor.post_order_visit(function.body, bind)
    tir.stmt_functor.post_order_visit(function.body, visit)
    return any(outside)


@pytest.mark.parametrize("name", programs.GONE)
def test_a_copy_is_read_through_to_the_same_bits(name):
    before = programs.GONE[name]
    after, gone = inline_copies(before)
    assert realized(before) and not realized(after)
    assert sorted(copy.name for copy in gone) == sorted(realized(before))
    assert results(after) == results(before)
    tvm.ir.assert_structural_equal(inline_copies(after)[0], after)


@pytest.mark.parametrize("name", programs.KEPT)
def test_a_copy_that_matters_stays(name):
    before, _ = programs.KEPT[name]
    after, gone = inline_copies(before)
    assert gone == () and after.same_as(before)


@pytest.mark.parametrize("name", programs.LEFT_ALONE)
def test_a_copy_that_is_worth_its_memory_or_not_understood_stays(name):
    before = programs.LEFT_ALONE[name]
    after, gone = inline_copies(before)
    assert gone == () and after.same_as(before)


@pytest.mark.parametrize("name", programs.KEPT)
def test_without_its_rule_the_program_would_be_another(name, monkeypatch):
    before, rule = programs.KEPT[name]
    stores = copies._stores
    if rule == "_stores":
        monkeypatch.setattr(copies, "_stores", lambda realize, sites: stores(realize, sites)[:1])
    monkeypatch.setattr(copies, "RULES", tuple(r for r in copies.RULES if r.__name__ != rule))
    after, gone = inline_copies(before)
    assert gone, "nothing was left to keep the copy, so the test shows nothing"
    alias = name == "source may be the output"
    try:
        other = results(after, alias)
    except tvm.error.TVMError:
        return  # not even a program
    assert other != results(before, alias) or (reads_outside(after) and not reads_outside(before))


def test_all_rules_are_needed():
    needed = {rule for _, rule in programs.KEPT.values()}
    assert {rule.__name__ for rule in copies.RULES} | {"_stores"} == needed


def test_a_cheap_value_is_not_computed_more_than_so_often():
    for program in programs.GONE.values():
        for copy in inline_copies(program)[1]:
            assert copy.computed <= copies._ROUNDS * copy.stored


def padded_window():
    """A window over a padded, widened input, as TVM's schedules make it."""
    x = te.placeholder((1, 8, 8, 4), "int8", name="x")
    w = te.placeholder((3, 3, 4), "int8", name="w")
    padded = te.compute(
        (1, 10, 10, 4),
        lambda n, i, j, c: te.if_then_else(
            te.all(i >= 1, i < 9, j >= 1, j < 9), x[n, i - 1, j - 1, c], tir.const(-7, "int8")
        ),
        name="padded",
    )
    wide = te.compute((1, 10, 10, 4), lambda *at: padded[at].astype("int16"), name="wide")
    di, dj = te.reduce_axis((0, 3), "di"), te.reduce_axis((0, 3), "dj")
    y = te.compute(
        (1, 8, 8, 4),
        lambda n, i, j, c: te.sum(wide[n, i + di, j + dj, c].astype("int32") * w[di, dj, c], axis=[di, dj]),
        name="y",
    )
    return te.create_schedule(y.op), [x, w, y]


def lowered(*passes):
    schedule, arguments = padded_window()
    with tvm.transform.PassContext(config={"tir.add_lower_pass": list(passes)}):
        return tvm.lower(schedule, arguments), tvm.build(schedule, arguments, "llvm")


def test_the_pass_works_in_a_lowering_and_says_what_it_did():
    module, fast = lowered((0, InlineCopies()))
    _, plain = lowered()
    assert [record["name"] for record in json.loads(str(module["main"].attrs[INLINED_ATTRIBUTE]))] == ["padded", "wide"]
    rng = np.random.default_rng(1)
    x, w = (tvm.nd.array(rng.integers(-128, 128, shape).astype("int8")) for shape in ((1, 8, 8, 4), (3, 3, 4)))
    ours, theirs = (tvm.nd.array(np.zeros((1, 8, 8, 4), "int32")) for _ in range(2))
    fast(x, w, ours)
    plain(x, w, theirs)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_the_pass_goes_together_with_a_plan():
    module, _ = lowered((0, InlineCopies()), (1, PlanMemory()), (1, RewriteStorage()))
    names = []
    tir.stmt_functor.post_order_visit(
        module["main"].body, lambda node: names.append(node) if isinstance(node, tir.Allocate) else None
    )
    assert not names
