"""What is read from the IR: who is planned, who is left alone and why, and who is alive when."""

import re

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import tvm
from tvm import te, tirx
from tvm.script import tirx as T

from tests.tirx.running import flat, module_of
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import MemPlanError


def reasons(module):
    return {left.name: left.reason for report in analyze_memory(module).values() for left in report.left_alone}


def planned(module):
    return {row.name for report in analyze_memory(module).values() for row in report.allocations}


def test_shared_and_local_scopes_are_left_alone_by_name():
    @T.prim_func(s_tir=True)
    def scopes(A: T.Buffer((8,), "float32")):
        inner = T.alloc_buffer((8,), "float32", scope="local")
        shared = T.alloc_buffer((8,), "float32", scope="shared")
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
    @T.prim_func(s_tir=True)
    def stored(A: T.Buffer((8,), "float32")):
        kept = T.alloc_buffer((8,), "float32")
        table = T.alloc_buffer((1,), "uint64")
        plain = T.alloc_buffer((8,), "float32")
        for i in range(8):
            kept[i] = A[i]
        table[0] = T.reinterpret("uint64", T.address_of(kept[0]))
        for i in range(8):
            plain[i] = kept[i]
        for i in range(8):
            A[i] = plain[i]

    assert reasons(flat(stored)) == {"kept": "it is stored in memory"}
    assert planned(flat(stored)) == {"table", "plain"}


def test_an_access_pointer_that_is_stored_is_seen_through():
    @T.prim_func(s_tir=True)
    def stored(A: T.Buffer((8,), "float32")):
        kept = T.alloc_buffer((8,), "float32")
        table = T.alloc_buffer((1,), "uint64")
        for i in range(8):
            kept[i] = A[i]
        table[0] = T.reinterpret("uint64", kept.access_ptr("r"))
        for i in range(8):
            A[i] = kept[i]

    assert list(reasons(flat(stored))) == ["kept"]


def test_a_pointer_that_is_computed_keeps_its_storage_out_of_the_plan():
    @T.prim_func(s_tir=True)
    def computed(A: T.Buffer((8,), "float32")):
        one = T.alloc_buffer((8,), "float32")
        two = T.alloc_buffer((8,), "float32")
        for i in range(8):
            one[i] = A[i]
        for i in range(8):
            two[i] = one[7 - i]
        upper: T.let = T.ptr_byte_offset(two.data, 16, "float32")
        view = T.decl_buffer((4,), "float32", data=upper)
        for i in range(4):
            A[i] = view[i]

    assert reasons(flat(computed)) == {"two": "pointer 'upper' is computed from it"}


def test_a_volatile_buffer_is_left_alone():
    buffer = tirx.decl_buffer([8], "float32", "watched", layout=None)
    index = tirx.Var("i", "int32")
    out = tirx.decl_buffer([8], "float32", "out", layout=None)
    body = [
        tirx.AllocBuffer(buffer, {"tirx.volatile": True}),
        tirx.BufferStore(buffer, tirx.const(1.0, "float32"), [0]),
        tirx.For(index, 0, 8, tirx.ForKind.SERIAL, tirx.BufferStore(out, tirx.BufferLoad(buffer, [0]), [index])),
    ]
    module = module_of(tirx.PrimFunc([out], tirx.SeqStmt(body)))
    assert reasons(module) == {"watched": "it carries the annotation tirx.volatile"}


def test_a_data_alignment_is_honoured():
    @T.prim_func(s_tir=True)
    def aligned(A: T.Buffer((8,), "float32")):
        small = T.alloc_buffer((1,), "float32")
        strict = T.alloc_buffer((8,), "float32", align=256)
        for i in range(8):
            small[0] = A[i]
        for i in range(8):
            strict[i] = A[i] + small[0]
        for i in range(8):
            A[i] = strict[i] + small[0]

    (report,) = analyze_memory(flat(aligned), alignment=4).values()
    assert {row.name: row.alignment for row in report.allocations} == {"small": 4, "strict": 256}


@pytest.mark.parametrize(
    ("dtype", "reason"),
    [
        ("bfloat16", "may widen elements of type bfloat16"),
        ("float8_e4m3fn", "may widen elements of type float8_e4m3fn"),
        ("float32x4", r"its elements are vectors \(float32x4\)"),
        ("int4", "stored differently from target to target"),
        ("int8x3", "which is not a power of two"),
    ],
)
def test_element_types_that_cannot_share_are_left_alone(dtype, reason):
    buffer = tirx.decl_buffer([8], dtype, "odd", layout=None)
    other = tirx.decl_buffer([8], dtype, "other", layout=None)
    body = [tirx.AllocBuffer(buffer), tirx.BufferStore(other, tirx.BufferLoad(buffer, [0]), [1])]
    found = reasons(module_of(tirx.PrimFunc([other], tirx.SeqStmt(body))))
    assert list(found) == ["odd"]
    assert re.search(reason, found["odd"])


def test_what_is_allocated_in_a_vectorised_loop_is_left_alone():
    @T.prim_func(s_tir=True)
    def lanes(A: T.Buffer((8,), "float32")):
        for i in T.vectorized(8):
            own = T.alloc_buffer((1,), "float32")
            own[0] = A[i] * T.float32(2)
            A[i] = own[0]

    assert reasons(flat(lanes)) == {"own": "it is allocated inside a vectorised loop"}


