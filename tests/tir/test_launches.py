"""Launches on TVM 0.19: intrinsics that carry pointers, and ThreadSync running again behind the passes."""

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm
from tvm.script import tir as T

from tvm_memplan.analysis import analyze_memory
from tvm_memplan.transform import PlanMemory, RewriteStorage, SharedMemoryPasses

SHARED = ("shared", "shared.dyn")


def lowered(function):
    module = tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")})
    passes = [tvm.tir.transform.LowerOpaqueBlock(), tvm.tir.transform.FlattenBuffer()]
    return tvm.transform.Sequential(passes)(module)


def test_nothing_is_in_place_that_several_blocks_write():
    """Each block does all: in place, the second one to come would add to what the first one added."""

    @T.prim_func
    def each_block_does_all(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
        one = T.decl_buffer((128,), "float32")
        two = T.decl_buffer((128,), "float32")
        for i in T.thread_binding(128, "threadIdx.x"):
            one[i] = A[i]
        for b in T.thread_binding(4, "blockIdx.x"):
            for i in T.thread_binding(128, "threadIdx.x"):
                two[i] = one[i] + T.float32(1)
        for i in T.thread_binding(128, "threadIdx.x"):
            O[i] = two[i]

    flat = lowered(each_block_does_all)
    launched = tvm.transform.Sequential([tvm.tir.transform.UnifyThreadBinding()])(flat)
    for module in (flat, launched):
        (report,) = analyze_memory(module).values()
        assert [pool.planned for pool in report.pools] == [1024]


def copied(waits):
    @T.prim_func
    def kernel(A: T.Buffer((128,), "float16"), O: T.Buffer((128,), "float16")):
        for tx in T.thread_binding(16, "threadIdx.x"):
            first = T.decl_buffer((128,), "float16", scope="shared")
            second = T.decl_buffer((128,), "float16", scope="shared")
            T.evaluate(T.ptx_cp_async(first.data, tx * 8, A.data, tx * 8, 16, dtype="float16"))
            T.evaluate(T.ptx_commit_group(dtype=""))
            T.evaluate(T.ptx_wait_group(waits, dtype=""))
            T.evaluate(T.tvm_storage_sync("shared"))
            O[tx] = first[127 - tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            second[tx] = A[tx]
            O[tx + 16] = second[tx]

    return lowered(kernel)


def test_a_buffer_that_a_copy_writes_is_alive_until_all_copies_are_waited_for():
    """Case 39 of `tests.cases`."""
    sizes = {}
    for waits in (0, 1):
        (report,) = analyze_memory(copied(waits)).values()
        assert report.left_alone == ()
        sizes[waits] = report.pools[0].planned
    assert sizes == {0: 256, 1: 512}


def test_a_copy_writes_where_the_buffer_lies_in_the_arena():
    """Case 39 of `tests.cases`."""
    passes = [PlanMemory(scopes=SHARED), RewriteStorage()]
    (report,) = analyze_memory(copied(1)).values()
    at = {row.name: row.offset // 2 for row in report.allocations}["first"]
    text = tvm.transform.Sequential(passes)(copied(1)).script()
    (line,) = (line for line in text.splitlines() if "ptx_cp_async" in line)
    assert f"T.address_of(arena_launch_shared_float16[{at}]), tx * 8" in line.replace("threadIdx_x", "tx")


@T.prim_func
def under_a_condition(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, "threadIdx.x"):
        first = T.decl_buffer((64,), "float32", scope="shared")
        second = T.decl_buffer((64,), "float32", scope="shared")
        if tx < 32:
            first[tx] = A[tx]
            second[tx] = A[tx + 32]
            O[tx] = first[tx] + second[tx]


def test_where_tvm_could_not_run_thread_sync_again_memory_stays_as_it_was():
    sync = [tvm.tir.transform.ThreadSync(scope) for scope in SHARED]
    module = lowered(under_a_condition)
    plain = tvm.transform.Sequential(sync)(module)
    forced = tvm.transform.Sequential([PlanMemory(scopes=SHARED), RewriteStorage()])(plain)
    with pytest.raises(tvm.TVMError, match="Cannot insert syncs inside condition"):
        tvm.transform.Sequential(sync)(forced)
    passes = SharedMemoryPasses()
    tvm.ir.assert_structural_equal(tvm.transform.Sequential(passes)(module), plain)


def test_a_wait_is_for_what_was_committed():
    @T.prim_func
    def kernel(A: T.Buffer((128,), "float16"), O: T.Buffer((128,), "float16")):
        for tx in T.thread_binding(16, "threadIdx.x"):
            first = T.decl_buffer((128,), "float16", scope="shared")
            second = T.decl_buffer((128,), "float16", scope="shared")
            T.evaluate(T.ptx_cp_async(first.data, tx * 8, A.data, tx * 8, 16, dtype="float16"))
            T.evaluate(T.ptx_wait_group(0, dtype=""))
            T.evaluate(T.tvm_storage_sync("shared"))
            second[tx] = A[tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            O[tx + 16] = second[15 - tx]
            T.evaluate(T.ptx_commit_group(dtype=""))
            T.evaluate(T.ptx_wait_group(0, dtype=""))

    (report,) = analyze_memory(lowered(kernel)).values()
    assert report.pools[0].planned == 512
