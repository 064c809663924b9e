"""Random lowered functions: loops, branches, nested allocations, views of other types, data-dependent conditions.

Every buffer is filled where it is allocated, so that a right plan cannot change anything; what a program reads
afterwards is up to chance. All that is alive at the end of a scope is folded into the output, so that an overwritten
byte shows.
"""

import random

import tvm
from tvm import tir

TYPES = ("int32", "int16", "int8", "uint8", "int64", "float32")
LENGTH = 16
OUT = 64


class Program:
    """One random function `f(A: int32[16], O: int32[64])`, reproducible from its seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        self.input = tir.decl_buffer([LENGTH], "int32", "A")
        self.output = tir.decl_buffer([OUT], "int32", "O")

    def function(self):
        """The PrimFunc."""
        start = self.loop(OUT, lambda i: self.store(self.output, i, tir.const(1, "int32")))
        body = tir.SeqStmt([start, self.scope([], 3)])
        handles = [tir.Var("a", "handle"), tir.Var("o", "handle")]
        function = tir.PrimFunc(handles, body, None, dict(zip(handles, (self.input, self.output))))
        return function.with_attr("global_symbol", "entry").with_attr("tir.noalias", True)

    # A scope allocates some buffers and does something with all that it can see. `visible` are (buffer, length).

    def scope(self, visible, depth):
        own = [self.fresh_buffer() for _ in range(self.random.randint(1, 3))]
        seen, parts = list(visible), []
        for buffer, length in own:
            # From the newest other buffer, so that older ones die early and their bytes are free to take.
            parts.append(self.fill(buffer, length, seen[-1:]))
            seen.append((buffer, length))
            parts += [self.statement(seen, depth) for _ in range(self.random.randint(0, 2))]
        parts += [self.statement(seen, depth) for _ in range(self.random.randint(1, 3))]
        parts += [self.fold(buffer, length) for buffer, length in own if self.random.random() < 0.25]
        return self.allocated(own, tir.SeqStmt(parts))

    def allocated(self, own, body):
        for buffer, length in own:
            extent = [tir.IntImm("int32", length)]
            body = tir.Allocate(buffer.data, buffer.dtype, extent, tir.IntImm("bool", 1), body)
        return body

    def statement(self, seen, depth):
        choice = self.random.random()
        if depth and choice < 0.2:
            return self.scope(seen, depth - 1)
        if depth and choice < 0.4:
            inner = [self.fold(*self.random.choice(seen)), self.scope(seen[:1], depth - 1)]
            if self.random.random() < 0.5:
                inner.append(self.statement(seen, depth - 1))
            kind = tir.ForKind.UNROLLED if self.random.random() < 0.2 else tir.ForKind.SERIAL
            return self.loop(self.random.randint(0, 4), lambda _: tir.SeqStmt([*inner, tir.Evaluate(0)]), kind)
        if depth and choice < 0.55:
            buffer, length = self.random.choice(seen)
            condition = self.load(buffer, self.random.randrange(length)) > tir.const(40, "int32")
            orelse = self.statement(seen, depth - 1) if self.random.random() < 0.7 else None
            return tir.IfThenElse(condition, self.statement(seen, depth - 1), orelse)
        if choice < 0.65:
            return self.bytes_of(seen)
        if choice < 0.75:
            return self.fold(*self.random.choice(seen))
        return self.combine(seen)

    # Leaves.

    def fresh_buffer(self):
        self.count += 1
        dtype = self.random.choice(TYPES)
        length = self.random.choice((1, 3, 8, LENGTH, 40))
        pointer = tvm.ir.PointerType(tvm.ir.PrimType(dtype), "global")
        data = tir.Var(f"b{self.count}", pointer)
        return tir.decl_buffer([length], dtype, f"b{self.count}", data=data), length

    def fill(self, buffer, length, seen):
        source, size = self.random.choice(seen or [(self.input, LENGTH)])
        mark, last = tir.const(self.random.randint(1, 9), "int32"), length - 1 + size
        return self.loop(length, lambda i: self.store(buffer, i, self.load(source, (last - i) % size) + mark))

    def combine(self, seen):
        target, length = self.random.choice(seen)
        one, two = self.random.choice(seen), self.random.choice(seen)
        shift, factor = self.random.randrange(8), tir.const(self.random.randint(1, 5), "int32")
        return self.loop(
            length,
            lambda i: self.store(
                target, i, self.load(one[0], (i + shift) % one[1]) * factor - self.load(two[0], i % two[1])
            ),
        )

    def bytes_of(self, seen):
        """Write through a view of single bytes, or through a pointer bound by let."""
        target, length = self.random.choice(seen)
        size = length * tvm.DataType(target.dtype).bits // 8
        source, many = self.random.choice(seen)
        if self.random.random() < 0.5:
            view = tir.decl_buffer([size], "uint8", f"{target.name}_bytes", data=target.data)
            byte = lambda i: tir.Cast("uint8", self.load(source, i % many))  # noqa: E731
            return self.loop(size, lambda i: tir.BufferStore(view, byte(i), [i]))
        start = self.random.randrange(length)
        pointer = tir.Var(f"p{self.count}", target.data.type_annotation)
        view = tir.decl_buffer([length - start], target.dtype, "part", data=pointer)
        body = self.loop(length - start, lambda i: self.store(view, i, self.load(source, i % many)))
        address = tir.Call("handle", "tir.address_of", [tir.BufferLoad(target, [tir.IntImm("int32", start)])])
        return tir.LetStmt(pointer, address, body)

    def fold(self, buffer, length):
        place = self.random.randrange(OUT)
        return self.loop(
            length,
            lambda i: self.store(
                self.output,
                (i + place) % OUT,
                self.load(self.output, (i + place) % OUT) * tir.const(31, "int32") + self.load(buffer, i),
            ),
        )

    def loop(self, extent, body, kind=tir.ForKind.SERIAL):
        self.count += 1
        index = tir.Var(f"i{self.count}", "int32")
        return tir.For(index, 0, extent, kind, body(index))

    def load(self, buffer, index):
        """An element as a small integer, whatever the type."""
        value = tir.BufferLoad(buffer, [index])
        return value if buffer.dtype == "int32" else tir.Cast("int32", value)

    def store(self, buffer, index, value):
        # Kept small, so that converting to a float and back is exact and never undefined.
        small = tir.truncmod(value, tir.const(97, "int32"))
        return tir.BufferStore(buffer, small if buffer.dtype == "int32" else tir.Cast(buffer.dtype, small), [index])
