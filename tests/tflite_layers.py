"""What a TFLite file says of its layers, read without the front ends that are tested."""

import pytest


def layers_of(path):
    """The shape of each tensor by its name, and the names of what the operators make, in their order."""
    tflite = pytest.importorskip("tflite")
    if not path.is_file():
        pytest.skip(f"no {path.name}")
    graph = tflite.Model.GetRootAsModel(path.read_bytes(), 0).Subgraphs(0)
    tensors = [graph.Tensors(i) for i in range(graph.TensorsLength())]
    shapes = {tensor.Name().decode(): tuple(tensor.ShapeAsNumpy()) for tensor in tensors}
    made = [tensors[graph.Operators(i).Outputs(0)].Name().decode() for i in range(graph.OperatorsLength())]
    return shapes, made
