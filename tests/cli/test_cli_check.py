import importlib.util
import json

import pytest

needs_relay = pytest.mark.needs_relay
without_tvm = pytest.mark.skipif(importlib.util.find_spec("tvm") is not None, reason="only where there is no TVM")


def test_reserves_of_several_regions_count_each(run):
    disco = ("check", "gone.tflite", "--board", "stm32f746g_disco")
    made = run(*disco, "--reserve", "dtcm=60KiB", "--reserve", "dtcm=8KiB", code=2)
    assert "a reserve of 69,632 B (68.0 KiB) is more than region 'dtcm' has" in made.stderr
    assert "gone.tflite: no such file" in run(*disco, "--reserve", "dtcm=60KiB", "--reserve", "8KiB", code=2).stderr
    assert "names no region" in run("check", "m.tflite", "--board", "b", "--reserve", "=2KiB", code=2).stderr


def test_the_board_is_checked_before_the_model(run):
    assert "no board 'nrf'" in run("check", "gone.tflite", "--board", "nrf", code=2).stderr
    made = run("check", "gone.tflite", "--board", "nrf52840dk", "--reserve", "1MiB", code=2)
    assert "is more than region 'sram' has" in made.stderr
    made = run("check", "gone.tflite", "--board", "nrf52840dk", "--reserve", "ccm=1KiB", code=2)
    assert "no region 'ccm'; it has sram, flash" in made.stderr


def test_a_missing_model_is_bad_input(run):
    assert "gone.tflite: no such file" in run("check", "gone.tflite", "--board", "nrf52840dk", code=2).stderr


@without_tvm
def test_without_tvm_the_message_names_the_extra(run, tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"TFL3")
    assert "pip install 'tvm-memplan[relay]'" in run("check", "m.tflite", "--board", "nrf52840dk", code=2).stderr


@needs_relay
@pytest.mark.parametrize("name", ["m.tflite", "m.onnx", "m.relay", "m.json", "m.bin"])
def test_a_model_that_is_none_is_bad_input_that_names_the_file(run, tmp_path, name):
    (tmp_path / name).write_bytes(b"this is no model")
    assert name in run("check", name, "--board", "nrf52840dk", code=2).stderr


@needs_relay
def test_a_target_that_is_none_is_bad_input(run, tmp_path):
    (tmp_path / "net.relay").write_text(NET)
    made = run("check", "net.relay", "--board", "nrf52840dk", "--target", "flux", code=2)
    assert "target 'flux'" in made.stderr and '"flux" is not defined' in made.stderr
    assert "target ''" in run("check", "net.relay", "--board", "nrf52840dk", "--target", "", code=2).stderr
    made = run("check", "net.relay", "--board", "nrf52840dk", "--target", "cuda", code=2)
    assert "planned for llvm and c, not 'cuda'" in made.stderr
    made = run("check", "net.relay", "--board", "nrf52840dk", "--target", "llvm -mtriple=foo", code=2)
    assert "the code generator crashed" in made.stderr


NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 64, 64), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  nn.relu(%0)
}
"""


@needs_relay
@pytest.mark.parametrize(("board", "code"), [("mps2_an385", 0), ("frdm_k64f", 1)])
def test_the_exit_code_is_the_verdict(run, tmp_path, board, code):
    (tmp_path / "net.relay").write_text(NET)
    made = run("check", "net.relay", "--board", board, "--json", "out.json", "--suggest", code=code)
    assert f"net.relay {'fits' if code == 0 else 'does not fit'} {board}" in made.stdout
    fields = json.loads((tmp_path / "out.json").read_text())
    assert fields["verdict"]["fits"] == (code == 0)
    assert (sum(region["excess_bytes"] for region in fields["verdict"]["regions"]) == 0) == (code == 0)
    assert max(map(len, made.stdout.splitlines())) <= 100
    # What would help is for the one that needs help.
    assert ("for a smaller peak:" in made.stdout) == bool(fields["suggestions"]) == (code == 1)
    if code == 1:
        assert fields["suggestions"]["smaller_peak"][0]["gain_bytes"] > 0


@needs_relay
def test_json_is_printed_in_the_place_of_text(run, tmp_path):
    (tmp_path / "net.relay").write_text(NET)
    fields = json.loads(run("check", "net.relay", "--board", "frdm_k64f", "--json", "-", code=1).stdout)
    assert (fields["format"], fields["version"], fields["suggestions"]) == ("tvm-memplan/check", 1, None)


@needs_relay
def test_a_real_model_fits_its_board(run, shared_data):
    model = next((shared_data / "models").rglob("kws_ref_model.tflite"))
    made = run("check", model, "--board", "nrf52840dk", "--reserve", "24KiB")
    assert "kws_ref_model.tflite fits nrf52840dk" in made.stdout
