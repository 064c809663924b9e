"""The nodes of TVM 0.19's TIR that random programs are made of."""

import tvm
from tvm import tir


class Nodes:
    """A method per kind of node; see `tests.random_programs`."""

    jumps = False

    def parameter(self, name, length):
        return tir.decl_buffer([length], "int32", name)

    def buffer(self, name, dtype, length):
        data = tir.Var(name, tvm.ir.PointerType(tvm.ir.PrimType(dtype), "global"))
        return tir.decl_buffer([length], dtype, name, data=data)

    def dtype(self, buffer):
        return buffer.dtype

    def function(self, first, second, body):
        handles = [tir.Var("a", "handle"), tir.Var("o", "handle")]
        function = tir.PrimFunc(handles, body, None, dict(zip(handles, (first, second))))
        return function.with_attr("global_symbol", "entry").with_attr("tir.noalias", True)

    def allocated(self, buffers, parts):
        body = tir.SeqStmt(parts)
        for buffer in buffers:
            body = tir.Allocate(buffer.data, buffer.dtype, buffer.shape, tir.IntImm("bool", 1), body)
        return body

    def viewed(self, target, dtype, length, body):
        return body(tir.decl_buffer([length], dtype, f"{target.name}_bytes", data=target.data))

    def pointed(self, target, start, length, name, body):
        pointer = tir.Var(name, target.data.type_annotation)
        view = tir.decl_buffer([length], target.dtype, "part", data=pointer)
        address = tir.Call("handle", "tir.address_of", [tir.BufferLoad(target, [tir.IntImm("int32", start)])])
        return tir.LetStmt(pointer, address, body(view))

    def sequence(self, parts):
        return tir.SeqStmt([*parts, tir.Evaluate(0)])

    def loop(self, name, extent, body, kind):
        index = tir.Var(name, "int32")
        return tir.For(index, 0, extent, tir.ForKind[kind.upper()], body(index))

    def branch(self, condition, then, orelse):
        return tir.IfThenElse(condition, then, orelse)

    def number(self, value):
        return tir.const(value, "int32")

    def exp(self, value):
        return tir.exp(value)

    def remainder(self, value, by):
        return tir.truncmod(value, tir.const(by, "int32"))

    def cast(self, dtype, value):
        return value if value.dtype == dtype else tir.Cast(dtype, value)

    def load(self, buffer, index):
        return tir.BufferLoad(buffer, [index])

    def store(self, buffer, value, index):
        return tir.BufferStore(buffer, value, [index])
