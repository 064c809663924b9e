"""What an ONNX model computes from the shapes of its tensors becomes constants, as far as those shapes are known.

::

    Shape(x) -> Gather -> Cast -> Range -> Expand          with x f32[1, 64, 40, 40]:  a constant grid of 40 x 40

Exporters write such arithmetic for models that take images of any size. With the sizes given it computes constants,
but TVM's front end makes tensors of sizes unknown at compile time of it, for which TVM has no kernels, and whose memory
nobody could plan.

Only operators whose result every implementation agrees on to the last bit are computed here (they move elements,
compare them, or round once), and only what is small: weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

#: Operators with one right result. Sums over many elements, and functions such as Exp, are not among them.
_EXACT = frozenset(
    (
        *("Abs", "Add", "And", "Cast", "Ceil", "Concat", "Constant", "ConstantOfShape", "Div", "Equal", "Expand"),
        *("Flatten", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual", "Max", "Min"),
        *("Mul", "Neg", "Not", "Or", "Range", "Reshape", "Shape", "Size", "Slice", "Split", "Squeeze", "Sub", "Tile"),
        *("Transpose", "Unsqueeze", "Where"),
    )
)
#: Bytes: what is larger is data rather than arithmetic on shapes.
_MOST = 1 << 20
#: How often shapes are worked out again with the constants that were found; each round gets past one Reshape at least.
_ROUNDS = 8


def fold_shapes(model: Any, shapes: Mapping[str, tuple[int, ...]]) -> Any:
    """Compute what follows from the shapes of a model's inputs.

    Parameters
    ----------
    model : onnx.ModelProto
        Is changed: what was computed becomes initializers.
    shapes : mapping of str to tuple of int
        Shapes of inputs that the model leaves open.

    Returns
    -------
    onnx.ModelProto
        The same model. What cannot be computed stays in it as it was.
    """
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ())):
            dim.dim_value = size
    # They were worked out for open dimensions, or for others: who changes the size of an input leaves these behind.
    del model.graph.value_info[:]
    folder = _Folder(model)
    for _ in range(_ROUNDS):
        if not folder.found_more():
            break
    return model


class _Folder:
    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        self.model = model
        self.graph = model.graph
        self.known: dict[str, Any] = {
            tensor.name: numpy_helper.to_array(tensor)
            for tensor in self.graph.initializer
            if tensor.ByteSize() <= _MOST and not tensor.external_data
        }
        self.kept = {value.name for value in self.graph.output}

    def found_more(self) -> bool:
        """Replace the nodes that can be computed now; says whether there were any."""
        from onnx import numpy_helper

        dims = self._dims()
        rest, made = [], {}
        for node in self.graph.node:
            values = self._computed(node, dims)
            if values is None:
                rest.append(node)
            else:
                made.update(values)
                self.known.update(values)
        if not made:
            return False
        used = {name for node in rest for name in _names(node)}
        self.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in made.items() if name in used
        )
        del self.graph.node[:]
        self.graph.node.extend(rest)
        return True

    def _dims(self) -> dict[str, tuple[int, ...]]:
        """The shapes that are known throughout, by tensor."""
        import onnx

        try:
            graph = onnx.shape_inference.infer_shapes(self.model, data_prop=True).graph
        except Exception:
            # A model that this checks too strictly, or one too large for it; nothing is known then.
            return {}
        found = {}
        for value in (*graph.input, *graph.value_info):
            kind = value.type.tensor_type
            if value.type.HasField("tensor_type") and kind.HasField("shape"):
                dims = tuple(dim.dim_value for dim in kind.shape.dim)
                if all(dims):
                    found[value.name] = dims
        return found

    def _computed(self, node: Any, dims: Mapping[str, tuple[int, ...]]) -> dict[str, Any] | None:
        """The outputs of a node by name, None where it is not one for us."""
        if node.domain not in ("", "ai.onnx") or node.op_type not in _EXACT or self.kept.intersection(node.output):
            return None
        if node.op_type in ("Shape", "Size") and node.input[0] in dims:
            return _of_shape(node, dims[node.input[0]])
        if any(name and name not in self.known for name in node.input):
            return None
        if node.op_type == "Div" and any((self.known[name] < 0).any() for name in node.input):
            # Whether a quotient of integers is rounded down or to zero has been read in two ways.
            return None
        if node.op_type == "Range" and any(float(self.known[name]) % 1 for name in node.input):
            # With other steps than whole ones, more is rounded than once.
            return None
        large = sum(self.known[name].nbytes for name in node.input if name)
        if large > _MOST or _size_of_result(node, self.known) > _MOST:
            return None
        return self._evaluated(node)

    def _evaluated(self, node: Any) -> dict[str, Any] | None:
        from onnx import TensorProto, helper
        from onnx.reference import ReferenceEvaluator

        names = [name for name in dict.fromkeys(node.input) if name]
        outputs = [name for name in node.output if name]
        kinds = {name: helper.np_dtype_to_tensor_dtype(self.known[name].dtype) for name in names}
        graph = helper.make_graph(
            [node],
            "one node",
            [helper.make_tensor_value_info(name, kinds[name], None) for name in names],
            [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        )
        alone = helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        try:
            values = ReferenceEvaluator(alone).run(None, {name: self.known[name] for name in names})
        except Exception:
            # The model is at fault, or the evaluator does not know this form of the operator: TVM may.
            return None
        found = {name: np.asarray(value) for name, value in zip(outputs, values)}
        plain = all(value.dtype.kind in "biuf" and 0 < value.nbytes <= _MOST for value in found.values())
        return found if plain else None


def _of_shape(node: Any, dims: tuple[int, ...]) -> dict[str, Any]:
    if node.op_type == "Size":
        return {node.output[0]: np.array(prod(dims), "int64")}
    ends = {attribute.name: attribute.i for attribute in node.attribute}
    return {node.output[0]: np.array(dims[ends.get("start", 0) : ends.get("end", len(dims))], "int64")}


def _size_of_result(node: Any, known: Mapping[str, Any]) -> int:
    """Roughly the bytes of what a node makes, for those that make much of little."""
    inputs = [known[name] for name in node.input if name]
    if node.op_type in ("ConstantOfShape", "Expand") and inputs:
        return 8 * prod(int(size) for size in inputs[-1].ravel())
    if node.op_type == "Tile":
        return int(inputs[0].nbytes * prod(int(count) for count in inputs[1].ravel()))
    if node.op_type == "Range":
        start, limit, delta = (float(value) for value in inputs)
        return int(8 * max((limit - start) / delta, 0)) if delta else 0
    return sum(value.nbytes for value in inputs)


def _names(node: Any) -> set[str]:
    """Every tensor that a node reads, also in the graphs inside it."""
    found = set(node.input)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            found |= {name for inner in graph.node for name in _names(inner)} | {value.name for value in graph.output}
    return found
