"""Exported models on emulated Cortex-M boards, beside TVM's unplanned build on this machine.

The arena is filled with a pattern before each run and has a guard behind it; outputs are compared byte by byte, and
so is, by a hash, every tensor that one operator hands to the next.
"""

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

from tests.export.boards import four_memories, one_memory, two_memories
from tests.export.emulator import (
    build,
    run_on_board,
    run_on_host,
    tensor_sizes,
)
from tests.export.tools import needs_board, needs_compiler
from tests.relay import networks
from tests.relay.execution import unplanned
from tvm_memplan.budget import Reserve
from tvm_memplan.errors import DoesNotFit, OverBudget
from tvm_memplan.planning.model import Placement, Plan
from tvm_memplan.relay import export, micro_config

ROOMY = 1 << 20


def batches_of(mod, params=None, count=4):
    return [list(networks.inputs_of(mod, seed, params).values()) for seed in range(count)]


def assert_same_as_on_the_host(exported, mod, params, folder, cpu="cortex-m3", count=4, config=None):
    """Run both, compare all there is to compare, and return what the board said."""
    batches = batches_of(mod, params, count)
    board = run_on_board(exported, batches, cpu)
    host = run_on_host(
        unplanned(mod, params, config or micro_config(), our_operators=True),
        tensor_sizes(exported.model),
        batches,
        folder,
    )
    assert board.outputs == host.outputs
    assert len(set(board.outputs)) > 1, "the network does not react to its input"
    assert board.traces == host.traces
    assert board.high == {arena.identifier: arena.size for arena in exported.model.arenas}
    return board


@needs_board
@pytest.mark.parametrize(("cpu", "io_in_pool"), [("cortex-m3", True), ("cortex-m4", False), ("cortex-m7", True)])
def test_the_board_computes_what_the_host_does_in_the_bytes_of_the_plan(tmp_path, io_in_pool, cpu):
    mod = networks.integer()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY, cpu), io_in_pool=io_in_pool)
    board = assert_same_as_on_the_host(exported, mod, None, tmp_path / "host", cpu)
    assert board.traces


@needs_board
@pytest.mark.parametrize("net", ["integer_residual", "no_workspace", "no_weights"])
def test_networks_of_every_shape_run(tmp_path, net):
    mod = getattr(networks, net)()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY), io_in_pool=net != "no_workspace")
    batches = batches_of(mod, count=2)
    board = run_on_board(exported, batches, "cortex-m3")
    host = run_on_host(
        unplanned(mod, None, micro_config(), our_operators=True),
        tensor_sizes(exported.model),
        batches,
        tmp_path / "host",
    )
    # Two C libraries need not agree on the last bit of expf.
    for ours, theirs in zip(board.outputs, host.outputs, strict=True):
        if net == "integer_residual":
            assert ours == theirs
        else:
            values = (np.frombuffer(bytes.fromhex(text), "float32") for text in (ours, theirs))
            np.testing.assert_allclose(*values, rtol=1e-6)


@needs_board
@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4f"])
def test_several_inputs_and_outputs_work_and_two_models_share_no_name(tmp_path, cpu):
    """With floating point in software, and in a unit that has to be switched on."""
    mod = networks.two_outputs()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY, cpu), io_in_pool=False, name="pair")
    second = export(networks.integer(), None, tmp_path / "d", board=one_memory(ROOMY), name="other")
    assert not set(re.findall(r"tvmgen_\w+", exported.model.operators)) & set(
        re.findall(r"tvmgen_\w+", second.model.operators)
    )
    batches = batches_of(mod, count=2)
    board = run_on_board(exported, batches, cpu)
    host = run_on_host(
        unplanned(mod, None, micro_config(), our_operators=True),
        tensor_sizes(exported.model),
        batches,
        tmp_path / "host",
    )
    for ours, theirs in zip(board.outputs, host.outputs, strict=True):
        values = (np.frombuffer(bytes.fromhex(text), "float32") for text in (ours, theirs))
        np.testing.assert_allclose(*values, rtol=1e-5)


