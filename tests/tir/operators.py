"""Operators with several temporaries, as (schedule, arguments) with inputs that matter."""

import numpy as np
import tvm
from tvm import te, topi

#: What the padded, packed convolution calls its result.
CONVOLVED = "conv2d_NCHWc"


def padded_packed_convolution():
    """NCHWc convolution: the input is packed and padded, the result unpacked, with a fused epilogue."""
    data = te.placeholder((1, 8, 9, 9), name="data")
    weight = te.placeholder((8, 8, 3, 3), name="weight")
    packed = te.compute((1, 2, 9, 9, 4), lambda n, o, h, w, i: data[n, o * 4 + i, h, w], name="packed")
    kernel = te.compute(
        (2, 2, 3, 3, 4, 4), lambda o, i, h, w, ii, oi: weight[o * 4 + oi, i * 4 + ii, h, w], name="packed_weight"
    )
    with tvm.target.Target("llvm"):
        convolved = topi.nn.conv2d_NCHWc(packed, kernel, 1, 1, 1, "NCHW4c", "NCHW4c")
    unpacked = te.compute((1, 8, 9, 9), lambda n, c, h, w: convolved[n, c // 4, h, w, c % 4], name="unpacked")
    out = topi.nn.relu(unpacked)
    schedule = te.create_schedule(out.op)
    return (schedule, [data, weight, out]), [(1, 8, 9, 9), (8, 8, 3, 3)], (1, 8, 9, 9)


def softmax():
    """Softmax over the last axis with all its steps materialised."""
    data = te.placeholder((4, 37), name="data")
    out = topi.nn.softmax(data)
    return (te.create_schedule(out.op), [data, out]), [(4, 37)], (4, 37)


def batched_matmul():
    """A batched product of scaled and transposed operands, vectorised and unrolled."""
    left = te.placeholder((3, 8, 16), name="left")
    right = te.placeholder((3, 16, 12), name="right")
    scaled = te.compute((3, 8, 16), lambda b, i, k: left[b, i, k] * 0.5, name="scaled")
    turned = te.compute((3, 12, 16), lambda b, j, k: right[b, k, j], name="turned")
    product = topi.nn.batch_matmul(scaled, turned)
    biased = te.compute((3, 8, 12), lambda b, i, j: product[b, i, j] + scaled[b, i, 0], name="biased")
    out = te.compute((3, 8, 12), lambda b, i, j: biased[b, i, j] * 3.0, name="out")
    schedule = te.create_schedule(out.op)
    schedule[out].vectorize(schedule[out].op.axis[2])
    schedule[scaled].unroll(schedule[scaled].op.axis[1])
    return (schedule, [left, right, out]), [(3, 8, 16), (3, 16, 12)], (3, 8, 12)


def parallel_with_private_buffers():
    """Each worker of a parallel loop has temporaries of its own, next to shared ones outside."""
    data = te.placeholder((6, 40), name="data")
    doubled = te.compute((6, 40), lambda i, j: data[i, j] * 2.0, name="doubled")
    shifted = te.compute((6, 40), lambda i, j: doubled[i, 39 - j] + 1.0, name="shifted")
    squared = te.compute((6, 40), lambda i, j: shifted[i, 39 - j] * shifted[i, j], name="squared")
    out = te.compute((6, 40), lambda i, j: squared[i, j] - data[i, 39 - j], name="out")
    schedule = te.create_schedule(out.op)
    row = schedule[out].op.axis[0]
    schedule[out].parallel(row)
    for stage in (squared, shifted, doubled):
        schedule[stage].compute_at(schedule[out], row)
    return (schedule, [data, out]), [(6, 40)], (6, 40)


def two_parallel_loops():
    """Two parallel loops of the same name, each with temporaries of its own, and one between them."""
    data = te.placeholder((6, 40), name="data")
    first = te.compute((6, 40), lambda i, j: data[i, j] * 2.0, name="first")
    second = te.compute((6, 40), lambda i, j: first[i, j] + first[i, 39 - j], name="second")
    middle = te.compute((6, 40), lambda i, j: second[i, 39 - j] * 0.5, name="middle")
    third = te.compute((6, 40), lambda i, j: middle[5 - i, j] + 1.0, name="third")
    fourth = te.compute((6, 40), lambda i, j: third[i, 39 - j] * third[i, j], name="fourth")
    out = te.compute((6, 40), lambda i, j: fourth[i, j] - data[i, 39 - j], name="out")
    schedule = te.create_schedule(out.op)
    for outer, inner in ((middle, (second, first)), (out, (fourth, third))):
        row = schedule[outer].op.axis[0]
        schedule[outer].parallel(row)
        for stage in inner:
            schedule[stage].compute_at(schedule[outer], row)
    return (schedule, [data, out]), [(6, 40)], (6, 40)


OPERATORS = (padded_packed_convolution, softmax, batched_matmul, parallel_with_private_buffers, two_parallel_loops)


def inputs(shapes, out_shape, seed):
    """Random float32 arguments and a poisoned output."""
    random = np.random.default_rng(seed)
    arrays = [random.normal(size=shape).astype("float32") for shape in shapes]
    return [*arrays, np.full(out_shape, np.nan, "float32")]


def lowered(operator):
    """The module that our passes meet."""
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def look(function, module, context):
        seen.append(function)
        return function

    (schedule, arguments), _, _ = operator()
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, look)]}):
        tvm.lower(schedule, arguments)
    return tvm.IRModule({operator.__name__: seen[0]})
