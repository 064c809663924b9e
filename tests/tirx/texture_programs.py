"""A program with textures on TVM 0.27, and the lowering of its Adreno pipeline with passes of ours in it."""

import tvm
from tvm import s_tir, tirx
from tvm.script import tirx as T

TARGET = tvm.target.Target("qcom/adreno-opencl-texture").with_host("llvm")


@T.prim_func
def residual(A: T.Buffer((4, 3, 5, 4), "float32"), B: T.Buffer((4, 3, 5, 4), "float32")):
    """Five textures of several extents; the first is read again by the last step."""
    t0 = T.alloc_buffer((4, 3, 5, 4), "float32", scope="global.texture")
    t1 = T.alloc_buffer((3, 4, 6, 4), "float32", scope="global.texture")
    t2 = T.alloc_buffer((4, 3, 5, 4), "float32", scope="global.texture")
    t3 = T.alloc_buffer((2, 2, 7, 4), "float32", scope="global.texture")
    t4 = T.alloc_buffer((4, 3, 5, 4), "float32", scope="global.texture")
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t0[bx // 3, bx % 3, tx, c] = A[bx // 3, bx % 3, tx, c] * T.float32(2)
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(6, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t1[bx // 4, bx % 4, tx, c] = t0[bx % 4, bx % 3, tx % 5, c] + T.float32(1)
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t2[bx // 3, bx % 3, tx, c] = t1[bx % 3, bx % 4, tx, c] * T.float32(3)
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(7, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t3[bx // 2, bx % 2, tx, c] = t2[bx, bx % 3, tx % 5, c] - T.float32(1)
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                t4[bx // 3, bx % 3, tx, c] = t3[bx % 2, bx % 2, tx, c] * T.float32(0.5)
    for bx in T.thread_binding(12, thread="blockIdx.x"):
        for tx in T.thread_binding(5, thread="threadIdx.x"):
            for c in T.vectorized(4):
                B[bx // 3, bx % 3, tx, c] = t4[bx // 3, bx % 3, tx, c] + t0[bx // 3, bx % 3, tx, c]


def _run(module, passes):
    with TARGET:
        return tvm.transform.Sequential(passes)(module)


def flat(function=residual):
    """The module as passes of ours meet it, right after FlattenBuffer."""
    adreno, transform = s_tir.backend.adreno.transform, s_tir.transform
    passes = [
        tirx.transform.BindTarget(TARGET),
        adreno.TextureFlatten(),
        transform.CanonicalizeLoop(),
        transform.PlanAndUpdateBufferAllocationLocation(),
        transform.ConvertBlocksToOpaque(),
        transform.CompactBufferAllocation(),
        transform.UnifyThreadBinding(),
        transform.LowerMatchBuffer(),
        transform.LowerOpaqueBlock(),
        adreno.InjectTextureAlloc(),
        tirx.transform.FlattenBuffer(),
    ]
    return _run(tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")}), passes)


def split(module):
    """`module` lowered further, up to where host and kernels are apart."""
    passes = [
        tirx.transform.NarrowDataType(32),
        tirx.transform.VectorizeLoop(True),
        tirx.transform.StorageRewrite(),
        tirx.transform.UnrollLoop(),
        tirx.transform.StmtSimplify(),
        tirx.transform.RemoveNoOp(),
        tirx.transform.AnnotateEntryFunc(),
        tirx.transform.SplitHostDevice(),
    ]
    return _run(module, passes)
