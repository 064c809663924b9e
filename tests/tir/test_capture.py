"""What is read from the IR: who is planned, who is left alone and why, and who is alive when."""

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm
from tvm import te
from tvm.script import tir as T

from tests.tir.running import flat
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import MemPlanError
from tvm_memplan.transform import PlanMemory, RewriteStorage


def reasons(module):
    return {left.name: left.reason for report in analyze_memory(module).values() for left in report.left_alone}


def test_shared_and_local_scopes_are_left_alone_by_name():
    @T.prim_func
    def scopes(A: T.Buffer((8,), "float32")):
        inner = T.decl_buffer((8,), "float32", scope="local")
        shared = T.decl_buffer((8,), "float32", scope="shared")
        for i in range(8):
            inner[i] = A[i]
        for i in range(8):
            shared[i] = inner[i]
        for i in range(8):
            A[i] = shared[i]

    assert reasons(flat(scopes)) == {
        "inner": "scope 'local': it lies in registers, which the target's compiler allocates",
        "shared": "it is shared memory outside a device launch",
    }


def test_a_pointer_that_is_stored_keeps_its_storage_out_of_the_plan():
    @T.prim_func
    def stored(A: T.Buffer((8,), "float32")):
        kept = T.decl_buffer((8,), "float32")
        table = T.decl_buffer((1,), "uint64")
        plain = T.decl_buffer((8,), "float32")
        for i in range(8):
            kept[i] = A[i]
        table[0] = T.reinterpret("uint64", T.address_of(kept[0]))
        for i in range(8):
            plain[i] = kept[i]
        for i in range(8):
            A[i] = plain[i]

    (report,) = analyze_memory(flat(stored)).values()
    assert [left.name for left in report.left_alone] == ["kept"]
    assert {row.name for row in report.allocations} == {"table", "plain"}


def test_a_volatile_buffer_is_left_alone():
    @T.prim_func
    def volatile(A: T.Buffer((8,), "float32")):
        watched = T.decl_buffer((8,), "float32")
        T.attr(watched.data, "volatile_scope", 1)
        for i in range(8):
            watched[i] = A[i]
        for i in range(8):
            A[i] = watched[i]

    assert list(reasons(flat(volatile)).values()) == ["it carries the attribute volatile_scope"]


def asks_for_alignment(alignment):
    @T.prim_func
    def aligned(A: T.Buffer((8,), "float32")):
        small = T.decl_buffer((1,), "float32")
        strict = T.decl_buffer((8,), "float32")
        T.attr(strict.data, "storage_alignment", alignment)
        for i in range(8):
            small[0] = A[i]
        for i in range(8):
            strict[i] = A[i] + small[0]
        for i in range(8):
            A[i] = strict[i] + small[0]

    return flat(aligned)


def test_a_storage_alignment_is_honoured():
    (report,) = analyze_memory(asks_for_alignment(32), alignment=4).values()
    assert {row.name: row.alignment for row in report.allocations} == {"small": 4, "strict": 32}


def test_a_storage_alignment_that_no_arena_is_sure_to_have_is_left_to_its_own_allocation():
    module = asks_for_alignment(256)
    assert list(reasons(module)) == ["strict"]
    after = RewriteStorage()(PlanMemory()(module))
    kept = []

    def visit(node):
        if isinstance(node, tvm.tir.AttrStmt) and node.attr_key == "storage_alignment":
            kept.append((node.node.name, int(node.value)))

    (function,) = after.functions.values()
    tvm.tir.stmt_functor.post_order_visit(function.body, visit)
    assert kept == [("strict", 256)]


def test_a_function_that_is_not_flat_is_left_as_it_is():
    data = te.placeholder((4, 4), name="data")
    middle = te.compute((4, 4), lambda i, j: data[i, j] + 1.0, name="middle")
    out = te.compute((4, 4), lambda i, j: middle[i, j] * 2.0, name="out")
    module = tvm.IRModule({"main": te.create_prim_func([data, out])})
    (report,) = analyze_memory(module).values()
    assert report.allocations == ()


def test_sizes_are_exact_and_absurd_ones_are_named():
    @T.prim_func
    def huge(A: T.Buffer((8,), "float32")):
        small = T.decl_buffer((128,), "int8")
        large = T.allocate([T.int64(2**61 + 128)], "int8", "global")
        view = T.Buffer((T.int64(2**61 + 128),), "int8", data=large)
        for i in range(8):
            small[i] = T.Cast("int8", A[i])
        for i in range(8):
            view[T.Cast("int64", i)] = small[i]
        for i in range(8):
            A[i] = T.Cast("float32", view[T.Cast("int64", i)])

    with pytest.raises(MemPlanError, match=r"2,305,843,009,213,694,080 bytes"):
        analyze_memory(flat(huge))


def test_device_launches_keep_their_own_allocations():
    data = te.placeholder((64,), name="data")
    before = te.compute((64,), lambda i: data[i] + 1.0, name="before")
    middle = te.compute((64,), lambda i: before[i] * 2.0, name="middle")
    out = te.compute((64,), lambda i: middle[63 - i], name="out")
    schedule = te.create_schedule(out.op)
    for stage in (before, middle, out):
        block, thread = schedule[stage].split(stage.op.axis[0], 32)
        schedule[stage].bind(block, te.thread_axis("blockIdx.x"))
        schedule[stage].bind(thread, te.thread_axis("threadIdx.x"))
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def look(function, module, context):
        seen.append(function)
        return function

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, look)]}):
        tvm.lower(schedule, [data, out])
    (report,) = analyze_memory(tvm.IRModule({"main": seen[0]})).values()
    # Both live across launches, on the device's global memory, and are alive together in the second launch.
    assert {row.name for row in report.allocations} == {"before", "middle"}
    assert report.pools[0].planned == 512
