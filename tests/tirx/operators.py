"""Operators with several temporaries, with the shapes of their inputs and output."""

import numpy as np
from tvm import te, tirx, topi
from tvm.s_tir import Schedule

from tests.tirx.running import module_of
from tvm_memplan.dialects.tirx import register_standard_pipeline

#: What the padded, packed convolution calls its result.
CONVOLVED = "convolved"


def padded_packed_convolution():
    """NCHWc convolution: the input is packed and padded, the result unpacked, with a fused epilogue."""
    data = te.placeholder((1, 8, 9, 9), name="data")
    weight = te.placeholder((8, 8, 3, 3), name="weight")
    packed = te.compute((1, 2, 9, 9, 4), lambda n, o, h, w, i: data[n, o * 4 + i, h, w], name="packed")
    kernel = te.compute(
        (2, 2, 3, 3, 4, 4), lambda o, i, h, w, ii, oi: weight[o * 4 + oi, i * 4 + ii, h, w], name="packed_weight"
    )
    padded = topi.nn.pad(packed, (0, 0, 1, 1, 0), name="data_pad")
    c, h, w, i = (te.reduce_axis((0, n), name=x) for n, x in ((2, "c"), (3, "h"), (3, "w"), (4, "i")))
    convolved = te.compute(
        (1, 2, 9, 9, 4),
        lambda n, o, y, x, oi: te.sum(padded[n, c, y + h, x + w, i] * kernel[o, c, h, w, i, oi], axis=[c, h, w, i]),
        name="convolved",
    )
    unpacked = te.compute((1, 8, 9, 9), lambda n, o, y, x: convolved[n, o // 4, y, x, o % 4], name="unpacked")
    return te.create_prim_func([data, weight, topi.nn.relu(unpacked)]), [(1, 8, 9, 9), (8, 8, 3, 3)], (1, 8, 9, 9)


def softmax():
    """Softmax over the last axis with all its steps materialised."""
    data = te.placeholder((4, 37), name="data")
    return te.create_prim_func([data, topi.nn.softmax(data)]), [(4, 37)], (4, 37)


def parallel_with_private_buffers():
    """Each worker of a parallel loop has temporaries of its own; the last loop is vectorised."""
    data = te.placeholder((6, 40), name="data")
    doubled = te.compute((6, 40), lambda i, j: data[i, j] * 2.0, name="doubled")
    shifted = te.compute((6, 40), lambda i, j: doubled[i, 39 - j] + 1.0, name="shifted")
    squared = te.compute((6, 40), lambda i, j: shifted[i, 39 - j] * shifted[i, j], name="squared")
    out = te.compute((6, 40), lambda i, j: squared[i, j] - data[i, 39 - j], name="out")
    schedule = Schedule(te.create_prim_func([data, out]))
    row, column = schedule.get_loops(schedule.get_sblock("out"))
    schedule.parallel(row)
    _, inner = schedule.split(column, [None, 8])
    schedule.vectorize(inner)
    for name in ("squared", "shifted", "doubled"):
        schedule.compute_at(schedule.get_sblock(name), row)
    return schedule.mod["main"], [(6, 40)], (6, 40)


def large_temporaries():
    """Temporaries that come from the workspace and not from the stack, with a type of their own each."""
    data = te.placeholder((3000,), name="data")
    wide = te.compute((3000,), lambda i: data[2999 - i].astype("float64") * 3.0, name="wide")
    whole = te.compute((3000,), lambda i: wide[2999 - i].astype("int32"), name="whole")
    short = te.compute((3000,), lambda i: whole[2999 - i].astype("int8"), name="short")
    out = te.compute((3000,), lambda i: short[i].astype("float32") + whole[i].astype("float32"), name="out")
    return te.create_prim_func([data, out]), [(3000,)], (3000,)


OPERATORS = (padded_packed_convolution, softmax, parallel_with_private_buffers, large_temporaries)


def inputs(shapes, out_shape, seed):
    """Random float32 arguments and a poisoned output."""
    random = np.random.default_rng(seed)
    arrays = [random.normal(size=shape).astype("float32") for shape in shapes]
    return [*arrays, np.full(out_shape, np.nan, "float32")]


def lowered(operator):
    """The module that our passes meet."""
    seen = []

    @tirx.transform.prim_func_pass(opt_level=0)
    def look(function, module, context):
        seen.append(function)
        return function

    register_standard_pipeline("look", [look])
    function, _, _ = operator()
    pipeline, *_ = tirx.get_tir_pipeline("look")
    pipeline(tirx.transform.BindTarget(_target())(module_of(function)))
    return module_of(seen[0].without_attr("target"))


def _target():
    import tvm

    return tvm.target.Target("llvm", host="llvm")
