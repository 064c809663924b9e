"""Enough to run: what is said beforehand, and what the linker and the board say."""

import shutil
import subprocess

import pytest

pytest.importorskip("tvm.relay")

from tests.export.boards import one_memory
from tests.export.emulator import build, run_on_board
from tests.export.tools import needs_board, needs_compiler
from tests.relay import networks
from tvm_memplan.errors import BadInput, BadPlan, OverBudget
from tvm_memplan.export import make, memory_text, memory_use
from tvm_memplan.export.stack import compiled_calls, deepest, disassembled_calls, joined
from tvm_memplan.relay import export

ROOMY = 1 << 20


@needs_board
@pytest.mark.parametrize(
    ("net", "cpu"), [("integer", "cortex-m3"), ("two_outputs", "cortex-m3"), ("no_weights", "cortex-m7")]
)
def test_the_stack_is_as_deep_as_was_said(tmp_path, net, cpu):
    """The whole program, so that what is measured from the top of the stack is what is estimated."""
    mod = getattr(networks, net)()
    exported = export(mod, None, tmp_path / "c", board=one_memory(ROOMY, cpu), io_in_pool=False)
    batches = [list(networks.inputs_of(mod, seed).values()) for seed in range(2)]
    board = run_on_board(exported, batches, cpu, trace=False, guards=False)
    made = exported.folder / "build"
    listing = subprocess.run(
        ["arm-none-eabi-objdump", "-t", "-d", "--no-show-raw-insn", made / "example.elf"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    calls = joined(compiled_calls(p.read_text() for p in made.glob("*.ci")), disassembled_calls(listing))
    stack = deepest(calls, "example_reset")
    assert not stack.unknown
    assert board.stack <= stack.bytes <= board.stack + 64


@needs_compiler
def test_the_figure_adds_up_and_the_linker_agrees(tmp_path):
    exported = export(
        networks.integer(), None, tmp_path / "c", board=one_memory(ROOMY), io_in_pool=False, weights_in="sram"
    )
    make(exported.folder)
    use = memory_use(exported.model, exported.folder)
    assert use.arenas == {"sram": exported.model.arenas[0].size}
    assert use.supplied == 4 * 144 + 8 * 144
    assert use.weights_copy == 864
    assert use.enough == sum(use.arenas.values()) + use.supplied + use.weights_copy + use.static + use.stack.bytes
    assert 0 < use.stack.bytes < 1024
    text = memory_text(use)
    assert "enough to run" in text
    assert f"{use.enough:,}" in text
    # With just so much RAM (the example has its own variables and stack, and gaps of alignment) it links.
    rest = use.program - use.supplied
    least = use.enough - use.stack.bytes + 512 + rest + 32
    tight = export(
        networks.integer(),
        None,
        tmp_path / "d",
        board=one_memory(least),
        io_in_pool=False,
        weights_in="sram",
    )
    assert build(tight.folder, stack=512).returncode == 0
    shutil.rmtree(tight.folder / "build")
    with pytest.raises(OverBudget, match="region `SRAM' overflowed by"):
        make(tight.folder, "STACK_BYTES=1024")


@needs_compiler
def test_a_map_that_disagrees_with_the_plan_is_an_error(tmp_path):
    exported = export(networks.integer(), None, tmp_path / "c", board=one_memory(ROOMY))
    with pytest.raises(BadInput, match="not built"):
        memory_use(exported.model, exported.folder)
    header = exported.folder / "model.h"
    size = exported.model.arenas[0].size
    header.write_text(header.read_text().replace(f"SIZE_BYTES {size}\n", f"SIZE_BYTES {size + 4}\n"))
    make(exported.folder)
    with pytest.raises(BadPlan, match=f"{size + 4} bytes in the linker's map, where the plan has {size}"):
        memory_use(exported.model, exported.folder)


@needs_compiler
def test_what_make_says_reaches_the_user(tmp_path):
    exported = export(networks.integer(), None, tmp_path / "c", board=one_memory(ROOMY))
    (exported.folder / "main.c").write_text("int main(void) { return missing(); }\n")
    with pytest.raises(BadInput, match="make failed"):
        make(exported.folder)
