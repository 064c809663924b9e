"""Addresses and indices: what may move is moved to the right byte, what may not is left alone.

Each program copies A to x, x backwards to y, does something with addresses, and puts x and y into O.
"""

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import numpy as np
import tvm
from tvm import tir

from tests.tir.running import Poison, flat, run
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.transform import PlanMemory, RewriteStorage

N = 9  # an odd number of floats, so that what lies behind them starts at no multiple of eight

_seen: list[bytes] = []


@tvm.register_func("tvm_memplan.tests.seen", override=True)
def _note(array):
    _seen.append(array.numpy().tobytes())
    return 0


def pointer(name, dtype="float32"):
    return tir.Var(name, tvm.ir.PointerType(tvm.ir.PrimType(dtype), "global"))


def array(name, dtype="float32", size=N, data=None):
    return tir.decl_buffer([size], dtype, name, data=pointer(name, dtype) if data is None else data)


def loop(extent, body, kind=tir.ForKind.SERIAL, dtype="int32"):
    index = tir.Var("i", dtype)
    return tir.For(index, tir.const(0, dtype), tir.const(extent, dtype), kind, body(index))


def allocated(body, *buffers, **options):
    for buffer in buffers:
        always = tir.IntImm("bool", 1)
        body = tir.Allocate(buffer.data, buffer.dtype, list(buffer.shape), always, body, **options)
    return body


def address(buffer, *indices):
    return tir.Call("handle", "tir.address_of", [tir.BufferLoad(buffer, list(indices))])


def access_pointer(dtype, data, offset):
    return tir.Call("handle", "tir.tvm_access_ptr", [tir.Call(dtype, "tir.type_annotation", []), data, offset, 1, 1])


def show(place):
    """Hand one float at `place` to a packed function that notes its bytes."""
    shape = tir.Call("handle", "tir.tvm_stack_make_shape", [tir.const(1, "int64")])
    made = tir.Call("handle", "tir.tvm_stack_make_array", [place, shape, tir.const(0, "int64"), 1, tir.const(0.0), 0])
    return tir.Evaluate(tir.Call("int32", "tir.tvm_call_packed", [tir.StringImm("tvm_memplan.tests.seen"), made]))


def function(body, source, result):
    handles = [tir.Var("a", "handle"), tir.Var("o", "handle")]
    return tir.PrimFunc(handles, body, None, dict(zip(handles, (source, result))))


def program(between, *more):
    """The program described above; `between` gets the buffers x and y and returns statements."""
    source, result, x, y = array("A"), array("O"), array("x"), array("y")
    body = tir.SeqStmt(
        [
            loop(N, lambda i: tir.BufferStore(x, source[i] + 1.0, [i])),
            loop(N, lambda i: tir.BufferStore(y, x[N - 1 - i] * 2.0, [i])),
            *between(x, y),
            loop(N, lambda i: tir.BufferStore(result, x[i] + y[i], [i])),
        ]
    )
    return function(allocated(body, y, x, *more), source, result)


def left(program, alignment=4):
    (report,) = analyze_memory(flat(program), alignment=alignment).values()
    return {row.name: row.reason for row in report.left_alone}


def computed(program, passes):
    module = tvm.transform.Sequential([*passes])(flat(program))
    with tvm.transform.PassContext(config={"tir.disable_storage_rewrite": True}):
        built = tvm.build(module, target="llvm -opt-level=0")
    _seen.clear()
    values = np.random.default_rng(3).normal(size=N).astype("float32")
    results, _ = run(built, [values, np.zeros(N, "float32")])
    return results[1].tobytes(), list(_seen)


def assert_right(program, alignment=4):
    assert computed(program, (PlanMemory(alignment=alignment), RewriteStorage(), Poison)) == computed(program, ())


