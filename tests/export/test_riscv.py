"""The same C on an emulated RISC-V: built by the folder's own Makefile, linked with picolibc, run in QEMU."""

import shutil
import subprocess

import pytest

pytest.importorskip("tvm.relay")

from tests.export.emulator import board_main, parsed, run_on_host, tensor_sizes, traced
from tests.relay import networks
from tests.relay.execution import unplanned
from tvm_memplan.planning.model import Pool
from tvm_memplan.relay import export, micro_config

CROSS, QEMU = "riscv64-unknown-elf-", "qemu-system-riscv32"
FLAGS = "-march=rv32imac -mabi=ilp32 --specs=picolibc.specs"


def has_picolibc():
    if not all(shutil.which(tool) for tool in (f"{CROSS}gcc", QEMU, "make")):
        return False
    program = "#include <stdio.h>\nint main(void) { return 0; }\n"
    command = [f"{CROSS}gcc", *FLAGS.split(), "-x", "c", "-", "-c", "-o", "/dev/null"]
    return not subprocess.run(command, input=program, text=True, capture_output=True, check=False).returncode


@pytest.mark.skipif(not has_picolibc(), reason=f"needs {CROSS}gcc with picolibc, make, and {QEMU}")
def test_riscv_computes_what_the_host_does_in_the_bytes_of_the_plan(tmp_path):
    mod = networks.integer_residual()
    exported = export(mod, None, tmp_path / "c", pools=[Pool("fast", 400), Pool("slow")], name="net")
    folder, model = exported.folder, exported.model
    assert len(model.arenas) == 2
    batches = [list(networks.inputs_of(mod, seed).values()) for seed in range(3)]
    (folder / "main.c").write_text(board_main(model, batches, guards=False, example=False))
    (folder / "net_operators.c").write_text(traced(model.operators, tensor_sizes(model)))
    memory = {"__flash": 0x80000000, "__flash_size": 1 << 20, "__ram": 0x80100000, "__ram_size": 1 << 20}
    link = [f"-Wl,--defsym={name}={value:#x}" for name, value in memory.items()]
    settings = {
        "CROSS": CROSS,
        "CPU_FLAGS": f"{FLAGS} --oslib=semihost --crt0=semihost",
        "LDFLAGS": " ".join(["-Tpicolibc.ld", *link]),
    }
    subprocess.run(["make", "-s", "-C", folder, *(f"{name}={value}" for name, value in settings.items())], check=True)
    program = folder / "build" / "example"
    command = [QEMU, "-M", "virt", "-cpu", "rv32", "-bios", "none", "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out"]
    made = subprocess.run(
        [*command, "-kernel", program], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )
    assert made.returncode == 0, made.stdout[-500:] + made.stderr
    board = parsed(made.stdout)
    host = run_on_host(
        unplanned(mod, None, micro_config(), our_operators=True), tensor_sizes(model), batches, tmp_path / "host"
    )
    assert board.outputs == host.outputs
    assert board.traces == host.traces
    assert board.high == {arena.identifier: arena.size for arena in model.arenas}
