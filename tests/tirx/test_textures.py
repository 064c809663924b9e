"""Textures in TVM 0.27's TIR: slots of three dimensions, and what is left alone. Nothing is run here."""

import json

import pytest

pytest.importorskip("tvm.tirx", reason="needs the Relax line of TVM")

import tvm
from tvm import tirx
from tvm.script import tirx as T

from tests.tirx import texture_programs as programs
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import BadPlan
from tvm_memplan.transform import PlanMemory, RewriteStorage
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE


@T.prim_func
def handed_on(A: T.Buffer((4, 3, 5, 4), "float32")):
    t0 = T.alloc_buffer((4, 3, 5, 4), "float32", scope="global.texture")
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t0[bx // 3, bx % 3, tx, c] = A[bx // 3, bx % 3, tx, c] * T.float32(2)
    T.call_extern("int32", "f", t0.data)


@T.prim_func
def large(A: T.Buffer((4, 3, 5, 4), "float32")):
    t0 = T.alloc_buffer((3000, 3, 5, 4), "float32", scope="global.texture")
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t0[bx // 3, bx % 3, tx, c] = A[bx // 3, bx % 3, tx, c] * T.float32(2)


def slots(module):
    recorded = json.loads(str(PlanMemory()(module)["entry"].attrs[PLAN_ATTRIBUTE]))
    return sorted(sorted(names) for names in recorded["textures"]["body"])


def allocations(module):
    """Name and extents of every texture that is allocated, in order."""
    found = []
    for line in module["entry"].script().splitlines():
        if "nd_mem_alloc_with_scope" in line:
            name, extents = line.split("=")[0].strip(), line.split("make_shape(")[1].split(")")[0]
            found.append((name, *(int(extent) for extent in extents.split(", "))))
    return found


def reasons(function):
    report = analyze_memory(programs.flat(function))["entry"]
    return {left.name: left.reason for left in report.left_alone}


def test_slots_grow_in_each_of_three_dimensions():
    module = programs.flat()
    assert len(allocations(module)) == 5
    assert slots(module) == [["t0"], ["t1", "t3"], ["t2", "t4"]]
    rewritten = RewriteStorage()(PlanMemory()(module))
    assert sorted(extents for _, *extents in allocations(rewritten)) == [[5, 3, 4], [5, 3, 4], [7, 4, 3]]
    (figures,) = analyze_memory(module)["entry"].pools
    assert figures.naive == 16 * (60 * 3 + 72 + 28)
    assert figures.planned == 16 * (60 * 2 + 84)
    assert figures.bound == 16 * (60 * 2 + 72)


def test_kernels_are_given_the_slots():
    rewritten = RewriteStorage()(PlanMemory()(programs.flat()))
    host = programs.split(rewritten)["entry"].script()
    assert host.count("T.nd_mem_alloc_with_scope") == 3
    assert not any(f"t{k}.data" in host for k in range(5))
    launches = [line for line in host.splitlines() if "call_ffi_kernel" in line]
    assert len(launches) == 6
    assert sum(line.count("texture_") for line in launches) == 11, "each kernel takes what it took before"


def test_running_the_passes_twice_changes_nothing_more():
    once = RewriteStorage()(PlanMemory()(programs.flat()))
    tvm.ir.assert_structural_equal(RewriteStorage()(PlanMemory()(once)), once)


def test_a_recorded_plan_is_judged_before_it_is_used():
    planned = PlanMemory()(programs.flat())
    recorded = json.loads(str(planned["entry"].attrs[PLAN_ATTRIBUTE]))
    recorded["textures"]["body"] = [["t0", "t2"], ["t1", "t3"], ["t4"]]
    wrong = tvm.IRModule({"entry": planned["entry"].with_attr(PLAN_ATTRIBUTE, json.dumps(recorded))})
    with pytest.raises(BadPlan, match="'t0' and 't2' are alive together in slot 0"):
        RewriteStorage()(wrong)


def test_a_texture_that_goes_elsewhere_is_left_alone():
    assert "its handle goes into tirx.call_extern" in reasons(handed_on)["t0"]


def test_a_texture_beyond_the_limit_of_the_target_is_left_alone():
    assert reasons(large) == {"t0": "it has 5 x 3 x 3000 texels, and 3000 is more than the target's 2048"}


def test_a_texture_that_is_still_allocated_by_bytes_is_left_alone():
    module = tvm.IRModule({"entry": programs.residual.with_attr("global_symbol", "entry")})
    lowered = tvm.transform.Sequential([tirx.transform.FlattenBuffer()])(module)
    report = analyze_memory(lowered)["entry"]
    assert not report.pools
    assert "a texture that is allocated by bytes is not planned" in report.left_alone[0].reason
