"""Programs with textures on TVM 0.19: by hand, from schedules, and at random; all take one input and give one output.

They are as TextureFlatten leaves them, and as our passes meet them: one `LetStmt` per texture around the host code,
and a launch of one thread per texel for every step.
"""

import random
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import te, tir, topi

INPUT_SHAPE = (5, 7, 4)  # rows, columns, channels
SCOPES = ("global.texture", "global.texture-weight", "global.texture-nhwc")


@dataclass(eq=False)
class Tex:
    """A texture of a program: its variable, and its extents in texels."""

    name: str
    width: object
    height: object
    scope: str = "global.texture"
    dtype: str = "float32"

    def __post_init__(self):
        self.var = tir.Var(self.name, tvm.ir.PointerType(tvm.ir.PrimType(self.dtype), self.scope))

    def let(self, body):
        shape = tir.Call("handle", "tir.tvm_stack_make_shape", [_int(self.width), _int(self.height)])
        arguments = [tir.StringImm(self.scope), tir.IntImm("int64", 2), shape]
        return tir.LetStmt(self.var, tir.Call("handle", "tir.nd_mem_alloc_with_scope", arguments), body)

    def load(self, column, row, channel):
        arguments = [self.var, tir.floormod(column, self.width), tir.floormod(row, self.height), channel]
        return tir.Call(self.dtype, "tir.texture2d_load", arguments)


def _int(value):
    return tir.IntImm("int32", value) if isinstance(value, int) else value


def launch(width, height, body):
    """One thread per texel; `body(column, row, channel)` is a statement."""
    row, column = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    channel = tir.Var("c", "int32")
    inner = tir.For(channel, 0, 4, tir.ForKind.VECTORIZED, body(column.var, row.var, channel))
    return tir.AttrStmt(row, "thread_extent", _int(height), tir.AttrStmt(column, "thread_extent", _int(width), inner))


class Program:
    """A function of a flat input and a flat output, both of as many elements as `INPUT_SHAPE` has."""

    def __init__(self):
        size = int(np.prod(INPUT_SHAPE))
        self.input = tir.decl_buffer([size], "float32", "data")
        self.output = tir.decl_buffer([size], "float32", "out")

    def write(self, target, sources=(), factor=0.5, rows=None):
        """A launch that writes all of `target` (or its first `rows`) from the input and from textures."""

        def body(column, row, channel):
            at = row * 11 + column * 4 + channel
            value = tir.BufferLoad(self.input, [tir.floormod(at, int(np.prod(INPUT_SHAPE)))])
            for k, source in enumerate(sources):
                value = value * tir.const(factor, "float32") + source.load(column + k, row + k, channel)
            return tir.Evaluate(tir.Call("handle", "tir.texture2d_store", [target.var, column, row, value]))

        return launch(target.width, target.height if rows is None else rows, body)

    def result(self, sources):
        """A launch that writes the output from textures."""
        rows, columns, _ = INPUT_SHAPE

        def body(column, row, channel):
            value = tir.const(0.0, "float32")
            for source in sources:
                value = value * tir.const(2.0, "float32") + source.load(column, row, channel)
            return tir.BufferStore(self.output, value, [(row * columns + column) * 4 + channel])

        return launch(columns, rows, body)

    def function(self, body):
        handles = [tir.Var("a", "handle"), tir.Var("o", "handle")]
        function = tir.PrimFunc(handles, body, None, dict(zip(handles, (self.input, self.output))))
        return function.with_attr("global_symbol", "entry").with_attr("tir.noalias", True)


def nested(items):
    """A statement of statements and textures, each texture around all that follows it."""
    done = []
    for item in reversed(items):
        done = [item.let(_sequence(done))] if isinstance(item, Tex) else [item, *done]
    return _sequence(done)


def _sequence(parts):
    return parts[0] if len(parts) == 1 else tir.SeqStmt(parts) if parts else tir.Evaluate(0)


def inputs(seed):
    """An input, and an output of NaN."""
    data = np.random.default_rng(seed).normal(size=int(np.prod(INPUT_SHAPE))).astype("float32")
    return [data, np.full_like(data, np.nan)]


def chain(*shapes, scopes=("global.texture",)):
    """A texture of each (width, height), every one made of the one before."""
    program, items, before = Program(), [], ()
    for k, (width, height) in enumerate(shapes):
        made = Tex(f"t{k}", width, height, scopes[k % len(scopes)])
        items += [made, program.write(made, before)]
        before = (made,)
    return program.function(nested([*items, program.result(before)]))


