"""The commands with models of the Relax line."""

import json

import pytest

pytestmark = pytest.mark.needs_relax

NET = """
@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")):
        a = R.nn.relu(R.matmul(x, w))
        b = R.nn.softmax(R.matmul(a, w), axis=-1)
        return b
"""


@pytest.fixture
def net(tmp_path):
    (tmp_path / "net.relax").write_text(NET)
    return "net.relax"


def test_a_model_fits_a_board_at_a_bound_of_its_dimensions(run, tmp_path, net):
    made = run("check", net, "--board", "stm32f746g_disco", "--bound", "n=8", "--json", "out.json")
    assert "net.relax fits stm32f746g_disco" in made.stdout
    fields = json.loads((tmp_path / "out.json").read_text())
    assert fields["verdict"]["fits"] and not fields["report"]["left_alone"]
    made = run("check", net, "--board", "stm32f746g_disco", "--bound", "n=4096", code=1)
    assert "net.relax does not fit stm32f746g_disco" in made.stdout


def test_what_would_help_is_told_of_what_is_placed_and_not_of_the_callers(run, net):
    fields = json.loads(run("suggest", net, "--bound", "n=256", "--json", "-").stdout)
    assert fields["planned_bytes"] == fields["bound_bytes"] == 2 * 256 * 64 * 4
    named = {name for one in fields["smaller_peak"] for name in one["buffers"]}
    assert named and not named & {"x", "w"}


def test_what_is_unbounded_is_said_in_a_plan(run, net):
    made = run("plan", net)
    assert "unbounded in n" in made.stdout
    assert "which no function takes: there are n" in run("plan", net, "--bound", "m=8", code=2).stderr
    assert "'n=' is no bound" in run("plan", net, "--bound", "n=", code=2).stderr


def test_outputs_and_donated_inputs_are_options_of_a_model(run, tmp_path, net):
    made = run("plan", net, "--bound", "n=8", "--outputs", "arena", "--donate", "x", "--json", "out.json")
    assert "input 'x' is donated" in made.stdout
    rows = {row["kind"]: row["pool"] for row in json.loads((tmp_path / "out.json").read_text())["allocations"]}
    assert rows["output"] in ("arena", "donated x")
    made = run("check", net, "--board", "stm32f746g_disco", "--bound", "n=8", "--outputs", "caller")
    assert "parameter 'output', which the caller supplies" in " ".join(made.stdout.split())
    assert "'main' takes x, w" in run("plan", net, "--bound", "n=8", "--donate", "y", code=2).stderr
    (tmp_path / "p.csv").write_text("id,lower,upper,size\n1,0,1,8\n")
    assert "--donate is for models" in run("plan", "p.csv", "--donate", "y", code=2).stderr


def test_a_saved_module_is_read(run, tmp_path):
    import tvm

    from tests.relax.programs import Sibling

    (tmp_path / "m.json").write_text(tvm.ir.save_json(Sibling))
    made = run("plan", "m.json", "--capacity", "100", code=1)
    assert "m.json, planned with auto for c" in made.stdout


def test_an_onnx_model_is_read(run, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Sqrt", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    made = run("plan", "m.onnx", "--shape", "x=4,16")
    assert "m.onnx, planned with auto for c" in made.stdout and "arena" in made.stdout
    assert "there is no input 'z'; the inputs are x" in run("plan", "m.onnx", "--shape", "z=4", code=2).stderr
    assert "input 'x' has 2 dimensions, and 1 are given" in run("plan", "m.onnx", "--shape", "x=4", code=2).stderr


@pytest.mark.parametrize("name", ["m.tflite", "m.onnx", "m.pt2", "m.relax", "m.json", "m.bin"])
def test_a_model_that_is_none_is_bad_input_that_names_the_file(run, tmp_path, name):
    (tmp_path / name).write_bytes(b"this is no model")
    assert name in run("check", name, "--board", "nrf52840dk", code=2).stderr
