"""Lowered programs in TVMScript: an AOT main function and its operators, as the executor would make them."""

import tvm
from tvm.script import tir as T


@tvm.script.ir_module
class CarriedThroughWhile:
    """`a` is read again by the next round of the while loop, after `b` was written; both lie outside of it."""

    @T.prim_func
    def __tvm_main__(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "__tvm_main__", "runner_function": True, "target": T.target("c")})
        x_buffer = T.match_buffer(x, (8,), "float32", align=16)
        y_buffer = T.match_buffer(y, (8,), "float32", align=16)
        T.evaluate(T.call_extern("op", x_buffer.data, y_buffer.data, dtype="int32"))

    @T.prim_func
    def op(p0: T.Buffer((8,), "float32"), out: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "op", "target": T.target("c"), "tir.noalias": True})
        a_data = T.allocate([8], "float32", "global")
        a = T.Buffer((8,), "float32", data=a_data)
        b_data = T.allocate([8], "float32", "global")
        b = T.Buffer((8,), "float32", data=b_data)
        n_data = T.allocate([1], "int32", "global")
        n = T.Buffer((1,), "int32", data=n_data)
        for i in range(8):
            a[i] = p0[i] + T.float32(1)
        n[0] = 0
        while n[0] < 3:
            out[n[0]] = a[n[0]]
            b[0] = T.float32(2)
            out[n[0]] = out[n[0]] + b[0]
            n[0] = n[0] + 1


@tvm.script.ir_module
class CarriedThroughNestedLoop:
    """`a` is read by an inner loop in every round of the outer one; `b` is born after that, inside the outer."""

    @T.prim_func
    def __tvm_main__(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "__tvm_main__", "runner_function": True, "target": T.target("c")})
        x_buffer = T.match_buffer(x, (8,), "float32", align=16)
        y_buffer = T.match_buffer(y, (8,), "float32", align=16)
        T.evaluate(T.call_extern("op", x_buffer.data, y_buffer.data, dtype="int32"))

    @T.prim_func
    def op(p0: T.Buffer((8,), "float32"), out: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "op", "target": T.target("c"), "tir.noalias": True})
        a_data = T.allocate([8], "float32", "global")
        a = T.Buffer((8,), "float32", data=a_data)
        for i in range(8):
            a[i] = p0[i] + T.float32(1)
        for r in range(4):
            for i in range(8):
                out[i] = out[i] + a[i]
            b_data = T.allocate([8], "float32", "global")
            b = T.Buffer((8,), "float32", data=b_data)
            b[0] = T.float32(3)
            out[r] = out[r] + b[0]


@tvm.script.ir_module
class TwoCalls:
    """One operator called twice, with workspace of its own; `sid_1` has to survive the second call."""

    @T.prim_func
    def __tvm_main__(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "__tvm_main__", "runner_function": True, "target": T.target("c")})
        x_buffer = T.match_buffer(x, (8,), "float32", align=16)
        y_buffer = T.match_buffer(y, (8,), "float32", align=16)
        sid_1 = T.allocate([32], "int8", "global.workspace")
        sid_2 = T.allocate([32], "int8", "global.workspace")
        T.evaluate(T.call_extern("double", x_buffer.data, sid_1, dtype="int32"))
        T.evaluate(T.call_extern("double", sid_1, sid_2, dtype="int32"))
        T.evaluate(T.call_extern("add", sid_1, sid_2, y_buffer.data, dtype="int32"))

    @T.prim_func
    def double(p0: T.Buffer((8,), "float32"), out: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "double", "target": T.target("c"), "tir.noalias": True})
        w_data = T.allocate([8], "float32", "global")
        w = T.Buffer((8,), "float32", data=w_data, align=32)
        for i in range(8):
            w[i] = p0[i] * T.float32(2)
        for i in range(8):
            out[i] = w[i]

    @T.prim_func
    def add(p0: T.Buffer((8,), "float32"), p1: T.Buffer((8,), "float32"), out: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "add", "target": T.target("c"), "tir.noalias": True})
        for i in range(8):
            out[i] = p0[i] + p1[i]


@tvm.script.ir_module
class Pointers:
    """`a` is reached by a let-bound pointer after its last plain use; `m` by the address given to an extern call."""

    @T.prim_func
    def __tvm_main__(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "__tvm_main__", "runner_function": True, "target": T.target("c")})
        x_buffer = T.match_buffer(x, (8,), "float32", align=16)
        y_buffer = T.match_buffer(y, (8,), "float32", align=16)
        T.evaluate(T.call_extern("op", x_buffer.data, y_buffer.data, dtype="int32"))

    @T.prim_func
    def op(p0: T.Buffer((8,), "float32"), out: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "op", "target": T.target("c"), "tir.noalias": True})
        a_data = T.allocate([8], "float32", "global")
        a = T.Buffer((8,), "float32", data=a_data)
        m_data = T.allocate([8], "float32", "global")
        m = T.Buffer((8,), "float32", data=m_data)
        for i in range(8):
            a[i] = p0[i]
        with T.LetStmt(T.address_of(a[4]), type_annotation=T.handle("float32").type_annotation) as half:
            h = T.Buffer((4,), "float32", data=half)
            m[0] = p0[0]
            T.evaluate(T.call_extern("unknown", m_data, dtype="int32"))
            out[0] = m[1] + h[1]


@tvm.script.ir_module
class NumberBetweenBuffers:
    """The operator takes a number between its input and its output."""

    @T.prim_func
    def __tvm_main__(x: T.handle, y: T.handle):
        T.func_attr({"global_symbol": "__tvm_main__", "runner_function": True, "target": T.target("c")})
        x_buffer = T.match_buffer(x, (8,), "float32", align=16)
        y_buffer = T.match_buffer(y, (8,), "float32", align=16)
        sid_1 = T.allocate([32], "int8", "global.workspace")
        T.evaluate(T.call_extern("shift", x_buffer.data, 3, sid_1, dtype="int32"))
        T.evaluate(T.call_extern("shift", sid_1, 4, y_buffer.data, dtype="int32"))

    @T.prim_func
    def shift(p0: T.handle, by: T.int32, out: T.handle):
        T.func_attr({"global_symbol": "shift", "target": T.target("c"), "tir.noalias": True})
        source = T.match_buffer(p0, (8,), "float32", align=16)
        result = T.match_buffer(out, (8,), "float32", align=16)
        for i in range(8):
            result[i] = source[i] + T.Cast("float32", by)
