"""Workspace that several launches of one function share, on apache-tvm 0.27: same bits, fewer bytes."""

import json

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tvm import tirx
from tvm.script import tirx as T

from tests.opencl.hosts import Program
from tests.tirx.running import flat
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.transform import PlanMemory, RewriteStorage
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE

OURS = (PlanMemory(), RewriteStorage())


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    one = T.alloc_buffer((128,), "float32")
    two = T.alloc_buffer((128,), "float32")
    three = T.alloc_buffer((128,), "float32")
    for i in T.thread_binding(128, "threadIdx.x"):
        one[i] = A[i] * T.float32(2)
    for i in T.thread_binding(128, "threadIdx.x"):
        two[i] = one[127 - i]
    for i in T.thread_binding(128, "threadIdx.x"):
        three[i] = two[127 - i] + A[i]
    for i in T.thread_binding(128, "threadIdx.x"):
        O[i] = three[127 - i]


@T.prim_func(s_tir=True)
def sizes_and_types(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    large = T.alloc_buffer((256,), "float32")
    whole = T.alloc_buffer((128,), "int32")
    small = T.alloc_buffer((64,), "float32")
    rest = T.alloc_buffer((192,), "float32")
    again = T.alloc_buffer((128,), "int32")
    for i in T.thread_binding(128, "threadIdx.x"):
        large[i] = A[i] * T.float32(3)
        large[i + 128] = A[127 - i]
    for i in T.thread_binding(128, "threadIdx.x"):
        whole[i] = T.Cast("int32", large[255 - i] * T.float32(100))
    for i in T.thread_binding(64, "threadIdx.x"):
        small[i] = T.Cast("float32", whole[127 - i])
    for i in T.thread_binding(64, "threadIdx.x"):
        rest[i] = small[63 - i] + T.float32(1)
        rest[i + 64] = small[i]
        rest[i + 128] = small[i] * T.float32(2)
    for i in T.thread_binding(128, "threadIdx.x"):
        again[i] = T.Cast("int32", rest[191 - i])
    for i in T.thread_binding(128, "threadIdx.x"):
        O[i] = T.Cast("float32", again[127 - i])


@T.prim_func(s_tir=True)
def in_rounds(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    carried = T.alloc_buffer((128,), "float32")
    for i in T.thread_binding(128, "threadIdx.x"):
        carried[i] = A[i]
    for k in range(3):
        step = T.alloc_buffer((128,), "float32")
        half = T.alloc_buffer((128,), "float32")
        late = T.alloc_buffer((128,), "float32")
        for i in T.thread_binding(128, "threadIdx.x"):
            step[i] = carried[127 - i] + T.float32(1)
        for i in T.thread_binding(128, "threadIdx.x"):
            half[i] = step[127 - i] * T.float32(0.5)
        for i in T.thread_binding(128, "threadIdx.x"):
            late[i] = half[127 - i]
        for i in T.thread_binding(128, "threadIdx.x"):
            carried[i] = late[i] + A[i]
    for i in T.thread_binding(128, "threadIdx.x"):
        O[i] = carried[i]


# In place, the second block to come would add to what the first one added.
@T.prim_func(s_tir=True)
def each_block_does_all(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    one = T.alloc_buffer((128,), "float32")
    two = T.alloc_buffer((128,), "float32")
    for i in T.thread_binding(128, "threadIdx.x"):
        one[i] = A[i]
    for b in T.thread_binding(4, "blockIdx.x"):
        for i in T.thread_binding(128, "threadIdx.x"):
            two[i] = one[i] + T.float32(1)
    for i in T.thread_binding(128, "threadIdx.x"):
        O[i] = two[i]


PROGRAMS = {
    chain: (1536, 1024),
    sizes_and_types: (3072, 1536),
    in_rounds: (2048, 1536),
    each_block_does_all: (1024, 1024),
}
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.attrs["global_symbol"])


def outputs(program, seed):
    values = np.random.default_rng(seed).normal(size=128).astype("float32")
    return program.run([values, np.full(128, np.nan, "float32")])[1]


@every_program
def test_planned_launches_compute_the_same_bits_in_fewer_bytes(program):
    plain, planned = Program(program, ()), Program(program, OURS)
    for seed in range(3):
        expected = outputs(plain, seed)
        assert not np.isnan(expected).any()
        assert outputs(planned, seed).tobytes() == expected.tobytes()
    reports = analyze_memory(flat(program)).values()
    pools = [pool for report in reports for pool in report.pools]
    naive, least = PROGRAMS[program]
    assert sum(planned.allocated) == sum(pool.planned for pool in pools) == least
    assert sum(pool.naive for pool in pools) == naive
    assert not any(report.left_alone for report in reports)


def test_a_wrong_plan_shows_in_the_output(monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.function_plan.check_plan", lambda plan: None)

    @tirx.transform.prim_func_pass(opt_level=0, name="tests.Sabotage")
    def overlapping(function, module, context):
        recorded = json.loads(str(function.attrs[PLAN_ATTRIBUTE]))
        recorded["regions"] = {r: dict.fromkeys(buffers, 0) for r, buffers in recorded["regions"].items()}
        return function.with_attr(PLAN_ATTRIBUTE, json.dumps({**recorded, "pieces": {}}))

    broken = Program(chain, (PlanMemory(), overlapping, RewriteStorage()))
    assert outputs(broken, 1).tobytes() != outputs(Program(chain, ()), 1).tobytes()


def test_what_launches_see_with_two_types_is_left_alone():
    @T.prim_func(s_tir=True)
    def seen_twice(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
        between = T.alloc_buffer((128,), "float32")
        bits = T.decl_buffer((128,), "int32", data=between.data)
        for i in T.thread_binding(128, "threadIdx.x"):
            between[i] = A[i]
        for i in T.thread_binding(128, "threadIdx.x"):
            O[i] = T.Cast("float32", bits[127 - i])

    (report,) = analyze_memory(flat(seen_twice)).values()
    (left,) = report.left_alone
    assert left.reason == "it is used inside a device launch, with elements of float32 and int32"