def test_an_address_through_wider_elements_aligns_the_buffer_for_them():
    def between(x, y):
        return [show(address(array("wide", "float64", N // 2, y.data), 1))]

    wide = program(between)
    assert left(wide) == {}
    assert_right(wide)


def test_an_access_pointer_through_wider_elements_aligns_the_buffer_for_them():
    wide = program(lambda x, y: [show(access_pointer("float64", y.data, 1))])
    assert left(wide) == {}
    assert_right(wide)


def test_a_bound_address_through_wider_elements_aligns_the_buffer_for_them():
    def between(x, y):
        p = pointer("p")
        return [tir.LetStmt(p, address(array("wide", "float64", N // 2, y.data), 1), show(p))]

    wide = program(between)
    assert left(wide) == {}
    assert_right(wide)


def test_an_access_pointer_that_counts_in_other_elements_than_its_pointer_is_left_alone():
    def between(x, y):
        p = pointer("p")
        return [tir.LetStmt(p, address(y, 2), show(access_pointer("int8", p, 4)))]

    bytes_of_floats = program(between)
    assert list(left(bytes_of_floats)) == ["y"]
    assert_right(bytes_of_floats)


def test_an_access_pointer_counts_from_the_planned_place():
    def between(x, y):
        p = pointer("p")
        return [
            show(access_pointer("float32", y.data, 3)),
            tir.LetStmt(p, address(y, 2), show(access_pointer("float32", p, 4))),
        ]

    assert left(program(between)) == {}
    assert_right(program(between))


@pytest.mark.parametrize("dtype", ["int4", "float32x3"])
@pytest.mark.parametrize("bound", [False, True])
def test_an_address_through_elements_of_no_agreed_size_is_left_alone(dtype, bound):
    def between(x, y):
        place = address(array("odd", dtype, 2, y.data), 1)
        p = pointer("p")
        return [tir.LetStmt(p, place, show(p)) if bound else show(place)]

    assert left(program(between)) == {"y": f"it is viewed with elements of type {dtype}"}


def test_an_address_through_a_view_that_is_not_flat_is_left_alone():
    def between(x, y):
        view = tir.decl_buffer([3, 3], "float32", "square", data=y.data)
        return [show(address(view, 1, 0))]

    (report,) = analyze_memory(tvm.IRModule({"entry": program(between)})).values()
    assert [row.name for row in report.left_alone] == ["y"]


def test_an_address_through_a_view_with_an_element_offset_is_left_alone():
    def between(x, y):
        return [show(address(tir.decl_buffer([4], "float32", "later", data=y.data, elem_offset=4), 0))]

    assert list(left(program(between))) == ["y"]


@pytest.mark.parametrize("how", ["stored", "bound"])
def test_an_address_that_is_kept_as_a_number_keeps_its_storage_out_of_the_plan(how):
    kept = array("kept", "uint64", 1)

    def between(x, y):
        number = tir.Call("uint64", "tir.reinterpret", [access_pointer("float32", y.data, 0)])
        if how == "stored":
            return [tir.BufferStore(kept, number, [0])]
        return [tir.LetStmt(tir.Var("number", "uint64"), number, tir.Evaluate(0))]

    assert list(left(program(between, kept))) == ["y"]


def test_a_pointer_variable_with_two_targets_is_left_alone():
    def between(x, y):
        p = pointer("p")
        through = array("through", size=2, data=p)
        write = tir.BufferStore(through, tir.const(5.0), [1])
        return [tir.LetStmt(p, address(x, 2), write), tir.LetStmt(p, address(y, 1), write)]

    assert set(left(program(between))) == {"x", "y"}


def test_an_address_of_several_elements_is_left_alone():
    def between(x, y):
        p = pointer("p")
        return [tir.LetStmt(p, address(y, tir.Ramp(2, 1, 4)), show(p))]

    assert list(left(program(between))) == ["y"]


def test_an_annotated_allocation_is_left_alone():
    source, y = array("A"), array("y")
    body = tir.SeqStmt(
        [
            loop(N, lambda i: tir.BufferStore(y, source[i], [i])),
            loop(N, lambda i: tir.BufferStore(source, y[N - 1 - i], [i])),
        ]
    )
    mark = {"disable_lower_builtin": tir.IntImm("bool", 1)}
    annotated = function(allocated(body, y, annotations=mark), source, array("O"))
    assert left(annotated) == {"y": "it carries the annotation disable_lower_builtin"}


def test_an_allocation_of_negative_extent_is_left_alone():
    x = array("x", size=-4)
    nothing = function(allocated(tir.Evaluate(0), x), array("A"), array("O"))
    assert left(nothing) == {"x": "it holds no element"}


def test_a_loop_that_counts_in_few_bits_reaches_the_end_of_the_arena():
    source, result, x, y = array("A", size=300), array("O", size=300), array("x", size=300), array("y", size=100)
    across = array("z", size=400)  # over both, so that they lie in one allocation
    body = tir.SeqStmt(
        [
            loop(300, lambda i: tir.BufferStore(x, source[i], [i])),
            loop(100, lambda i: tir.BufferStore(y, tir.BufferLoad(x, [i]), [i]), dtype="int8"),
            loop(300, lambda i: tir.BufferStore(result, x[i] + y[i % 100], [i])),
            loop(300, lambda i: tir.BufferStore(across, result[i] * 2.0, [i])),
            loop(300, lambda i: tir.BufferStore(result, across[i], [i])),
        ]
    )
    # FlattenBuffer would widen the index by itself; flat functions need not come from there.
    narrow = tvm.IRModule(
        {"entry": function(allocated(body, x, y, across), source, result).with_attr("global_symbol", "entry")}
    )
    built = tvm.build(RewriteStorage()(PlanMemory()(narrow)), target="llvm")
    values = np.random.default_rng(4).normal(size=300).astype("float32")
    (_, got), _ = run(built, [values, np.zeros(300, "float32")])
    np.testing.assert_array_equal(got, (values + np.tile(values[:100], 3)) * 2)


def test_an_arena_may_be_larger_than_its_indices_can_count():
    size = 1_600_000_000
    source, x, y = array("A"), array("x", "int8", size), array("y", "int8", size)
    across = array("z", "int16", size)  # over both, so that they lie in one allocation
    body = tir.SeqStmt(
        [
            loop(N, lambda i: tir.BufferStore(x, tir.const(1, "int8"), [i])),
            loop(N, lambda i: tir.BufferStore(y, x[i], [i])),
            show(access_pointer("int8", y.data, 1_500_000_000)),
            loop(N, lambda i: tir.BufferStore(source, tir.Cast("float32", x[i] + y[i]), [i])),
            loop(N, lambda i: tir.BufferStore(across, tir.Cast("int16", source[i]), [i])),
            loop(N, lambda i: tir.BufferStore(source, tir.Cast("float32", across[i]), [i])),
        ]
    )
    (after,) = RewriteStorage()(
        PlanMemory()(flat(function(allocated(body, x, y, across), source, array("O"))))
    ).functions.values()
    found = {}

    def visit(node):
        if isinstance(node, tir.Allocate):
            found["extent"] = node.extents[0]
        if isinstance(node, tir.Call) and node.op.name == "tir.tvm_access_ptr":
            found["offset"] = node.args[2]

    tir.stmt_functor.post_order_visit(after.body, visit)
    assert (found["extent"].dtype, int(found["extent"])) == ("int64", size)  # of int16
    assert (found["offset"].dtype, int(found["offset"]) % size) == ("int64", 1_500_000_000)


def test_a_serial_loop_with_the_variable_of_a_parallel_one_gets_no_arena():
    source, result, x = array("A"), array("O"), array("x")
    index = tir.Var("i", "int32")
    inner = tir.SeqStmt([tir.BufferStore(x, source[index], [index]), tir.BufferStore(result, x[index], [index])])
    body = tir.SeqStmt(
        [
            tir.For(index, 0, N, tir.ForKind.PARALLEL, allocated(inner, x)),
            tir.For(index, 0, N, tir.ForKind.SERIAL, tir.BufferStore(result, result[index] * 2.0, [index])),
        ]
    )
    (after,) = RewriteStorage()(PlanMemory()(flat(function(body, source, result)))).functions.values()
    arenas = []

    def visit(node):
        if isinstance(node, tir.Allocate):
            arenas.append(node.buffer_var.name)

    tir.stmt_functor.post_order_visit(after.body, visit)
    assert arenas == ["arena_i"]
