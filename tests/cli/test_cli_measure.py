"""``tvm-memplan measure`` as a user runs it."""

import json
import shutil

import pytest

from tests.report.measured.test_log import LOG
from tvm_memplan.measuring import watch
from tvm_memplan.planning.files import plan_to_json
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem

needs_watch = pytest.mark.skipif(bool(watch.why_not()), reason=watch.why_not() or "can be watched")

NET = """
@I.ir_module
class Net:
    @R.function
    def {name}(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")):
        a = R.nn.relu(R.matmul(x, w))
        b = R.nn.softmax(R.matmul(a, w), axis=-1)
        return b
"""


@pytest.fixture
def plan(tmp_path):
    """A plan of the two pools that the log has, of the first with so many bytes."""

    def plan(size):
        buffers = (
            Buffer("a", size, (LiveRange(0, 1),), pools=("sram1+sram2",)),
            Buffer("b", 64, (LiveRange(0, 1),), pools=("dtcm",)),
        )
        places = (Placement("sram1+sram2", 0), Placement("dtcm", 0))
        made = Plan(Problem(buffers, (Pool("sram1+sram2"), Pool("dtcm"))), places)
        (tmp_path / "plan.json").write_text(plan_to_json(made))
        return "plan.json"

    return plan


def test_the_log_of_a_board_is_held_against_a_plan(run, tmp_path, plan):
    (tmp_path / "serial.txt").write_text(LOG)
    made = run("measure", plan(1000), "--from", "serial.txt", "--json", "out.json")
    assert "the plan holds" in made.stdout and "512 B used of 4,096 B" in made.stdout
    assert json.loads((tmp_path / "out.json").read_text())["pools"][0]["measured_bytes"] == 950
    made = run("measure", plan(900), "--from", "-", input=LOG, code=1)
    assert "the plan does not hold" in made.stdout and "100 B more" in made.stdout


def test_bad_input_is_named(run, tmp_path, plan):
    (tmp_path / "serial.txt").write_text(LOG.partition("memplan: stack")[0])
    assert "the log was cut short" in run("measure", plan(1000), "--from", "serial.txt", code=2).stderr
    assert "serial.log" in run("measure", plan(1000), "--from", "serial.log", code=2).stderr
    assert "nobody.tflite: no such file" in run("measure", "nobody.tflite", code=2).stderr
    assert "no report.json" in run("measure", ".", code=2).stderr
    assert "./report.json" in run("measure", ".", "--from", "serial.txt", code=2).stderr
    assert "--run is for a folder" in run("measure", plan(9), "--run", "qemu", code=2).stderr
    assert "for models that are built here" in run("measure", plan(9), "--from", "x", "--shape", "x=1", code=2).stderr
    assert "is not a number of 1 or more" in run("measure", plan(9), "--inputs", "0", code=2).stderr


@pytest.mark.needs_relax
@needs_watch
def test_a_relax_model_runs_at_the_bound_of_its_dimensions(run, tmp_path):
    (tmp_path / "net.relax").write_text(NET.format(name="forward"))
    made = run("measure", "net.relax", "--bound", "n=8", "--inputs", "1", "--json", "out.json")
    fields = json.loads((tmp_path / "out.json").read_text())
    assert fields["holds"] and fields["model"] == "net.relax" and fields["runs"] == 2
    arena = next(pool for pool in fields["pools"] if pool["pool"] == "arena")
    assert arena["planned_bytes"] == arena["measured_bytes"] > 0 and "the plan holds" in made.stdout


@pytest.mark.needs_relay
@needs_watch
def test_a_relay_model_runs_here_and_as_c_on_an_emulated_board(run, tmp_path):
    import tvm

    from tests.relay import networks

    (tmp_path / "net.json").write_text(tvm.ir.save_json(networks.no_weights()))
    made = run("measure", "net.json", "--inputs", "1")
    assert "net.json, planned and measured: 2 runs on this machine" in made.stdout and "the plan holds" in made.stdout
    assert "--bound is for models" in run("measure", "net.json", "--bound", "n=3", code=2).stderr
    if not (shutil.which("qemu-system-arm") and shutil.which("arm-none-eabi-gcc")):
        return
    run("export", "net.json", "--board", "mps2_an385", "--reserve", "8KiB", "-o", "c")
    made = run("measure", "c")
    assert "the plan holds" in made.stdout and "stack: " in made.stdout


def test_help_says_what_the_exit_codes_mean(run):
    assert "1 something is written or asked for beyond it" in run("measure", "--help").stdout
