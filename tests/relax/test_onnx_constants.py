"""What ONNX models compute from the shapes of their inputs becomes constants, and nothing else does."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")
pytest.importorskip("onnx", reason="needs onnx")

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tvm_memplan.relax.onnx_constants import fold_shapes


def model(nodes, dims, weights=(), outputs=("y",)):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def kinds(made):
    return [node.op_type for node in made.graph.node]


def grid(dims):
    """The columns of an image, added to it, as exporters write it for images of any size."""
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Shape", ["r"], ["s"]),
        helper.make_node("Gather", ["s", "last"], ["w"], axis=0),
        helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Range", ["zero", "f", "one"], ["columns"]),
        helper.make_node("Add", ["columns", "half"], ["middles"]),
        helper.make_node("Expand", ["middles", "s"], ["e"]),
        helper.make_node("Exp", ["e"], ["p"]),
        helper.make_node("Add", ["r", "p"], ["y"]),
    ]
    weights = [("last", np.int64(1)), *((n, np.float32(v)) for n, v in (("zero", 0), ("one", 1), ("half", 0.5)))]
    return model(nodes, dims, weights)


def test_arithmetic_on_shapes_that_are_given_becomes_constants():
    x = np.random.default_rng(1).normal(size=(3, 5)).astype("float32")
    expected = ReferenceEvaluator(grid(["h", "w"])).run(None, {"x": x})[0]
    folded = fold_shapes(grid(["h", "w"]), {"x": (3, 5)})
    # What may be computed in more than one way is left to TVM, and its input is a constant.
    assert kinds(folded) == ["Relu", "Exp", "Add"]
    assert ReferenceEvaluator(folded).run(None, {"x": x})[0].tobytes() == expected.tobytes()


def test_shapes_that_the_file_knows_need_not_be_given():
    assert kinds(fold_shapes(grid([3, 5]), {})) == ["Relu", "Exp", "Add"]


def test_shapes_that_the_file_notes_of_other_tensors_are_not_believed():
    """Whoever changes the size of an input leaves them as they were, and everybody else works them out again."""
    x = np.random.default_rng(2).normal(size=(3, 5)).astype("float32")
    stale = grid([3, 5])
    stale.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, (1, 5)))
    stale.graph.value_info.append(helper.make_tensor_value_info("s", TensorProto.INT64, (2,)))
    folded = fold_shapes(stale, {})
    expected = ReferenceEvaluator(grid([3, 5])).run(None, {"x": x})[0]
    assert ReferenceEvaluator(folded).run(None, {"x": x})[0].tobytes() == expected.tobytes()
    assert [list(tensor.dims) for tensor in folded.graph.initializer if tensor.name == "e"] == [[3, 5]]


def test_what_is_open_stays_as_it_was():
    assert kinds(fold_shapes(grid(["h", 5]), {})) == kinds(grid(["h", 5]))


def test_a_shape_behind_a_computed_reshape_is_found_too():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=0, end=1),
        helper.make_node("Concat", ["s", "rest"], ["to"], axis=0),
        helper.make_node("Reshape", ["x", "to"], ["flat"]),
        helper.make_node("Size", ["flat"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["flat", "f"], ["y"]),
    ]
    folded = fold_shapes(model(nodes, ["n", 2, 3], [("rest", np.array([-1], "int64"))]), {"x": (4, 2, 3)})
    assert kinds(folded) == ["Reshape", "Mul"]


def test_large_constants_and_quotients_of_negative_numbers_are_left_alone():
    nodes = [
        helper.make_node("Expand", ["one", "large"], ["e"]),
        helper.make_node("Div", ["minus", "two"], ["q"]),
        helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["e", "f"], ["g"]),
        helper.make_node("Add", ["x", "g"], ["y"]),
    ]
    weights = [
        ("one", np.float32(1)),
        ("large", np.array([1 << 20], "int64")),
        ("minus", np.int64(-7)),
        ("two", np.int64(2)),
    ]
    assert kinds(fold_shapes(model(nodes, [1], weights), {})) == kinds(model(nodes, [1], weights))


def test_a_range_in_fractions_is_left_alone():
    nodes = [
        helper.make_node("Range", ["zero", "one", "tenth"], ["r"]),
        helper.make_node("ReduceSum", ["r"], ["s"]),
        helper.make_node("Add", ["x", "s"], ["y"]),
    ]
    weights = [(name, np.float32(value)) for name, value in (("zero", 0), ("one", 1), ("tenth", 0.1))]
    assert kinds(fold_shapes(model(nodes, [1], weights), {})) == ["Range", "ReduceSum", "Add"]


def test_what_is_an_output_stays_computed():
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)]
    assert kinds(fold_shapes(model(nodes, [3, 5]), {})) == ["Cast"]
