"""Small networks that react to their input: random weights, scaled so that values neither vanish nor blow up."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relay


def _weight(rng, *shape, fan_in):
    return relay.const((rng.standard_normal(shape) / np.sqrt(fan_in)).astype("float32"))


def _conv(rng, x, channels, inputs, stride=1):
    w = _weight(rng, channels, inputs, 3, 3, fan_in=9 * inputs)
    return relay.nn.conv2d(x, w, strides=(stride, stride), padding=(1, 1), channels=channels, kernel_size=(3, 3))


def _module(inputs, output):
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, output)))


def classifier(intermediates=False):
    """Convolution, relu, pooling, dense, softmax."""
    rng = np.random.default_rng(1)
    x = relay.var("x", shape=(1, 3, 16, 16))
    a = relay.nn.relu(_conv(rng, x, 8, 3))
    b = relay.nn.max_pool2d(a, (2, 2), (2, 2))
    c = relay.nn.relu(_conv(rng, b, 12, 8))
    d = relay.nn.batch_flatten(relay.nn.avg_pool2d(c, (2, 2), (2, 2)))
    e = relay.nn.dense(d, _weight(rng, 10, 12 * 16, fan_in=12 * 16))
    y = relay.nn.softmax(e)
    return _module([x], relay.Tuple([a, b, c, e, y]) if intermediates else y)


def residual(intermediates=False):
    """Two residual blocks: a value that has to survive the work between."""
    rng = np.random.default_rng(2)
    x = relay.var("x", shape=(1, 8, 12, 12))
    seen = []
    y = x
    for _ in range(2):
        inner = relay.nn.relu(_conv(rng, y, 8, 8))
        y = relay.nn.relu(relay.add(_conv(rng, inner, 8, 8), y))
        seen += [inner, y]
    y = relay.nn.softmax(relay.nn.batch_flatten(relay.nn.avg_pool2d(y, (4, 4), (4, 4))))
    return _module([x], relay.Tuple([*seen, y]) if intermediates else y)


def wide_residual():
    """Residual adds on tensors that are large beside everything else: 1x1 convolutions need no padding."""
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 8, 20, 20))
    y = x
    for _ in range(3):
        w = _weight(rng, 8, 8, 1, 1, fan_in=8)
        inner = relay.nn.relu(relay.nn.conv2d(y, w, channels=8, kernel_size=(1, 1)))
        w = _weight(rng, 8, 8, 1, 1, fan_in=8)
        y = relay.nn.relu(relay.add(relay.nn.conv2d(inner, w, channels=8, kernel_size=(1, 1)), y))
    return _module([x], relay.nn.softmax(relay.nn.batch_flatten(relay.nn.avg_pool2d(y, (10, 10), (10, 10)))))


def two_outputs():
    """A branch that ends early and one that goes on, from two inputs."""
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 4, 10, 10))
    z = relay.var("z", shape=(1, 6, 10, 10))
    shared = relay.nn.relu(_conv(rng, x, 6, 4))
    early = relay.nn.max_pool2d(shared, (2, 2), (2, 2))
    late = relay.nn.relu(_conv(rng, relay.add(shared, z), 6, 6))
    late = relay.nn.softmax(relay.nn.batch_flatten(_conv(rng, late, 3, 6, stride=2)))
    return _module([x, z], relay.Tuple([early, late]))


def independent_tails():
    """Two inputs, each with a chain of its own: one input is read late, one output is written early."""
    x = relay.var("x", shape=(1, 64))
    z = relay.var("z", shape=(1, 64))
    early = relay.tanh(relay.nn.softmax(relay.nn.relu(x)))
    late = relay.exp(relay.nn.softmax(relay.nn.softmax(z)))
    return _module([x, z], relay.Tuple([early, late]))


def integer():
    """Integer convolutions with the shift, clip and cast of a quantised network."""
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 4, 12, 12), dtype="int8")
    y = x
    for channels in (8, 8):
        inputs = 4 if y is x else 8
        w = relay.const(rng.integers(-90, 90, (channels, inputs, 3, 3)).astype("int8"))
        y = relay.nn.conv2d(y, w, padding=(1, 1), channels=channels, kernel_size=(3, 3), out_dtype="int32")
        y = relay.cast(relay.clip(relay.right_shift(y, relay.const(8, "int32")), -127, 127), "int8")
    return _module([x], y)


def integer_residual():
    """Integer convolutions around which a tensor has to survive, three times."""
    rng = np.random.default_rng(7)
    x = relay.var("x", shape=(1, 4, 10, 10), dtype="int8")
    y = x
    for _ in range(3):
        w = relay.const(rng.integers(-90, 90, (4, 4, 3, 3)).astype("int8"))
        inner = relay.nn.conv2d(y, w, padding=(1, 1), channels=4, kernel_size=(3, 3), out_dtype="int32")
        inner = relay.cast(relay.clip(relay.right_shift(inner, relay.const(9, "int32")), -127, 127), "int8")
        total = relay.add(relay.cast(inner, "int32"), relay.cast(y, "int32"))
        y = relay.cast(relay.clip(total, -127, 127), "int8")
    return _module([x], y)


def returned_twice():
    """One tensor as two outputs, the second of another shape."""
    x = relay.var("x", shape=(1, 16))
    y = relay.nn.softmax(relay.nn.relu(x))
    return _module([x], relay.Tuple([y, relay.exp(y), relay.reshape(y, (4, 4))]))


def no_weights():
    """Nothing constant at all."""
    x = relay.var("x", shape=(1, 8, 8, 8))
    return _module([x], relay.nn.softmax(relay.nn.max_pool2d(relay.nn.relu(x), (2, 2), (2, 2))))


def no_workspace():
    """One operator: nothing lies between input and output."""
    x = relay.var("x", shape=(1, 8))
    return _module([x], x + relay.const(np.arange(8).astype("float32")))


def identity():
    """Nothing to plan."""
    x = relay.var("x", shape=(1, 8))
    return _module([x], x)


def inputs_of(mod, seed, params=None):
    """Random inputs by name, for everything that is not a parameter."""
    rng = np.random.default_rng(seed)
    made = {}
    for var in mod["main"].params:
        if var.name_hint in (params or {}):
            continue
        kind = var.type_annotation
        shape = tuple(int(extent) for extent in kind.shape)
        if kind.dtype.startswith("float"):
            made[var.name_hint] = rng.standard_normal(shape).astype(kind.dtype)
        else:
            made[var.name_hint] = rng.integers(-128, 128, shape).astype(kind.dtype)
    return made
