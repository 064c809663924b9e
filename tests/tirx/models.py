"""Small networks whose operators are fused, so that their kernels have temporaries."""

import numpy as np
import tvm
from tvm import relax
from tvm.relax.frontend import nn


class Perceptron(nn.Module):
    def __init__(self):
        self.first, self.second = nn.Linear(64, 128), nn.Linear(128, 10)
        self.norm = nn.LayerNorm(128)

    def forward(self, x):
        return nn.op.softmax(self.second(self.norm(nn.op.gelu(self.first(x)))), axis=-1)


class Convolutional(nn.Module):
    def __init__(self):
        self.stem = nn.Conv2D(3, 8, 3, padding=1, bias=True)
        self.wide = nn.Conv2D(8, 8, 3, padding=1, bias=True)
        self.head = nn.Linear(8 * 12 * 12, 10)

    def forward(self, x):
        start = nn.op.relu(self.stem(x))
        body = nn.op.add(nn.op.relu(self.wide(start)), start)
        return nn.op.softmax(self.head(nn.op.reshape(body, (1, 8 * 12 * 12))), axis=-1)


MODELS = {"perceptron": (Perceptron, (4, 64)), "convolutional": (Convolutional, (1, 3, 12, 12))}


def fused(name):
    """The module, its operators legalised and fused."""
    make, shape = MODELS[name]
    module, _ = make().export_tvm({"forward": {"x": nn.spec.Tensor(shape, "float32")}})
    passes = (
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    )
    return tvm.transform.Sequential(passes)(module)


def arguments(module, seed):
    """Random inputs and weights; small, so that no activation saturates and every weight matters."""
    random = np.random.default_rng(seed)
    shapes = [[int(extent) for extent in param.ty.shape] for param in module["forward"].params]
    return [random.normal(size=shape).astype("float32") * np.float32(0.3) for shape in shapes]


def outputs(executable, values):
    """What the model computes."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return machine["forward"](*(tvm.runtime.tensor(value) for value in values)).numpy()