def residual():
    """The first of three textures is read again at the end, so it must not be given to the third."""
    program, textures = Program(), [Tex(f"t{k}", 7, 5) for k in range(3)]
    first, second, third = textures
    steps = [program.write(first), program.write(second, [first]), program.write(third, [second])]
    return program.function(nested([*textures, *steps, program.result([third, first])]))


def looped():
    """A host loop whose every turn reads a texture from outside it, and then writes two of its own."""
    program, (outside, first, second, sums) = Program(), [Tex(name, 7, 5) for name in ("outside", "a", "b", "sums")]
    turn = [first, program.write(first, [outside]), second, program.write(second, [first])]
    turn.append(program.write(sums, [second]))
    loop = tir.For(tir.Var("n", "int32"), 0, 2, tir.ForKind.SERIAL, nested(turn))
    return program.function(nested([outside, sums, program.write(outside), loop, program.result([sums])]))


def random_program(seed):
    """Textures of several extents and scopes, launches, host loops, and textures that live inside these."""
    dice, program, count = random.Random(seed), Program(), iter(range(100))

    def texture():
        scope = SCOPES[dice.choice((0, 0, 0, 1, 2))]
        return Tex(f"t{next(count)}", dice.randint(1, 9), dice.randint(1, 9), scope)

    def write(around, written):
        # A texture is written whole before anybody reads it: what is in it before is nobody's promise.
        target = dice.choice(around)
        others = [t for t in written if t is not target]
        sources = dice.sample(others, min(dice.randint(0, 2), len(others)))
        part = dice.randint(1, target.height) if target in written and dice.random() < 0.3 else None
        if target not in written:
            written.append(target)
        return program.write(target, sources, dice.choice((0.25, 0.5, 2.0)), part)

    def block(around, written, depth):
        items, around = [], list(around)
        for _ in range(dice.randint(2, 5)):
            kind = dice.random()
            if kind < 0.35 or not around:
                # TVM cannot build a texture that nobody touches: it drops the variable and keeps the allocation.
                around.append(texture())
                items += [around[-1], write([around[-1]], written)]
            elif kind < 0.65 or depth == 0:
                items.append(write(around, written))
            else:
                index = tir.Var("n", "int32")
                inner = list(written)
                body = block(around, inner, depth - 1)
                written += [t for t in inner if t in around and t not in written]
                items.append(tir.For(index, 0, dice.randint(1, 3), tir.ForKind.SERIAL, nested(body)))
        return items

    written = []
    start = texture()
    items = [start, write([start], written), *block([start], written, 2)]
    known = [item for item in items if isinstance(item, Tex) and item in written]
    items.append(program.result(dice.sample(known, min(len(known), 3))))
    return program.function(nested(items))


def scheduled_chain(scope="global.texture", shape=(4, 3, 5, 4), length=4):
    """(schedule, arguments) of element-wise steps whose temporaries are set to a texture scope."""
    data = te.placeholder(shape, name="data")
    stages = [data]
    for k in range(length):
        stages.append(topi.multiply(stages[-1], 2.0) if k % 2 else topi.add(stages[-1], float(k + 1)))
    schedule = te.create_schedule(stages[-1].op)
    for stage in stages[1:]:
        if stage is not stages[-1]:
            schedule[stage].set_scope(scope)
        axes = schedule[stage].op.axis
        block, thread = schedule[stage].split(schedule[stage].fuse(*axes[:-1]), factor=16)
        schedule[stage].bind(block, te.thread_axis("blockIdx.x"))
        schedule[stage].bind(thread, te.thread_axis("threadIdx.x"))
        schedule[stage].vectorize(axes[-1])
    return schedule, [data, stages[-1]]


def winograd(channels=8, size=10):
    """(schedule, arguments) of TVM's own winograd convolution for Adreno, which has two textures inside."""
    data = te.placeholder((1, channels, size, size), name="data")
    weight = te.placeholder((channels, channels, 3, 3), name="weight")
    with tvm.target.Target("opencl -device=adreno", host="llvm"):
        out = topi.adreno.conv2d_nchw_winograd(data, weight, 1, 1, 1, "float32")
        return topi.adreno.schedule_conv2d_nchw_winograd([out]), [data, weight, out]
