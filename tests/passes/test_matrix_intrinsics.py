"""Tensor-core kernels: matrix intrinsics are handed pointers into shared memory, and follow it into the arena."""

import re

import pytest

pytest.importorskip("tvm", reason="needs a TVM")

import tvm
from tvm import te
from tvm.testing.tir import mma_schedule

from tvm_memplan.analysis import analyze_memory
from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.dialects.line import RELAY, installed_line

if installed_line() == RELAY:
    from tvm import tir
    from tvm.tir.tensor_intrin import cuda

    from tvm_memplan.transform import SharedMemoryPasses
else:
    from tvm.s_tir.tensor_intrin import cuda

    from tests.opencl.building import source_of
    from tvm_memplan.dialects.tirx import before_storage_rewrite
    from tvm_memplan.transform import register_pipeline

#: Bytes of the two tiles: 64 rows of 32 + 8 halves, and 32 rows of 64 + 8; the last row has no padding behind it.
A_BYTES, B_BYTES = 64 * 40 * 2, 32 * 72 * 2


def gemm(scope):
    """A product of two matrices of halves on tensor cores, with both tiles in shared memory of `scope`."""
    a, b = (te.placeholder((256, 256), "float16", name) for name in "AB")
    k = te.reduce_axis((0, 256), "k")
    c = te.compute((256, 256), lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k), "C")

    def fragment(i, j):
        return (i // 16, j // 16, *cuda.shared_16x16_to_ldmatrix_32x8_layout(i % 16, j % 16))

    dynamic = "_DYN" if scope == "shared.dyn" else ""
    schedule = mma_schedule(
        te.create_prim_func([a, b, c]), 16, "float16", False,
        [4, 1, 1, 2, 2], [1, 4, 1, 2, 2], [8, 2, 1], fragment, fragment, fragment,
        getattr(cuda, f"LDMATRIX_f16_A{dynamic}_INTRIN"), getattr(cuda, f"LDMATRIX_f16_B{dynamic}_INTRIN"),
        cuda.MMA_f16f16f32_INTRIN, cuda.MMA_fill_16x16_f32_INTRIN, cuda.MMA_store_16x16_f32_global_INTRIN,
        shared_scope=scope,
    )  # fmt: skip
    return schedule.mod["main"].with_attr("global_symbol", "gemm")


def lowered(function, *passes):
    """The kernel where shared memory is planned, and after some passes."""
    module = tvm.IRModule({"gemm": function})
    if installed_line() != RELAY:
        with tvm.target.Target({"kind": "cuda", "arch": "sm_80"}):
            return before_storage_rewrite(module, passes)["gemm"]
    config = {"tir.add_lower_pass": [(3, each) for each in passes], "tir.disable_storage_rewrite": True}
    with tvm.transform.PassContext(config=config):
        return tvm.lower(module)["gemm"]


@pytest.mark.parametrize("scope", SHARED)
def test_both_tiles_are_planned(scope):
    (report,) = analyze_memory(tvm.IRModule({"gemm": lowered(gemm(scope))}), scopes=SHARED).values()
    assert [row.size for row in report.allocations if row.pool.endswith(scope)] == [A_BYTES, B_BYTES]
    assert {row.scope for row in report.left_alone} == {"warp"}


@pytest.mark.parametrize("scope", SHARED)
@pytest.mark.skipif(installed_line() != RELAY, reason="0.27 shows it in the source")
def test_ldmatrix_points_into_the_arena(scope):
    text = str(lowered(gemm(scope), *SharedMemoryPasses()))
    pointers = re.findall(r"ptx_ldmatrix\(.*?tvm_access_ptr\(.*?\), (\w+), ([^,]*), ", text)
    assert len(pointers) == 2 and len({arena for arena, _ in pointers}) == 1
    assert pointers[0][0].startswith("arena")
    # In halves: B lies behind A.
    assert not pointers[0][1].endswith(f" + {A_BYTES // 2}") and pointers[1][1].endswith(f" + {A_BYTES // 2}")


@pytest.mark.parametrize("scope", SHARED)
@pytest.mark.skipif(installed_line() == RELAY, reason="0.19 makes no source without a CUDA toolkit")
def test_the_source_is_that_of_tvm_but_for_the_arena(scope):
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host="llvm")
    module = tvm.IRModule({"gemm": gemm(scope)})
    theirs, ours = (
        source_of(tvm.compile(module, target, tir_pipeline=pipeline)) for pipeline in ("default", register_pipeline())
    )
    changed = [line for line in ours.splitlines() if line not in theirs.splitlines()]
    arena = [line for line in changed if "arena" in line]
    # Its declaration, a store into each tile, and a pointer into each.
    assert len(arena) == 5 and changed == arena
    assert [f"+ {A_BYTES // 2})" in line for line in arena] == [False, False, True, False, True]


@pytest.mark.skipif(installed_line() != RELAY, reason="0.27 checks the arguments of its intrinsics")
def test_an_intrinsic_that_is_not_known_is_said_by_name():
    def other(call):
        matrix = str(getattr(call.op, "name", "")) == "tir.ptx_ldmatrix"
        return tir.Call(call.dtype, "tir.ptx_mma_sp", list(call.args)) if matrix else call

    function = lowered(gemm("shared"))
    function = function.with_body(tir.stmt_functor.ir_transform(function.body, None, other, ["tir.Call"]))
    (report,) = analyze_memory(tvm.IRModule({"gemm": function}), scopes=SHARED).values()
    reasons = [row.reason for row in report.left_alone if row.scope == "shared"]
    assert len(reasons) == 2 and all("ptx_mma_sp" in reason for reason in reasons)
