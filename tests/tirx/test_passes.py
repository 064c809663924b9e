"""The passes as a user meets them: in a Sequential, twice, and on functions that changed meanwhile."""

import json
import re
from itertools import pairwise

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.script import tirx as T

from tests.tirx import programs
from tests.tirx.operators import OPERATORS, inputs, lowered, padded_packed_convolution, softmax
from tests.tirx.running import Poison, build, flat, run, same_bits
from tvm_memplan.errors import BadInput, BadPlan, OverBudget
from tvm_memplan.transform import PlanMemory, RewriteStorage, VerifyBudget
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE, PLAN_ATTRIBUTE


def only(module):
    (function,) = module.functions.values()
    return function


def test_plan_memory_changes_nothing_but_the_attribute():
    before = lowered(padded_packed_convolution)
    after = PlanMemory()(before)
    assert PLAN_ATTRIBUTE in only(after).attrs
    tvm.ir.assert_structural_equal(only(after).without_attr(PLAN_ATTRIBUTE), only(before))


def test_the_passes_work_in_a_sequential():
    before = lowered(softmax)
    after = tvm.transform.Sequential([PlanMemory(), RewriteStorage()])(before)
    arena = json.loads(str(only(after).attrs[ARENA_ATTRIBUTE]))
    assert set(arena) == {"body"}
    assert PLAN_ATTRIBUTE not in only(after).attrs


def test_running_twice_changes_nothing_more():
    passes = tvm.transform.Sequential([PlanMemory(), RewriteStorage()])
    once = passes(lowered(padded_packed_convolution))
    tvm.ir.assert_structural_equal(passes(once), once)


def test_there_are_arenas_and_no_other_allocation():
    after = RewriteStorage()(PlanMemory()(lowered(padded_packed_convolution)))
    allocated = []
    tvm_ffi.structural_walk(only(after).body, (tirx.AllocBuffer, lambda stmt: allocated.append(stmt.buffer.name)))
    assert sorted(allocated) == ["arena_0", "arena_1", "arena_2"]


def test_without_a_plan_rewrite_storage_does_nothing():
    before = lowered(softmax)
    tvm.ir.assert_structural_equal(RewriteStorage()(before), before)


def test_the_callers_module_stays_as_it_was():
    before = lowered(padded_packed_convolution)
    text = before.script()
    tvm.transform.Sequential([PlanMemory(), RewriteStorage()])(before)
    PlanMemory()(before)
    assert before.script() == text


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.__name__)
@pytest.mark.parametrize("vectorize", [False, True])
def test_the_result_survives_storage_rewrite(operator, vectorize):
    function, shapes, out = operator()
    values = inputs(shapes, out, 5)
    expected, _ = run(build(function, (), spy=False, vectorize=vectorize), values)
    for poison in ((), (Poison,)):
        passes = (PlanMemory(), RewriteStorage(), *poison, tirx.transform.StorageRewrite())
        got, _ = run(build(function, passes, spy=False, vectorize=vectorize), values)
        assert got[-1].tobytes() == expected[-1].tobytes()


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.__name__)
def test_planned_right_after_flattening_is_as_good(operator):
    function, shapes, out = operator()
    values = inputs(shapes, out, 6)
    expected, _ = run(build(function, (), spy=False), values)
    early = tvm.transform.Sequential([PlanMemory(), RewriteStorage()])(lowered(operator))
    got, _ = run(build(only(early), (tirx.transform.StorageRewrite(),), spy=False), values)
    assert got[-1].tobytes() == expected[-1].tobytes()


def test_an_unknown_planner_is_named():
    with pytest.raises(BadInput, match="greedy_by_size"):
        PlanMemory(planner="best")(lowered(softmax))


# -- broken on purpose ----------------------------------------------------------------------------------------------


def with_offsets(module, change):
    """`module` after PlanMemory, with its recorded offsets changed."""
    function = only(module)
    recorded = json.loads(str(function.attrs[PLAN_ATTRIBUTE]))
    change(recorded["regions"]["body"])
    recorded["pieces"] = {}  # wherever things lie now, they lie in one arena
    return tvm.IRModule({"entry": function.with_attr(PLAN_ATTRIBUTE, json.dumps(recorded))})


def test_a_moved_offset_is_refused():
    planned = PlanMemory()(lowered(padded_packed_convolution))

    def clash(offsets):
        offsets["convolved"] = offsets["data_pad"]

    with pytest.raises(BadPlan, match=r"data_pad.*convolved|convolved.*data_pad"):
        RewriteStorage()(with_offsets(planned, clash))


