"""Which tensor of a Relax function is which layer of the model: by front ends, by hand, with the line of the source."""

import math

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from tests.onnx_models import convolutions
from tests.tflite_layers import layers_of
from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.planning.model import Kind
from tvm_memplan.relax import plan, read_model


def named(report):
    return {row.layer: row for row in report.allocations if row.layer}


@I.ir_module
class Written:
    @R.function
    def main(x: R.Tensor((2, 8), "float32")):
        with R.dataflow():
            first = R.tanh(x)
            lv = R.exp(first)
            wide = R.concat([lv, first], axis=1)
            gv = R.sigmoid(wide)
            R.output(gv)
        return gv


def test_variables_are_names_and_lines_are_sources():
    report = plan(Written).report
    rows = named(report)
    assert {"first", "wide"} <= rows.keys() and not {"lv", "gv"} & rows.keys()
    assert rows["first"].tensor == "float32[2, 8]" and rows["wide"].tensor == "float32[2, 16]"
    lines = [int(rows[name].source.rpartition(":")[2]) for name in ("first", "wide")]
    assert lines[1] - lines[0] == 2
    assert all(rows[name].source.rpartition(":")[0] == __file__ for name in ("first", "wide"))
    # What has no name of its own has a place.
    (counted,) = (row for row in report.allocations if row.operator.endswith("exp"))
    assert counted.layer == "" and int(counted.source.rpartition(":")[2]) == lines[0] + 1


@I.ir_module
class Branching:
    @R.function
    def main(x: R.Tensor((2, 8), "float32"), which: R.Tensor((), "bool")) -> R.Tensor((2, 8), "float32"):
        other = R.logical_not(which)
        before = R.tanh(x)
        if other:
            inner = R.exp(before)
            y = R.add(inner, before)
        else:
            y = R.sigmoid(before)
        after = R.add(y, before)
        return after


@pytest.mark.parametrize("module", [Written, Branching])
def test_names_do_not_change_what_is_built(module):
    """The same functions, but for the names of variables."""
    changed = relax_dialect().with_sources(module)
    assert not changed.same_as(module)
    tvm.ir.assert_structural_equal(changed, module)
    relax.analysis.well_formed(changed)  # raises where it is not
    rows = named(plan(module).report)
    assert {"first", "wide"} <= rows.keys() or {"before", "other"} <= rows.keys()


@pytest.mark.parametrize("kind", ["Relu", "Tanh"])
def test_each_tensor_of_an_onnx_model_has_the_name_of_what_it_is(tmp_path, kind):
    path = tmp_path / "m.onnx"
    path.write_bytes(convolutions((kind,) * 4))
    report = plan(read_model(path)).report
    rows = named(report)
    for i in range(4):
        for name in (f"c{i}", f"a{i}"):
            row = rows[name]
            assert row.kind is Kind.OUTPUT if name == "a3" else row.kind is Kind.ACTIVATION
            assert row.shape == (1, 5 + 4 * i, 8, 8) and row.dtype == "float32"
            assert row.size == 4 * math.prod(row.shape)
    assert "x" in {row.name for row in report.allocations if row.kind is Kind.INPUT}
    for row in report.allocations:
        if row.kind is Kind.WORKSPACE:  # the padded input of a convolution
            number = int(row.layers[0].removeprefix("c"))
            assert row.size == 4 * (3 if number == 0 else 1 + 4 * number) * 10 * 10


def read_nodes(path, nodes, output):
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    given, made = ([helper.make_tensor_value_info(name, kind, (16, 16)) for name in names] for names in ("xy", output))
    graph = helper.make_graph([helper.make_node(*node[:3], **node[3]) for node in nodes], "g", given, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return read_model(path)


def test_what_a_layer_is_made_of_belongs_to_it_also_where_another_layer_comes_between(tmp_path):
    """Gemm scales and turns `a` for itself; only then is `b` computed, which it also takes."""
    nodes = [
        ("Sigmoid", ["x"], ["a"], {}),
        ("Softmax", ["y"], ["b"], {}),
        ("Gemm", ["a", "b"], ["z"], {"alpha": 0.5, "transA": 1}),
    ]
    report = plan(read_nodes(tmp_path / "m.onnx", nodes, "z")).report
    layers = {row.operator: row.layers for row in report.allocations}
    assert layers["multiply"] == layers["transpose"] == layers["matmul"] == ("z",)
    assert layers["tir_sigmoid"] == ("a",) and layers["softmax"] == ("b",)


def test_a_name_that_looks_like_a_place_in_a_file_is_no_place(tmp_path):
    nodes = [("Sigmoid", ["x"], ["a\x1ff.py:12"], {}), ("Add", ["a\x1ff.py:12", "y"], ["z"], {})]
    report = plan(read_nodes(tmp_path / "m.onnx", nodes, "z")).report
    assert {row.source for row in report.allocations} == {""}
    assert "z" in named(report)


def test_each_tensor_of_an_exported_program_says_its_module_and_its_line(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = torch.nn.Conv2d(3, 5, 3, padding=1)
            self.head = torch.nn.Linear(5, 7)

        def forward(self, x):
            y = torch.tanh(self.stem(x))
            return self.head(y.mean((2, 3)))

    path = tmp_path / "m.pt2"
    torch.export.save(torch.export.export(Net().eval(), (torch.randn(1, 3, 8, 8),)), path)
    rows = named(plan(read_model(path)).report)
    (stem,) = (row for name, row in rows.items() if name.startswith("stem/"))
    (head,) = (row for name, row in rows.items() if name.startswith("head/addmm"))
    assert stem.shape == rows["tanh"].shape == (1, 5, 8, 8) and head.shape == (1, 7)
    files = {row.source.rpartition(":")[0] for row in rows.values()}
    assert files == {__file__}
    assert int(head.source.rpartition(":")[2]) == int(rows["tanh"].source.rpartition(":")[2]) + 1


def test_in_a_real_model_every_name_is_that_of_a_tensor_of_this_shape(shared_data):
    path = shared_data / "models" / "mlperf_tiny" / "kws_ref_model.tflite"
    shapes, made = layers_of(path)
    report = plan(read_model(path)).report
    rows = [row for row in report.allocations if row.layer]
    assert len(rows) >= len(made) - 2
    for row in rows:
        assert row.shape == shapes[row.layers[-1]] and row.dtype == "int8"
    order = [row.layers[-1] for row in rows]
    assert order == sorted(order, key=made.index)
    assert all(row.layers for row in report.allocations if row.kind in (Kind.ACTIVATION, Kind.WORKSPACE))
