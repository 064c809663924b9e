"""Model files: what is read, and what is said about files that cannot be."""

import sys

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

import tvm
from tvm import relay

from tests.relay import networks
from tvm_memplan.errors import BadInput, MissingDependency, UnsupportedIR
from tvm_memplan.relay import plan, read_model


@pytest.fixture
def tiny_tflite(shared_data):
    return (shared_data / "models" / "tflm" / "hello_world_int8.tflite").read_bytes()


def onnx_bytes(operators=("Relu",), shape=(1, 8)):
    onnx = pytest.importorskip("onnx")
    nodes, last = [], "x"
    for number, operator in enumerate(operators):
        nodes.append(onnx.helper.make_node(operator, [last], [f"v{number}"]))
        last = f"v{number}"
    tensors = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("x", last)]
    graph = onnx.helper.make_graph(nodes, "g", tensors[:1], tensors[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()


def refusal(path, content=None, **options):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_model(path, **options)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_tflite_model_is_read(tmp_path, tiny_tflite):
    path = tmp_path / "m.tflite"
    path.write_bytes(tiny_tflite)
    mod, params = read_model(path)
    assert "main" in [var.name_hint for var in mod.get_global_vars()]
    assert params


def test_an_onnx_model_is_read_and_planned(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_bytes(("Relu", "Softmax")))
    assert plan(*read_model(path)).report.allocations


@pytest.mark.parametrize("suffix", [".relay", ".txt", ".json"])
def test_a_relay_module_is_read_as_it_was(tmp_path, suffix):
    mod = networks.no_workspace()
    path = tmp_path / f"m{suffix}"
    path.write_text(tvm.ir.save_json(mod) if suffix == ".json" else mod.astext())
    read, params = read_model(path)
    assert params == {}
    assert tvm.ir.structural_equal(relay.transform.InferType()(read), mod)


@pytest.mark.parametrize("suffix", [".tflite", ".onnx", ".relay", ".json"])
def test_missing_and_empty_files_are_named(tmp_path, suffix):
    assert "No such file" in refusal(tmp_path / f"m{suffix}")
    assert "empty" in refusal(tmp_path / f"m{suffix}", b"")


def test_an_unknown_kind_of_file_is_named(tmp_path):
    assert ".tflite, .onnx" in refusal(tmp_path / "m.pt", b"x")


@pytest.mark.parametrize("suffix", [".tflite", ".onnx", ".relay", ".json"])
def test_noise_is_refused(tmp_path, suffix):
    refusal(tmp_path / f"m{suffix}", np.random.default_rng(0).integers(0, 256, 500).astype("uint8").tobytes())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_tflite_model_is_refused(tmp_path, tiny_tflite, share):
    assert "truncated or damaged" in refusal(tmp_path / "m.tflite", tiny_tflite[: int(len(tiny_tflite) * share)])


def test_a_truncated_onnx_model_is_refused(tmp_path):
    whole = onnx_bytes(("Relu", "Softmax"))
    assert "truncated" in refusal(tmp_path / "m.onnx", whole[: len(whole) - 7])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.relay", '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1), float32]) { nn.relu(%y) }\n'),
        ("m.relay", "hello"),
        ("m.json", '{"root": 1, "nodes": ['),
        ("m.json", '{"a": 3}'),
        ("m.json", "[1, 2]"),
    ],
)
def test_a_broken_relay_module_is_refused(tmp_path, name, content):
    refusal(tmp_path / name, content.encode())


def test_json_of_something_else_is_named(tmp_path):
    assert "IntImm" in refusal(tmp_path / "m.json", tvm.ir.save_json(tvm.tir.const(3, "int32")).encode())


def test_an_onnx_operator_that_the_front_end_lacks_is_named(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_bytes(("Relu", "NoSuchOperator", "NorThisOne")))
    with pytest.raises(UnsupportedIR, match=r"NoSuchOperator.*|NorThisOne") as caught:
        read_model(path)
    assert "NoSuchOperator" in str(caught.value) and "NorThisOne" in str(caught.value)


def test_an_open_dimension_is_named_and_can_be_given(tmp_path):
    path = tmp_path / "m.onnx"
    message = refusal(path, onnx_bytes(shape=("batch", 8)))
    assert "dimension 0 (batch) of input 'x'" in message
    assert "shapes={'x': (1, 8)}" in message
    mod, _ = read_model(path, shapes={"x": (4, 8)})
    assert [int(extent) for extent in mod["main"].params[0].type_annotation.shape] == [4, 8]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": (1, 8)}, "no input 'y'; the inputs are x"),
        ({"x": (1, 8, 1)}, "2 dimensions"),
        ({"x": (1, 9)}, "dimension 1 of input 'x' is 8"),
        ({"x": (0, 8)}, "positive"),
    ],
)
def test_a_given_shape_that_does_not_go_with_the_model_is_refused(tmp_path, shapes, message):
    assert message in refusal(tmp_path / "m.onnx", onnx_bytes(shape=("batch", 8)), shapes=shapes)


def test_shapes_are_for_onnx_only(tmp_path):
    assert "ONNX only" in refusal(tmp_path / "m.relay", b"x", shapes={"x": (1,)})


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, tiny_tflite):
    path = tmp_path / "m.tflite"
    path.write_bytes(tiny_tflite)
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(MissingDependency, match=r"tvm-memplan\[relay\]"):
        read_model(path)
