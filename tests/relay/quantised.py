"""Small quantised networks, written as TVM's TFLite front end writes them: int8 NHWC, paddings apart."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relay


class Layers:
    """Layers with random weights, and the scales that keep values apart."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pad(self, x, zero=-3, pad=((0, 0), (1, 1), (1, 1), (0, 0))):
        return relay.nn.pad(x, pad, zero)

    def conv(self, x, channels, kernel=3, stride=1, depthwise=False, zero=-3):
        """A convolution, its bias, and the requantisation per channel."""
        inputs = int(relay.transform.InferTypeLocal(x).shape[3])
        channels = inputs if depthwise else channels
        shape = (kernel, kernel, inputs, 1) if depthwise else (kernel, kernel, inputs, channels)
        weight = relay.const(self.rng.integers(-100, 101, shape).astype("int8"))
        terms = kernel * kernel * (1 if depthwise else inputs)
        scales = (self.rng.uniform(0.5, 1.5, channels) / np.sqrt(terms) / 40).astype("float32")
        y = relay.qnn.op.conv2d(
            x,
            weight,
            relay.const(zero, "int32"),
            relay.const(0, "int32"),
            relay.const(1.0, "float32"),
            relay.const(scales),
            kernel_size=(kernel, kernel),
            channels=channels,
            strides=(stride, stride),
            groups=channels if depthwise else 1,
            data_layout="NHWC",
            kernel_layout="HWOI" if depthwise else "HWIO",
        )
        bias = relay.const(self.rng.integers(-3000, 3000, channels).astype("int32"))
        y = relay.nn.bias_add(y, bias, axis=3)
        return relay.qnn.op.requantize(
            y,
            relay.const(scales),
            relay.const(0, "int32"),
            relay.const(1.0, "float32"),
            relay.const(zero, "int32"),
            axis=3,
            out_dtype="int8",
        )

    def add(self, a, b, zero=-3):
        scale = [relay.const(s, "float32") for s in (0.7, 1.2, 1.1)]
        point = relay.const(zero, "int32")
        return relay.qnn.op.add(a, b, scale[0], point, scale[1], point, scale[2], point)

    def mean(self, x):
        shape = relay.transform.InferTypeLocal(x).shape
        size = (int(shape[1]), int(shape[2]))
        pooled = relay.nn.avg_pool2d(relay.cast(x, "int32"), pool_size=size, strides=size, layout="NHWC")
        return relay.cast(pooled, "int8")


def module(inputs, output):
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, output)))


def separable(intermediates=False):
    """Padding and convolution, depthwise and pointwise, to a mean: a small keyword spotter."""
    layers = Layers(1)
    x = relay.var("x", shape=(1, 12, 8, 3), dtype="int8")
    seen = [layers.conv(layers.pad(x), 8, stride=2)]
    for _ in range(2):
        seen.append(layers.conv(layers.pad(seen[-1]), 0, depthwise=True))
        seen.append(layers.conv(seen[-1], 8, kernel=1))
    seen.append(layers.mean(seen[-1]))
    return module([x], relay.Tuple(seen) if intermediates else seen[-1])


def residual(intermediates=False):
    """A block with a shortcut that is a convolution, as where a residual network changes its width."""
    layers = Layers(2)
    x = relay.var("x", shape=(1, 8, 8, 8), dtype="int8")
    inner = layers.conv(layers.pad(x), 16, stride=2)
    deep = layers.conv(layers.pad(inner), 16)
    short = layers.conv(x, 16, kernel=1, stride=2)
    y = layers.add(deep, short)
    again = layers.add(layers.conv(layers.pad(y), 16), y)
    return module([x], relay.Tuple([inner, deep, y, again]) if intermediates else again)


def wide_sums():
    """Two convolutions with values between them that need more than eight bits."""
    rng = np.random.default_rng(3)
    x = y = relay.var("x", shape=(1, 6, 6, 4), dtype="int8")
    for dtype in ("int16", "int8"):
        weight = relay.const(rng.integers(-20, 21, (3, 3, 4, 4)).astype("int16"))
        y = relay.nn.pad(relay.cast(y, "int16"), ((0, 0), (1, 1), (1, 1), (0, 0)), 1)
        options = {"channels": 4, "kernel_size": (3, 3), "data_layout": "NHWC", "kernel_layout": "HWIO"}
        y = relay.nn.conv2d(y, weight, out_dtype="int32", **options)
        most = 2000 if dtype == "int16" else 127
        y = relay.cast(relay.clip(relay.right_shift(y, relay.const(4, "int32")), -most, most), dtype)
    return module([x], y)


def padded_float():
    """Floating point, with the paddings apart."""
    rng = np.random.default_rng(5)
    x = y = relay.var("x", shape=(1, 8, 8, 4))
    options = {"channels": 4, "kernel_size": (3, 3), "data_layout": "NHWC"}
    for groups, layout, shape in ((1, "HWIO", (3, 3, 4, 4)), (4, "HWOI", (3, 3, 4, 1))):
        weight = relay.const(rng.standard_normal(shape).astype("float32") / 6)
        y = relay.nn.pad(y, ((0, 0), (1, 1), (1, 1), (0, 0)), 0.5)
        y = relay.nn.relu(relay.nn.conv2d(y, weight, groups=groups, kernel_layout=layout, **options))
    return module([x], y)


def random_network(seed):
    """A chain of random layers with a shortcut now and then."""
    layers = Layers(seed)
    rng = layers.rng
    x = relay.var("x", shape=(1, 9, 7, int(rng.integers(1, 5))), dtype="int8")
    y = layers.conv(layers.pad(x), int(rng.integers(2, 9)))
    for _ in range(int(rng.integers(2, 5))):
        kind = rng.integers(0, 5)
        if kind == 0:
            y = layers.conv(layers.pad(y), 0, depthwise=True)
        elif kind == 1:
            y = layers.conv(layers.pad(y, pad=((0, 0), (2, 1), (0, 2), (0, 0))), int(rng.integers(2, 9)))
        elif kind == 2:
            y = layers.conv(y, int(rng.integers(2, 9)), kernel=1)
        elif kind == 3:
            y = layers.add(layers.conv(layers.pad(y), 0, depthwise=True), y)
        else:
            y = layers.conv(layers.pad(y, zero=int(rng.integers(-128, 128))), int(rng.integers(2, 9)), kernel=5)
    return module([x], layers.mean(y) if rng.integers(0, 2) else y)