def test_a_plan_for_other_buffers_is_refused():
    planned = PlanMemory()(lowered(padded_packed_convolution))
    with pytest.raises(BadPlan, match="no longer has the buffers"):
        RewriteStorage()(with_offsets(planned, lambda offsets: offsets.pop("data_pad")))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 9}', '{"version": 1, "planner": "auto"}'])
def test_a_mangled_attribute_is_refused(text):
    function = only(lowered(softmax)).with_attr(PLAN_ATTRIBUTE, text)
    with pytest.raises(BadPlan, match="is not a plan"):
        RewriteStorage()(tvm.IRModule({"entry": function}))


def test_the_comparison_sees_a_wrong_plan_that_the_judge_is_kept_from(monkeypatch):
    """Every pair of conflicting buffers on one offset is seen in the values that are stored."""
    function, shapes, out = padded_packed_convolution()
    names = ["packed", "data_pad", "packed_weight", "convolved", "unpacked"]
    monkeypatch.setattr("tvm_memplan.transform.function_plan.check_plan", lambda plan: None)
    for one, two in pairwise(names):
        if (one, two) == ("data_pad", "packed_weight"):
            continue

        @tirx.transform.prim_func_pass(opt_level=0)
        def sabotage(function, module, context, one=one, two=two):
            if PLAN_ATTRIBUTE not in function.attrs:
                return function

            def clash(offsets):
                offsets[two] = offsets[one]

            return only(with_offsets(tvm.IRModule({"entry": function}), clash))

        broken = (PlanMemory(), sabotage, RewriteStorage(), Poison)
        assert not same_bits(function, inputs(shapes, out, 1), ours=broken), (one, two)


def test_a_shortened_live_range_is_seen_by_the_comparison(monkeypatch):
    """Without the rule that a value from outside a loop lives through it, the rest of the body overwrites it."""
    import tvm_memplan.planning.lifetimes.liveness as liveness
    from tvm_memplan.planning.model import LiveRange

    monkeypatch.setattr(
        liveness._Place,
        "range",
        lambda self, total: LiveRange(min(s for s, _ in self.touches), max(s for s, _ in self.touches) + 1),
    )
    function = programs.read_again_in_each_iteration
    values = [np.arange(8, dtype="float32"), np.zeros(8, "float32")]
    module = build(function, (PlanMemory(), RewriteStorage()), spy=False)
    (_, got), _ = run(module, values)
    assert not np.allclose(got, programs.PROGRAMS[function][2](values[0]))


def test_flat_programs_are_what_the_passes_expect():
    assert "tvm_memplan.arena" in only(RewriteStorage()(PlanMemory()(flat(programs.branches)))).attrs


def test_before_and_after_of_a_small_function():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((8,), "float32")):
        one = T.alloc_buffer((8,), "float32")
        two = T.alloc_buffer((8,), "int8")
        three = T.alloc_buffer((8,), "int16")
        for i in range(8):
            one[i] = A[i]
        for i in range(8):
            two[i] = T.Cast("int8", one[7 - i])
        for i in range(8):
            three[i] = T.Cast("int16", two[7 - i])
        for i in T.parallel(8):
            A[i] = T.Cast("float32", three[i])

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((8,), "float32")):
        T.func_attr({"tvm_memplan.arena": '{"body": 40}'})
        arena_0 = T.alloc_buffer((8,), "float32")
        arena_0_float32 = T.decl_buffer((8,), "float32", data=arena_0.data)
        arena_0_int16 = T.decl_buffer((16,), "int16", data=arena_0.data)
        arena_1 = T.alloc_buffer((8,), "int8")
        with T.attr(T.int32(0), "extern_scope", 0):
            A_1 = T.decl_buffer((8,), "float32", data=A.data)
            for i in range(8):
                arena_0_float32[i] = A_1[i]
            for i in range(8):
                arena_1[i] = T.Cast("int8", arena_0_float32[i * -1 + 7])
            for i in range(8):
                arena_0_int16[i] = T.Cast("int16", arena_1[i * -1 + 7])
            for i in T.parallel(8):
                A_1[i] = T.Cast("float32", arena_0_int16[i])

    passes = tvm.transform.Sequential([PlanMemory("greedy_by_size", alignment=1), RewriteStorage()])
    tvm.ir.assert_structural_equal(only(passes(flat(before))), only(flat(expected)))