@needs_board
def test_weights_in_ram_are_copied_there_and_counted(tmp_path):
    mod = networks.integer()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY), weights_in="sram")
    assert_same_as_on_the_host(exported, mod, None, tmp_path / "host", count=2)
    (row,) = (row for row in exported.verdict.rows if row.region == "sram")
    assert row.reserve == exported.model.weights_size == 864
    least = exported.model.arenas[0].size + exported.model.weights_size
    export(mod, None, tmp_path / "e", board=one_memory(least), weights_in="sram")
    with pytest.raises(DoesNotFit):
        export(mod, None, tmp_path / "f", board=one_memory(least - 1), weights_in="sram")
    assert not (tmp_path / "f").exists()


@needs_board
def test_a_broken_offset_is_noticed(tmp_path):
    """The oracle itself: one tensor, moved onto another, changes what the board says."""
    mod = networks.integer_residual()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY))
    batches = batches_of(mod, count=2)
    host = run_on_host(
        unplanned(mod, None, micro_config(), our_operators=True),
        tensor_sizes(exported.model),
        batches,
        tmp_path / "host",
    )
    lets = re.findall(r"void\* (sid_\w+)_let = \(&\((\w+)\[(\d+)\]\)\);", exported.model.operators)
    noticed = 0
    for name, arena, offset in lets:
        elsewhere = max(0, int(offset) - 64) if int(offset) else 64
        wrong = exported.model.operators.replace(
            f"void* {name}_let = (&({arena}[{offset}]));", f"void* {name}_let = (&({arena}[{elsewhere}]));"
        )
        assert wrong != exported.model.operators
        broken = replace(exported, model=replace(exported.model, operators=wrong))
        board = run_on_board(broken, batches, "cortex-m3", guards=False)
        noticed += (board.outputs, board.traces) != (host.outputs, host.traces)
    assert noticed >= len(lets) / 2


@needs_compiler
def test_what_does_not_fit_is_refused_and_the_linker_agrees_to_the_byte(tmp_path):
    mod = networks.integer()
    roomy = export(mod, None, tmp_path / "roomy", board=one_memory(ROOMY))
    assert build(roomy.folder, stack=512).returncode == 0
    size = roomy.model.arenas[0].size
    with pytest.raises((DoesNotFit, OverBudget), match=f"{size - 100}"):
        export(mod, None, tmp_path / "c", board=one_memory(size - 100))
    assert not (tmp_path / "c").exists()
    # The linker, given what the program takes beside the arena as well, is over by the same bytes.
    beside = linked_ram(roomy.folder) - size
    memory = roomy.folder / "memory.ld"
    memory.write_text(memory.read_text().replace(f"LENGTH = {ROOMY}", f"LENGTH = {size + beside - 100}"))
    made = build(roomy.folder, stack=512, check=False)
    assert made.returncode != 0
    assert "region `SRAM' overflowed by 100 bytes" in made.stderr
    fits = export(mod, None, tmp_path / "fits", board=one_memory(size + beside), reserve=beside)
    assert build(fits.folder, stack=512).returncode == 0


def linked_ram(folder):
    """Bytes of RAM from its start to the top of the stack, from the linker's map."""
    text = (folder / "build" / "example.map").read_text()
    return int(re.search(r"0x([0-9a-f]+)\s+example_stack_top = \.", text).group(1), 16) - 0x20000000


@needs_compiler
def test_the_generated_code_compiles_without_a_warning(tmp_path):
    for io_in_pool in (True, False):
        exported = export(
            networks.integer(), None, tmp_path / "c", board=one_memory(ROOMY), io_in_pool=io_in_pool, weights_in="sram"
        )
        made = build(exported.folder, CFLAGS="-O2 -Wall -Wextra -Wno-unused-parameter -Werror")
        assert not made.stderr


