"""The program of `make measure`: on this machine and on an emulated board, and that what breaks the plan is found."""

import json
import shutil
import subprocess

import pytest

pytest.importorskip("tvm.relay")

from tests.export.boards import one_memory
from tests.export.tools import needs_board
from tests.relay import networks
from tvm_memplan.boards import load_board
from tvm_memplan.errors import BadInput, OverBudget, RunFailed
from tvm_memplan.export import run_measure
from tvm_memplan.relay import export
from tvm_memplan.report.measured import compare, measurement_from_log
from tvm_memplan.report.read import read_report

needs_host = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("make")), reason="needs make, and gcc for this machine"
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """For the machine of the compiler: no board is named."""
    return export(networks.integer_residual(), None, tmp_path_factory.mktemp("host") / "c", name="net")


def folder_of(exported, tmp_path, *changes):
    """A copy of the folder, with text in its files replaced."""
    folder = tmp_path / "copy"
    shutil.copytree(exported.folder, folder, ignore=shutil.ignore_patterns("build"))
    for file, before, after in changes:
        text = (folder / file).read_text()
        assert before in text
        (folder / file).write_text(text.replace(before, after))
    return folder


def reality(folder, **options):
    return compare(read_report(folder / "report.json"), measurement_from_log(run_measure(folder, **options)))


@needs_host
def test_a_run_writes_every_byte_of_the_arena_and_no_more(exported, tmp_path):
    folder = folder_of(exported, tmp_path)
    found = reality(folder)
    (arena,) = exported.model.arenas
    assert found.holds and found.runs == 4
    assert found.pools[0].measured == arena.size
    assert found.pools[0].idle == found.pools[0].planned - arena.size, "but for the last buffer's padding"
    assert any("stack" in what for what in found.unmeasured), "there is none to be measured here"


@needs_host
@pytest.mark.parametrize("at", [0, 31, 32])
def test_a_kernel_that_writes_behind_the_arena_is_found(exported, tmp_path, at):
    (arena,) = exported.model.arenas
    array, entry = f"net_arena_{arena.identifier}", f"  return {exported.model.entry}("
    change = ("net.c", entry, f"  ((volatile uint8_t *){array})[{arena.size + at}] ^= 1;\n{entry}")
    found = reality(folder_of(exported, tmp_path, change))
    assert found.holds is (at == 32), "the guard has 32 bytes"
    if at < 32:
        assert f"{at + 1} B behind the end" in found.faults[0]


@needs_host
def test_a_report_with_a_smaller_figure_is_found(exported, tmp_path):
    folder = folder_of(exported, tmp_path)
    fields = json.loads((folder / "report.json").read_text())
    fields["pools"][0]["planned_bytes"] -= 128
    (folder / "report.json").write_text(json.dumps(fields))
    found = reality(folder)
    assert (
        not found.holds and found.pools[0].beyond == exported.model.arenas[0].size - fields["pools"][0]["planned_bytes"]
    )


@needs_host
def test_a_program_that_fails_or_hangs_is_an_error_that_says_so(exported, tmp_path):
    entry = f"  return {exported.model.entry}("
    failing = folder_of(exported, tmp_path / "a", ("net.c", entry, f"  return 1;\n{entry}"))
    with pytest.raises(RunFailed, match="the run function reports an error"):
        run_measure(failing)
    hanging = folder_of(exported, tmp_path / "b", ("net.c", entry, f"  for (volatile int i = 1; i;) {{}}\n{entry}"))
    with pytest.raises(RunFailed, match="did not end within 1 s"):
        run_measure(hanging, seconds=1)
    with pytest.raises(BadInput, match=r"no measure\.c; `tvm-memplan export"):
        run_measure(tmp_path)


@needs_board
@pytest.mark.parametrize("io_in_pool", [True, False])
def test_a_board_measures_arena_and_stack(tmp_path, io_in_pool):
    mod, board = networks.integer_residual(), load_board("mps2_an385")
    made = export(
        mod, None, tmp_path / "c", board=board, reserve=8192, io_in_pool=io_in_pool, weights_in="sram", name="net"
    )
    found = reality(made.folder)
    kept, used = found.stack
    assert found.holds and kept == 4096 and 0 < used < kept
    assert found.pools[0].measured == made.model.arenas[0].size
    assert not any("stack" in what for what in found.unmeasured)


@needs_board
def test_an_unknown_board_needs_a_command_and_a_full_one_goes_without_a_guard(tmp_path):
    mod = networks.integer()
    known = export(mod, None, tmp_path / "a", board=load_board("mps2_an385"), reserve=8192, name="net")
    (command,) = (r for r in (known.folder / "Makefile").read_text().splitlines() if r.startswith("RUN ?= "))
    command = command.removeprefix("RUN ?= ")
    # The linker rounds .bss and the stack up to 8 bytes.
    size = known.model.arenas[0].size
    full = export(mod, None, tmp_path / "b", board=one_memory(size + 4096 + 512), reserve=512, name="net")
    with pytest.raises(BadInput, match=r"no emulator is known for its board: .*--run.*--from"):
        run_measure(full.folder)
    found = reality(full.folder, command=command)
    assert found.holds and not any("no guard" in what for what in found.unmeasured)
    variables = _variables(full.folder / "build" / "measure.elf", size)
    tight = export(mod, None, tmp_path / "d", board=one_memory(size + 4096 + variables), reserve=512, name="net")
    found = reality(tight.folder, command=command)
    assert found.holds and any("no guard" in what for what in found.unmeasured)
    small = export(mod, None, tmp_path / "e", board=one_memory(size + 2048), reserve=512, name="net")
    with pytest.raises(OverBudget, match="overflowed"):
        run_measure(small.folder, command)


def _variables(elf, size):
    text = subprocess.run(["arm-none-eabi-size", elf], capture_output=True, text=True, check=True).stdout.splitlines()[
        1
    ]
    data, bss = map(int, text.split()[1:3])
    return data + bss - size - 32 - 4096 + 8
