"""The kinds of networks that people run, in any size, for tests and for scripts/bench_relax.py."""

import math
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn.core import wrap_nested
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R


@dataclass(frozen=True)
class Network:
    """A module with ``forward`` (or ``main``) in it, and how its arguments are made.

    `sizes` are the values of symbolic dimensions to run it with.
    """

    module: object
    function: str = "forward"
    sizes: tuple = ({},)

    def arguments(self, seed, sizes=None):
        """Random inputs and weights, scaled so that no activation saturates and every one matters."""
        random = np.random.default_rng(seed)
        return [_values(random, param.ty, sizes or self.sizes[0]) for param in self.module[self.function].params]


def _values(random, kind, sizes):
    shape = [int(d) if isinstance(d, tvm.tirx.IntImm) else sizes[d.name] for d in kind.shape]
    dtype = str(kind.dtype.dtype)
    if dtype == "bool":
        return np.array(random.integers(2), dtype="bool")
    if dtype.startswith("int"):
        return random.integers(0, 16, size=shape).astype(dtype)
    scale = 1 / math.sqrt(math.prod(shape[1:]) or 1) if len(shape) in (2, 4) and shape[0] > 1 else 1.0
    return (random.normal(size=shape) * scale).astype(dtype)


def exported(network, **inputs):
    module, _ = network.export_tvm({"forward": inputs})
    return module


def _max_pool(x):
    made = relax.op.nn.max_pool2d(x._expr, (3, 3), (2, 2), padding=(1, 1, 1, 1))
    return wrap_nested(made, "max_pool2d")


def _mean(x):
    return nn.op.sum(x, axis=[2, 3]) * (1.0 / (x.shape[2] * x.shape[3]))


# -- perceptron ---------------------------------------------------------------------------------------------------


class _Perceptron(nn.Module):
    def __init__(self, width):
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = nn.op.relu(layer(x))
        return nn.op.softmax(x, axis=-1)


def perceptron(width=64, batch=4):
    return Network(exported(_Perceptron(width), x=nn.spec.Tensor((batch, width), "float32")))


# -- convolutional networks -----------------------------------------------------------------------------------------


class _Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        self.first = nn.Conv2D(inside, outside, 3, stride=stride, padding=1)
        self.second = nn.Conv2D(outside, outside, 3, padding=1)
        self.shortcut = nn.Conv2D(inside, outside, 1, stride=stride) if stride > 1 or inside != outside else None

    def forward(self, x):
        straight = x if self.shortcut is None else self.shortcut(x)
        return nn.op.relu(nn.op.add(self.second(nn.op.relu(self.first(x))), straight))


