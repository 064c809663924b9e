"""``tvm-memplan export`` as a user runs it."""

import json

import pytest

from tests.export.tools import needs_compiler

pytestmark = pytest.mark.needs_relay

BOARD = """
cpu = "cortex-m3"

[[regions]]
name = "sram"
kind = "sram"
address = 0x20000000
size_bytes = {ram}

[[regions]]
name = "flash"
kind = "flash"
address = 0x0
size = "1 MiB"
"""


@pytest.fixture
def model(tmp_path):
    import tvm

    from tests.relay import networks

    path = tmp_path / "tiny-net.json"
    path.write_text(tvm.ir.save_json(networks.integer()))
    return path


def board(tmp_path, ram):
    path = tmp_path / "my.toml"
    path.write_text(BOARD.format(ram=ram))
    return path


def test_a_model_becomes_a_folder_with_a_plan_that_is_judged_when_read(run, tmp_path, model):
    from tvm_memplan.planning.files import read_plan

    made = run("export", model, "--board", board(tmp_path, 1 << 18), "--reserve", "8KiB", "-o", "out")
    assert "fits my" in made.stdout
    folder = tmp_path / "out"
    assert {"tiny_net.h", "tiny_net.c", "Makefile", "README.md", "memory.ld", "startup.c"} <= {
        path.name for path in folder.iterdir()
    }
    plan = read_plan(folder / "plan.json")
    assert f"TINY_NET_ARENA_SRAM_SIZE_BYTES {plan.size('sram')}\n" in (folder / "tiny_net.h").read_text()
    assert json.loads((folder / "report.json").read_text())["model"] == "tiny-net.json"


def test_a_model_that_is_too_large_leaves_no_folder_and_says_need_have_and_excess(run, tmp_path, model):
    made = run("export", model, "--board", board(tmp_path, 2048), "-o", "out", "--json", "out.json", code=1)
    for word in ("need", "have", "excess B", "does not fit my", "out was not written"):
        assert word in made.stdout
    assert not (tmp_path / "out").exists()
    fields = json.loads((tmp_path / "out.json").read_text())
    assert (fields["format"], fields["verdict"]["fits"], fields["folder"], fields["files"], fields["ram"]) == (
        "tvm-memplan/export",
        False,
        None,
        [],
        None,
    )


def test_a_region_that_is_not_there_is_named_before_the_model_is_read(run, tmp_path):
    made = run("export", "none.tflite", "--board", board(tmp_path, 4096), "-o", "x", "--memory", "dtcm", code=2)
    assert "no RAM is called 'dtcm'; there is sram" in made.stderr


@needs_compiler
def test_what_is_enough_to_run_is_said_after_a_build(run, tmp_path, model):
    asked = ("--build", "--caller-io", "--json", "out.json")
    made = run("export", model, "--board", board(tmp_path, 1 << 18), "-o", "out", *asked)
    assert "enough to run" in made.stdout
    assert "inputs and outputs" in made.stdout
    fields = json.loads((tmp_path / "out.json").read_text())
    assert fields["folder"] == "out" and set(fields["files"]) <= {path.name for path in (tmp_path / "out").iterdir()}
    assert f"{fields['ram']['enough_bytes']:,}" in made.stdout and fields["ram"]["stack_bytes"] > 0
