"""The passes as a user meets them: in a Sequential, in phase 1, twice, and on functions that changed meanwhile."""

import json
from itertools import pairwise

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import numpy as np
import tvm

from tests.tir import programs
from tests.tir.operators import inputs, lowered, padded_packed_convolution, softmax
from tests.tir.running import OURS, Poison, build, flat, run, same_bits
from tvm_memplan.errors import BadInput, BadPlan, UnsupportedIR
from tvm_memplan.transform import PlanMemory, RewriteStorage, register_pipeline
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

    def visit(node):
        if isinstance(node, tvm.tir.Allocate):
            allocated.append(node.buffer_var.name)

    tvm.tir.stmt_functor.post_order_visit(only(after).body, visit)
    assert sorted(allocated) == ["arena_0", "arena_1", "arena_2"]


def test_without_a_plan_rewrite_storage_does_nothing():
    before = lowered(softmax)
    tvm.ir.assert_structural_equal(RewriteStorage()(before), before)


def test_lower_then_build_runs_the_passes_once():
    (schedule, arguments), shapes, out = padded_packed_convolution()
    config = {"tir.add_lower_pass": [(1, PlanMemory()), (1, RewriteStorage())]}
    with tvm.transform.PassContext(config=config):
        module = tvm.lower(schedule, arguments, name="entry")
        built = tvm.build(module, target="llvm")
    values = inputs(shapes, out, 3)
    expected, _ = run(build((schedule, arguments), (), spy=False), values)
    got, _ = run(built, values)
    assert got[-1].tobytes() == expected[-1].tobytes()


@pytest.mark.parametrize("disabled", [False, True])
def test_the_result_survives_storage_rewrite_and_its_absence(disabled):
    function, shapes, out = padded_packed_convolution()
    values = inputs(shapes, out, 5)
    expected, _ = run(build(function, (), spy=False), values)
    config = {"tir.add_lower_pass": [(1, p) for p in OURS], "tir.disable_storage_rewrite": disabled}
    with tvm.transform.PassContext(config=config):
        planned = tvm.build(*function, target="llvm", name="entry")
    got, _ = run(planned, values)
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
        offsets["conv2d_NCHWc"] = offsets["data_pad"]

    with pytest.raises(BadPlan, match=r"data_pad.*conv2d_NCHWc|conv2d_NCHWc.*data_pad"):
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
    names = ["packed", "data_pad", "packed_weight", "conv2d_NCHWc", "unpacked"]
    monkeypatch.setattr("tvm_memplan.transform.function_plan.check_plan", lambda plan: None)
    for one, two in pairwise(names):
        if (one, two) == ("data_pad", "packed_weight"):
            continue

        @tvm.tir.transform.prim_func_pass(opt_level=0)
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


def test_a_pipeline_by_name_is_refused_with_the_way_out():
    with pytest.raises(UnsupportedIR, match="add_lower_pass"):
        register_pipeline()
