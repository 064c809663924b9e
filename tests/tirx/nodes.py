"""The nodes of tirx that random programs are made of."""

from tvm import ir, tirx


class Nodes:
    """A method per kind of node; see `tests.random_programs`."""

    jumps = True

    def parameter(self, name, length):
        return self.buffer(name, "int32", length)

    def buffer(self, name, dtype, length):
        return tirx.decl_buffer([length], dtype, name, layout=None)

    def dtype(self, buffer):
        return str(buffer.dtype)

    def function(self, first, second, body):
        function = tirx.PrimFunc([first, second], body)
        return function.with_attr("global_symbol", "entry").with_attr("s_tir", True).with_attr("tirx.noalias", True)

    def allocated(self, buffers, parts):
        # Storage ends where the branch or loop does that holds it; a scope in a scope ends nothing here.
        return tirx.SeqStmt([*(tirx.AllocBuffer(buffer) for buffer in buffers), *parts])

    def viewed(self, target, dtype, length, body):
        view = tirx.decl_buffer([length], dtype, f"{target.name}_bytes", layout=None)
        return tirx.SeqStmt([tirx.DeclBuffer(view, data=target.data), body(view)])

    def pointed(self, target, start, length, name, body):
        address = tirx.address_of(tirx.BufferLoad(target, [tirx.IntImm("int32", start)]))
        pointer = tirx.Var(name, address.ty)
        view = tirx.decl_buffer([length], target.dtype, "part", layout=None)
        return tirx.SeqStmt([tirx.Bind(pointer, address), tirx.DeclBuffer(view, data=pointer), body(view)])

    def sequence(self, parts):
        return tirx.SeqStmt([*parts, tirx.Evaluate(tirx.const(0, "int32"))])

    def loop(self, name, extent, body, kind):
        index = tirx.Var(name, "int32")
        return tirx.For(index, 0, extent, tirx.ForKind[kind.upper()], body(index))

    def branch(self, condition, then, orelse):
        return tirx.IfThenElse(condition, then, orelse)

    def jump(self, leaves):
        name = "tirx.break_loop" if leaves else "tirx.continue_loop"
        return tirx.Evaluate(ir.Call(name, [], ret_ty="void"))

    def number(self, value):
        return tirx.const(value, "int32")

    def exp(self, value):
        return tirx.exp(value)

    def remainder(self, value, by):
        return tirx.truncmod(value, tirx.const(by, "int32"))

    def cast(self, dtype, value):
        return value if str(value.ty.dtype) == dtype else tirx.Cast(dtype, value)

    def load(self, buffer, index):
        return tirx.BufferLoad(buffer, [index])

    def store(self, buffer, value, index):
        return tirx.BufferStore(buffer, value, [index])
