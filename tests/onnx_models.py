"""A model as the bytes of an ONNX file, for both lines."""

import numpy as np
import pytest


def convolutions(kinds=("Relu",) * 4, names=str):
    """An ONNX chain of convolutions; every tensor has a number of channels, and so a size, of its own."""
    onnx = pytest.importorskip("onnx")
    helper, rng = onnx.helper, np.random.default_rng(3)
    nodes, weights, last, channels = [], [], "x", 3
    for i, kind in enumerate(kinds):
        outputs = 5 + 4 * i
        w = rng.standard_normal((outputs, channels, 3, 3)).astype("float32") / 9
        weights.append(onnx.numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("Conv", [last, f"w{i}"], [f"c{i}"], names(f"conv{i}"), pads=[1, 1, 1, 1]))
        last, channels = f"c{i}", outputs
        if kind == "BatchNormalization":
            extra = [rng.uniform(0.5, 1.5, outputs).astype("float32") for _ in range(4)]
            weights += [onnx.numpy_helper.from_array(a, f"bn{i}{k}") for k, a in enumerate(extra)]
            nodes.append(helper.make_node(kind, [last, *(f"bn{i}{k}" for k in range(4))], [f"b{i}"], names(f"bn{i}")))
            last, kind = f"b{i}", "Relu"
        if kind:
            nodes.append(helper.make_node(kind, [last], [f"a{i}"], names(f"act{i}")))
            last = f"a{i}"
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, c, 8, 8))
        for name, c in (("x", 3), (last, channels))
    )
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()