class _ResNet(nn.Module):
    def __init__(self, base, blocks, classes):
        self.stem = nn.Conv2D(3, base, 7, stride=2, padding=3)
        widths = [base * 2**i for i in range(4)]
        self.blocks = nn.ModuleList(
            [
                _Residual(widths[max(i - (k == 0), 0)], widths[i], 2 if k == 0 and i else 1)
                for i in range(4)
                for k in range(blocks)
            ]
        )
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = _max_pool(nn.op.relu(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return nn.op.softmax(self.head(_mean(x)), axis=-1)


def resnet(base=8, image=32, blocks=2, classes=10):
    return Network(exported(_ResNet(base, blocks, classes), x=nn.spec.Tensor((1, 3, image, image), "float32")))


class _Inverted(nn.Module):
    def __init__(self, inside, outside, stride, factor):
        hidden = inside * factor
        self.expand = nn.Conv2D(inside, hidden, 1)
        self.depthwise = nn.Conv2D(hidden, hidden, 3, stride=stride, padding=1, groups=hidden)
        self.project = nn.Conv2D(hidden, outside, 1)
        self.residual = stride == 1 and inside == outside

    def forward(self, x):
        y = self.project(nn.op.relu6(self.depthwise(nn.op.relu6(self.expand(x)))))
        return nn.op.add(x, y) if self.residual else y


class _MobileNet(nn.Module):
    def __init__(self, stages, classes):
        self.stem = nn.Conv2D(3, stages[0][0], 3, stride=2, padding=1)
        blocks, inside = [], stages[0][0]
        for width, count, stride, factor in stages:
            for k in range(count):
                blocks.append(_Inverted(inside, width, stride if k == 0 else 1, factor))
                inside = width
        self.blocks = nn.ModuleList(blocks)
        self.last = nn.Conv2D(inside, 4 * inside, 1)
        self.head = nn.Linear(4 * inside, classes)

    def forward(self, x):
        x = nn.op.relu6(self.stem(x))
        for block in self.blocks:
            x = block(x)
        return nn.op.softmax(self.head(_mean(nn.op.relu6(self.last(x)))), axis=-1)


MOBILENET_V2 = (
    (32, 1, 1, 1),
    (24, 2, 2, 6),
    (32, 3, 2, 6),
    (64, 4, 2, 6),
    (96, 3, 1, 6),
    (160, 3, 2, 6),
    (320, 1, 1, 6),
)


def mobilenet(stages=((8, 1, 1, 1), (8, 2, 2, 4), (16, 2, 2, 4)), image=32, classes=10):
    return Network(exported(_MobileNet(stages, classes), x=nn.spec.Tensor((1, 3, image, image), "float32")))


class _Double(nn.Module):
    def __init__(self, inside, outside):
        self.first = nn.Conv2D(inside, outside, 3, padding=1)
        self.second = nn.Conv2D(outside, outside, 3, padding=1)

    def forward(self, x):
        return nn.op.relu(self.second(nn.op.relu(self.first(x))))


class _UNet(nn.Module):
    def __init__(self, base, depth):
        widths = [base * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList([_Double(3 if i == 0 else widths[i - 1], widths[i]) for i in range(depth)])
        self.middle = _Double(widths[-2], widths[-1])
        self.up = nn.ModuleList([_Double(widths[i + 1] + widths[i], widths[i]) for i in reversed(range(depth))])
        self.head = nn.Conv2D(base, 2, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = _max_pool(x)
        x = self.middle(x)
        for block, skip in zip(self.up, reversed(kept)):
            x = nn.op.interpolate(x, size=[skip.shape[2], skip.shape[3]], mode="nearest")
            x = block(nn.op.concat([x, skip], dim=1))
        return self.head(x)


def u_net(base=4, image=16, depth=2):
    return Network(exported(_UNet(base, depth), x=nn.spec.Tensor((1, 3, image, image), "float32")))


# -- transformers ---------------------------------------------------------------------------------------------------


class _Attention(nn.Module):
    def __init__(self, width, heads):
        self.heads, self.size = heads, width // heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        batch, length, _ = x.shape
        return nn.op.permute_dims(nn.op.reshape(x, (batch, length, self.heads, self.size)), [0, 2, 1, 3])

    def attend(self, q, k, v, mask=None):
        scores = nn.op.matmul(q, nn.op.permute_dims(k, [0, 1, 3, 2])) * (1 / math.sqrt(self.size))
        if mask is not None:
            scores = nn.op.add(scores, mask)
        mixed = nn.op.permute_dims(nn.op.matmul(nn.op.softmax(scores, axis=-1), v), [0, 2, 1, 3])
        batch, length, _, _ = mixed.shape
        return self.out(nn.op.reshape(mixed, (batch, length, self.heads * self.size)))

    def forward(self, x):
        return self.attend(self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x)))


class _Encoder(nn.Module):
    def __init__(self, width, heads):
        self.attention = _Attention(width, heads)
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.before(nn.op.add(x, self.attention(x)))
        return self.after(nn.op.add(x, self.second(nn.op.gelu(self.first(x)))))


class _Bert(nn.Module):
    def __init__(self, layers, width, heads):
        self.layers = nn.ModuleList([_Encoder(width, heads) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def bert(layers=1, width=32, heads=2, length=16):
    return Network(exported(_Bert(layers, width, heads), x=nn.spec.Tensor((1, length, width), "float32")))


def dynamic_bert(layers=1, width=32, heads=2, sizes=(1, 5, 16)):
    module = exported(_Bert(layers, width, heads), x=nn.spec.Tensor((1, "n", width), "float32"))
    return Network(module, sizes=tuple({"n": n} for n in sizes))


def bounded(network):
    """The network with upper bounds declared: the largest sizes that it is run with."""
    module, name = network.module.clone(), network.function
    module.update_func(module.get_global_var(name), module[name].with_attr("tir_var_upper_bound", network.sizes[-1]))
    return Network(module, name, network.sizes)


class _Decoder(nn.Module):
    """Attention over a cache that grows by concatenation, with rotary positions and a mask."""

    def __init__(self, width, heads):
        self.attention = _Attention(width, heads)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.before, self.after = nn.RMSNorm(width, axes=-1, bias=False), nn.RMSNorm(width, axes=-1, bias=False)

    def forward(self, x, cosine, sine, mask, keys, values):
        attention = self.attention
        inner = self.before(x)
        q, k = (_rotated(attention.split(f(inner)), cosine, sine) for f in (attention.query, attention.key))
        keys = nn.op.concat([keys, k], dim=2)
        values = nn.op.concat([values, attention.split(attention.value(inner))], dim=2)
        x = nn.op.add(x, attention.attend(q, keys, values, mask))
        inner = self.after(x)
        fed = self.down(nn.op.multiply(nn.op.silu(self.gate(inner)), self.up(inner)))
        return nn.op.add(x, fed), keys, values


def _rotated(x, cosine, sine):
    one, other = nn.op.split(x, 2, axis=3)
    turned = nn.op.concat([other * -1.0, one], dim=3)
    return nn.op.add(nn.op.multiply(x, cosine), nn.op.multiply(turned, sine))


class _Llama(nn.Module):
    def __init__(self, layers, width, heads, vocabulary):
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList([_Decoder(width, heads) for _ in range(layers)])
        self.norm = nn.RMSNorm(width, axes=-1, bias=False)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, cosine, sine, mask, cache_0, cache_1):
        x, caches = self.embedding(tokens), []
        for layer in self.layers:
            x, *grown = layer(x, cosine, sine, mask, cache_0, cache_1)
            caches.extend(grown)
        return self.head(self.norm(x)), *caches


def llama(layers=1, width=32, heads=2, length=8, past=8, vocabulary=16):
    size = width // heads
    cache = nn.spec.Tensor((1, heads, past, size), "float32")
    module = exported(
        _Llama(layers, width, heads, vocabulary),
        tokens=nn.spec.Tensor((1, length), "int32"),
        cosine=nn.spec.Tensor((1, 1, length, size), "float32"),
        sine=nn.spec.Tensor((1, 1, length, size), "float32"),
        mask=nn.spec.Tensor((1, 1, length, past + length), "float32"),
        cache_0=cache,
        cache_1=cache,
    )
    return Network(module)


# -- control flow -----------------------------------------------------------------------------------------------------


_BRANCHING = """
@I.ir_module
class Branching:
    @R.function
    def main(
        long: R.Tensor((), "bool"), x: R.Tensor((WIDTH, WIDTH), "float32"), w: R.Tensor((WIDTH, WIDTH), "float32")
    ):
        start = R.nn.relu(R.matmul(x, w))
        if long:
            first = R.nn.gelu(R.matmul(start, w))
            second = R.tanh(R.matmul(first, w))
            y = R.add(second, start)
        else:
            once = R.sigmoid(start)
            y = R.multiply(once, start)
        z = R.nn.softmax(R.matmul(y, w), axis=-1)
        return z
"""


def branching(width=32):
    return Network(from_source(_BRANCHING.replace("WIDTH", str(width)), {"I": I, "R": R}), "main")


#: Small ones, for tests.
SMALL = {
    "perceptron": perceptron,
    "resnet": lambda: resnet(base=4, image=16, blocks=1),
    "mobilenet": mobilenet,
    "u_net": u_net,
    "bert": bert,
    "llama": llama,
    "branching": branching,
    "dynamic_bert": dynamic_bert,
}

#: Of the size that people run, for the table of scripts/bench_relax.py.
FULL = {
    "MLP": lambda: perceptron(1024, 16),
    "ResNet-18": lambda: resnet(64, 224, 2, 1000),
    "MobileNetV2": lambda: mobilenet(MOBILENET_V2, 224, 1000),
    "U-Net": lambda: u_net(16, 128, 3),
    "BERT-like": lambda: bert(4, 256, 4, 128),
    "Llama-like": lambda: llama(4, 256, 4, 64, 64, 1000),
    "with if": lambda: branching(512),
    "unbounded sequence": lambda: dynamic_bert(4, 256, 4, (1, 32, 128)),
    "bounded sequence": lambda: bounded(dynamic_bert(4, 256, 4, (1, 32, 128))),
}
