"""Which tensor of the lowered program is which layer of the model: shown by shapes that no two layers share.

The front ends' names come from the model's file; what is checked is that the buffer that has a name has the size and
the shape of the tensor that the file calls so, and that the operator which writes it is the right one.
"""

import math

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

import tvm
from tvm import relay

from tests.onnx_models import convolutions
from tests.tflite_layers import layers_of
from tvm_memplan.dialects.relay.layers import LayerTracker
from tvm_memplan.planning.model import Kind
from tvm_memplan.relay import host_config, micro_config, plan, read_model
from tvm_memplan.report.origin import short_names


def named(report):
    return {row.layer: row for row in report.allocations if row.layer}


def planned(tmp_path, data, config):
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    model = read_model(path)
    return plan(model.mod, model.params, config).report


@pytest.mark.parametrize(
    ("config", "kind"), [(micro_config, "Relu"), (host_config, "Tanh"), (micro_config, "BatchNormalization")]
)
def test_each_tensor_has_the_name_of_the_layer_that_computes_it(tmp_path, config, kind):
    report = planned(tmp_path, convolutions((kind,) * 3), config())
    rows = named(report)
    for i in range(3):
        row = rows[f"act{i}"]
        assert row.kind in (Kind.ACTIVATION, Kind.OUTPUT)
        assert math.prod(row.shape) == (5 + 4 * i) * 64 and row.size == 4 * (5 + 4 * i) * 64
        assert row.dtype == "float32"
        assert f"act{i}" in row.layers
    # What an operator needs for itself belongs to its layers, and to no other.
    for row in report.allocations:
        if row.kind is Kind.WORKSPACE:
            assert row.layers and not row.layer and "workspace" not in row.title
            assert row.layers[-1] == report.step_layers[row.live_ranges[0].start] in rows


def test_the_layers_of_an_operator_are_those_that_were_fused_into_it(tmp_path):
    rows = named(planned(tmp_path, convolutions(("Relu",) * 3), micro_config()))
    assert [rows[f"act{i}"].layers for i in range(3)] == [(f"conv{i}", f"act{i}") for i in range(3)]


def test_equal_operators_of_two_layers_are_told_apart(tmp_path):
    """Two dense layers of one shape, the same function to TVM but for its weights: by these they are known."""
    onnx = pytest.importorskip("onnx")
    helper, rng = onnx.helper, np.random.default_rng(5)
    weights = [onnx.numpy_helper.from_array(rng.standard_normal((8, 8)).astype("float32"), f"w{n}") for n in "qkv"]
    nodes = [helper.make_node("MatMul", ["x", f"w{n}"], [n], f"dense_{n}") for n in "qkv"]
    nodes += [helper.make_node("Softmax", [n], [f"s{n}"], f"softmax_{n}") for n in "qkv"]
    nodes += [helper.make_node("Sub", ["sq", "sk"], ["d"], "sub"), helper.make_node("Mul", ["d", "sv"], ["y"], "mul")]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (4, 8)) for name in "xy")
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], weights), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    report = planned(tmp_path, model.SerializeToString(), micro_config())
    rows = named(report)
    assert {f"dense_{n}" for n in "qkv"} <= rows.keys()
    reads = {n: rows[f"dense_{n}"] for n in "qkv"}
    assert len({row.name for row in reads.values()}) == 3
    order = sorted("qkv", key=lambda n: reads[n].live_ranges[0].start)
    steps = [report.step_layers[reads[n].live_ranges[0].start] for n in order]
    assert steps == [f"dense_{n}" for n in order]


def test_in_a_real_model_every_name_is_that_of_a_tensor_of_this_shape(shared_data):
    path = shared_data / "models" / "mlperf_tiny" / "kws_ref_model.tflite"
    shapes, made = layers_of(path)
    model = read_model(path)
    report = plan(model.mod, model.params, micro_config(), io_in_pool=True).report
    short = short_names(made)
    full = {short[name]: name for name in made}
    rows = named(report)
    assert set(rows) <= set(full)
    for layer, row in rows.items():
        assert math.prod(row.shape) == math.prod(shapes[full[layer]])
        assert row.size == math.prod(shapes[full[layer]])  # int8
    # They come in the model's order, and all but views and what is fused away have one.
    order = [full[row.layer] for row in report.allocations if row.layer]
    assert order == sorted(order, key=made.index)
    tensors_between = [row for row in report.allocations if row.kind is Kind.ACTIVATION]
    assert sum(bool(row.layer) for row in tensors_between) >= len(tensors_between) - 2
    assert all(row.layers for row in tensors_between)


def test_the_lines_of_a_text_are_not_told_since_the_parser_has_them_wrong():
    """Should TVM come to have them right, they can be told: both calls would be in the lines where they stand."""
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 8), float32]) {\n  %0 = nn.softmax(%x);\n  tanh(%0)\n}\n'
    module, lines = relay.parse(text, "m.relay"), {}
    relay.analysis.post_order_visit(
        module["main"],
        lambda node: lines.update({node.op.name: node.span.line} if isinstance(node, relay.Call) else {}),
    )
    assert lines != {"nn.softmax": 3, "tanh": 4}
    tracker = LayerTracker()
    tracker.before("InferType", relay.transform.InferType()(module))
    assert not tracker.layers


def test_a_model_without_names_has_shapes_all_the_same():
    x = relay.var("x", shape=(1, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.softmax(x))))
    report = plan(mod, {}, micro_config()).report
    assert all(row.layer == "" and row.layers == () for row in report.allocations)
    assert [row.tensor for row in report.allocations if row.kind is Kind.ACTIVATION] == ["float32[1, 8]"]
    assert report.step_layers == ()


def test_a_name_is_lost_rather_than_given_to_another_tensor():
    """A pass that the tracker knows nothing of changes the program under its hands."""
    x = relay.var("x", shape=(1, 8))
    span = tvm.ir.Span(tvm.ir.SourceName("layer"), 0, 0, 0, 0)
    call = relay.nn.softmax(x)
    call = relay.Call(call.op, call.args, call.attrs, None, span)
    tracker = LayerTracker()
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    tracker.before("InferType", module)
    assert [layer.name for layers in tracker.layers.values() for layer in layers] == ["layer"]
    other = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.tanh(x))))
    tracker.before("SimplifyExpr", other)
    tracker.after("SimplifyExpr", other)
    fused = relay.transform.ToANormalForm()(relay.transform.InferType()(relay.transform.FuseOps(0)(other)))
    tracker.before("LowerTE", fused)
    assert all(own is None and not inside for own, inside in tracker.by_let.values())