def test_the_alias_classes_of_llvm_follow_allocations():
    """Views of different types over one allocation are one class to LLVM; what shares no byte has its own."""

    @T.prim_func(s_tir=True)
    def mixed(A: T.Buffer((1,), "float32"), O: T.Buffer((1,), "float32")):
        T.func_attr({"tirx.noalias": True})
        one = T.alloc_buffer((4,), "int32")
        two = T.alloc_buffer((4,), "int16")
        three = T.alloc_buffer((4,), "int8")
        one[3] = T.Cast("int32", A[0])
        two[2] = T.Cast("int16", one[3])
        three[1] = T.Cast("int8", two[2])
        O[0] = T.Cast("float32", three[1])

    unoptimised = {"kind": "llvm", "opt-level": 0}

    def classes(*passes):
        text = build(mixed, passes, unoptimised, spy=False).mod.inspect_source("ll")
        return set(re.findall(r'!"(0x[0-9a-f]+)(?:"|\.w)', text))

    assert len(classes()) == 5  # A, O, one, two, three
    assert len(classes(PlanMemory(alignment=1), RewriteStorage())) == 4  # A, O, two, and the others together


def test_of_two_parallel_loops_with_one_variable_the_first_has_an_arena():
    worker, out = tirx.Var("r", "int32"), tirx.decl_buffer([4], "float32", "out", layout=None)

    def loop(name):
        own, store = tirx.decl_buffer([512], "float32", name, layout=None), tirx.BufferStore
        value = tirx.Cast("float32", worker)
        parts = [
            tirx.AllocBuffer(own),
            store(own, value, [worker]),
            store(out, tirx.BufferLoad(own, [worker]), [worker]),
        ]
        return tirx.For(worker, 0, 4, tirx.ForKind.PARALLEL, tirx.SeqStmt(parts))

    function = tirx.PrimFunc([out], tirx.SeqStmt([loop("one"), loop("two")])).with_attr("s_tir", True)
    after = tvm.transform.Sequential([PlanMemory(), RewriteStorage()])(flat(function))
    allocated = []
    tvm_ffi.structural_walk(only(after).body, (tirx.AllocBuffer, lambda stmt: allocated.append(stmt.buffer.name)))
    assert allocated == ["arena_r", "two"]
    (got,), _ = run(build(only(after), (tirx.transform.StorageRewrite(),), spy=False), [np.zeros(4, "float32")])
    np.testing.assert_array_equal(got, np.arange(4))


def test_a_large_arena_has_indices_of_64_bits():
    @T.prim_func(s_tir=True)
    def large(A: T.Buffer((8,), "float32")):
        one = T.alloc_buffer((T.int64(1500000000),), "int16")
        two = T.alloc_buffer((8,), "int8")
        across = T.alloc_buffer((T.int64(1500000004),), "int16")  # over both, so that they lie in one allocation
        for i in range(8):
            one[T.Cast("int64", i)] = T.Cast("int16", A[i])
        for i in range(8):
            two[i] = T.Cast("int8", one[T.Cast("int64", 7 - i)])
        for i in range(8):
            A[i] = T.Cast("float32", two[7 - i])
        for i in range(8):
            across[T.Cast("int64", i)] = T.Cast("int16", A[i])
        for i in range(8):
            A[i] = T.Cast("float32", across[T.Cast("int64", 7 - i)])

    after = tvm.transform.Sequential([PlanMemory("first_fit_by_start", alignment=1), RewriteStorage()])(flat(large))
    assert 'arena_int8[T.Cast("int64", i) + T.int64(3000000000)]' in after.script()


def test_a_private_function_is_planned_under_the_name_it_has_in_its_module():
    @T.prim_func(private=True)
    def quiet(A: T.Buffer((8,), "float32")):
        one = T.alloc_buffer((8,), "float32")
        two = T.alloc_buffer((8,), "float32")
        for i in range(8):
            one[i] = A[i]
        for i in range(8):
            two[i] = one[i]
        for i in range(8):
            A[i] = two[i]

    module = tvm.IRModule({"quiet": quiet})
    passes = [tirx.transform.FlattenBuffer(), PlanMemory(), RewriteStorage(), VerifyBudget("1KiB")]
    assert ARENA_ATTRIBUTE in only(tvm.transform.Sequential(passes)(module)).attrs
    with pytest.raises(OverBudget, match="quiet"):
        tvm.transform.Sequential([*passes[:1], VerifyBudget(8)])(module)