@pytest.mark.slow
@needs_board
def test_a_keyword_spotter_runs_on_a_board(tmp_path, shared_data):
    from tvm_memplan.relay import read_model

    mod, params = read_model(shared_data / "models" / "mlperf_tiny" / "kws_ref_model.tflite")
    exported = export(mod, params, tmp_path / "c", board=one_memory(128 << 10), reserve=24 << 10)
    board = assert_same_as_on_the_host(exported, mod, params, tmp_path / "host", count=4)
    assert len(board.traces) == 44


@needs_board
@pytest.mark.parametrize("io_in_pool", [True, False])
def test_a_model_split_over_two_memories_fills_each_to_the_byte(tmp_path, io_in_pool):
    """The fast memory is too small: what is moved least lies in the other, and both are used as planned."""
    mod, as_tvm = networks.integer_residual(), micro_config(less_workspace=False)
    whole = export(mod, None, tmp_path / "whole", board=one_memory(ROOMY), io_in_pool=io_in_pool, target=as_tvm)
    fast = whole.model.arenas[0].size * 2 // 3 // 16 * 16
    board = two_memories(fast + 64, 64 << 10)
    how = {"memory": ("dtcm", "sram1"), "reserve": SPARE, "io_in_pool": io_in_pool, "target": as_tvm}
    exported = export(mod, None, tmp_path / "c", board=board, **how)
    assert [arena.pool for arena in exported.model.arenas] == ["dtcm", "sram1"]
    (note,) = (note for note in exported.report.notes if "dtcm cannot hold all" in note)
    assert "lie in sram1; a run moves" in note
    board = assert_same_as_on_the_host(exported, mod, None, tmp_path / "host", "cortex-m7", config=as_tvm)
    assert board.high["dtcm"] <= fast


SPARE = (Reserve(32 << 10, "sram1"), Reserve(64, "dtcm"))


def in_turn(problem):
    """A plan that uses every pool: one buffer here, the next one there, each on bytes of its own."""
    ends, placements = {}, []
    for i, buffer in enumerate(problem.buffers):
        pools = problem.candidates(buffer)
        pool = pools[i % len(pools)].name
        offset = -(-ends.get(pool, 0) // 16) * 16
        placements.append(Placement(pool, offset))
        ends[pool] = offset + buffer.size
    return Plan(problem, tuple(placements))


@needs_board
def test_four_memories_and_weights_reach_every_operator_in_the_right_order(tmp_path):
    """TVM passes more than four pools in another order than it declares them."""
    mod = networks.integer_residual()
    board = four_memories(16 << 10, 16 << 10, 16 << 10, 64 << 10)
    names = ("dtcm", "sram1", "sram2", "sdram")
    kept = Reserve(32 << 10, "sdram")
    exported = export(mod, None, tmp_path / "c", board=board, memory=names, reserve=kept, planner=in_turn)
    assert [arena.pool for arena in exported.model.arenas] == list(names)
    assert_same_as_on_the_host(exported, mod, None, tmp_path / "host", "cortex-m7", count=2)


@needs_compiler
def test_the_folder_the_compiler_and_make_are_all_it_takes(tmp_path):
    """Built elsewhere, with nothing else on the path and nothing in the environment."""
    exported = export(networks.integer(), None, tmp_path / "c", board=one_memory(ROOMY))
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("make", "sh", "rm", "mkdir", "arm-none-eabi-gcc", "arm-none-eabi-ar"):
        (tools / tool).symlink_to(shutil.which(tool))
    elsewhere = tmp_path / "somewhere else"
    elsewhere.mkdir()
    for path in exported.folder.iterdir():
        shutil.copy(path, elsewhere)
    made = subprocess.run(
        [tools / "make"], cwd=elsewhere, env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    assert (elsewhere / "build" / "example.elf").exists()