def test_what_launches_allocate_is_left_alone_and_what_they_share_is_not():
    @T.prim_func(s_tir=True)
    def launched(A: T.Buffer((32,), "float32")):
        across = T.alloc_buffer((32,), "float32")
        for i in T.thread_binding(32, "threadIdx.x"):
            own = T.alloc_buffer((1,), "float32")
            own[0] = A[i] * T.float32(2)
            across[i] = own[0]
        for i in T.thread_binding(32, "threadIdx.x"):
            A[i] = across[31 - i]

    assert reasons(flat(launched)) == {"own": "it is allocated inside a device launch"}
    (report,) = analyze_memory(flat(launched)).values()
    assert [pool.pool for pool in report.pools] == ["global.float32"]


def test_a_parallel_loop_is_a_region_of_its_own():
    @T.prim_func(s_tir=True)
    def workers(A: T.Buffer((32,), "float32")):
        shared = T.alloc_buffer((32,), "float32")
        for i in range(32):
            shared[i] = A[31 - i]
        for r in T.parallel(4):
            own = T.alloc_buffer((8,), "float32")
            for i in range(8):
                own[i] = shared[r * 8 + i]
            for i in range(8):
                A[r * 8 + i] = own[7 - i]

    reports = analyze_memory(flat(workers))
    assert {name: {row.name for row in report.allocations} for name, report in reports.items()} == {
        "entry": {"shared"},
        "entry/r": {"own"},
    }


def test_a_function_that_is_not_lowered_is_left_as_it_is():
    data = te.placeholder((4, 4), name="data")
    middle = te.compute((4, 4), lambda i, j: data[i, j] + 1.0, name="middle")
    out = te.compute((4, 4), lambda i, j: middle[i, j] * 2.0, name="out")
    (report,) = analyze_memory(tvm.IRModule({"main": te.create_prim_func([data, out])})).values()
    assert report.allocations == ()


def test_a_function_that_is_not_flat_is_left_alone_and_named():
    @T.prim_func(s_tir=True)
    def two_dimensions(A: T.Buffer((4, 4), "float32")):
        square = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            square[i, j] = A[j, i]
        for i, j in T.grid(4, 4):
            A[i, j] = square[i, j]

    (reason,) = reasons(module_of(two_dimensions)).values()
    assert "not flat" in reason


def test_sizes_are_exact_and_absurd_ones_are_named():
    @T.prim_func(s_tir=True)
    def huge(A: T.Buffer((8,), "float32")):
        small = T.alloc_buffer((128,), "int8")
        large = T.alloc_buffer((T.int64(2**61 + 128),), "int8")
        for i in range(8):
            small[i] = T.Cast("int8", A[i])
        for i in range(8):
            large[T.Cast("int64", i)] = small[i]
        for i in range(8):
            A[i] = T.Cast("float32", large[T.Cast("int64", i)])

    with pytest.raises(MemPlanError, match=r"2,305,843,009,213,694,080 bytes"):
        analyze_memory(flat(huge))


def test_a_long_chain_of_operators_is_left_alone_and_not_an_error():
    buffer, out = (tirx.decl_buffer([8], "float32", name, layout=None) for name in ("deep", "out"))
    value = tirx.BufferLoad(buffer, [0])
    for _ in range(3000):
        value = value + tirx.BufferLoad(buffer, [1])
    body = [tirx.AllocBuffer(buffer), tirx.BufferStore(out, value, [0])]
    module = module_of(tirx.PrimFunc([out], tirx.SeqStmt(body)))
    assert reasons(module) == {"deep": "an expression or statement is nested too deeply"}


def test_a_view_that_is_declared_twice_for_different_storage_keeps_both_out_of_the_plan():
    one, two, view, out = (tirx.decl_buffer([8], "float32", n, layout=None) for n in ("one", "two", "view", "out"))
    body = [tirx.AllocBuffer(one), tirx.AllocBuffer(two)]
    for storage in (one, two):
        body.append(tirx.DeclBuffer(view, data=storage.data))
        body.append(tirx.BufferStore(view, tirx.const(1.0, "float32"), [0]))
        body.append(tirx.BufferStore(out, tirx.BufferLoad(view, [0]), [0]))
    module = module_of(tirx.PrimFunc([out], tirx.SeqStmt(body)))
    assert reasons(module) == dict.fromkeys(("one", "two"), "pointer 'view' is bound at two places")


def test_buffers_in_the_list_of_an_attribute_are_left_alone():
    buffer, out = (tirx.decl_buffer([8], "float32", name, layout=None) for name in ("listed", "out"))
    store = tirx.BufferStore(out, tirx.BufferLoad(buffer, [0]), [0])
    body = [tirx.AllocBuffer(buffer), tirx.AttrStmt([buffer], "of_several", tirx.const(1, "int32"), store)]
    module = module_of(tirx.PrimFunc([out], tirx.SeqStmt(body)))
    assert reasons(module) == {"listed": "it carries the attribute of_several"}
