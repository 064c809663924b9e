"""
A model on a microcontroller
============================

A network becomes a folder of C for a board with two memories, of which the fast one is too small. Where an Arm cross
compiler is installed it is built, too. Needs TVM 0.19: ``pip install 'tvm-memplan[relay]'``; and, for the last part,
``arm-none-eabi-gcc`` with newlib, and ``make``.
"""

# %%
# A network
# ---------
# Two integer convolutions around which the input has to survive. `tvm_memplan.relay.read_model` reads a file instead.

import numpy as np
import tvm
from tvm import relay

rng = np.random.default_rng(1)
x = relay.var("x", shape=(1, 4, 16, 16), dtype="int8")
y = x
for _ in range(2):
    weights = relay.const(rng.integers(-90, 90, (4, 4, 3, 3)).astype("int8"))
    inner = relay.nn.conv2d(y, weights, padding=(1, 1), channels=4, kernel_size=(3, 3), out_dtype="int32")
    inner = relay.cast(relay.clip(relay.right_shift(inner, relay.const(9, "int32")), -127, 127), "int8")
    total = relay.add(relay.cast(inner, "int32"), relay.cast(y, "int32"))
    y = relay.cast(relay.clip(total, -127, 127), "int8")
mod = tvm.IRModule.from_expr(relay.Function([x], y))

# %%
# A board
# -------
# A `.toml` file says the same (`tvm-memplan boards` lists those that ship here).

from tvm_memplan.boards import Board, Region

board = Board(
    "mine",
    "A board of two memories",
    "cortex-m7",
    (
        Region("dtcm", 10 << 10, "tcm", address=0x20000000),
        Region("sram", 64 << 10, "sram", address=0x20100000),
        Region("flash", 1 << 20, "flash", address=0x00000000),
    ),
)

# %%
# Export
# ------
# `memory` names the regions in order of preference. What does not fit the first and is moved least by a run goes to the
# next. 4 KiB of `sram` are kept for the stack and the program's own variables.

from tvm_memplan.budget import Reserve, verdict_text
from tvm_memplan.relay import export

exported = export(mod, None, "net", board=board, memory=("dtcm", "sram"), reserve=Reserve(4 << 10, "sram"), name="net")
print(verdict_text(exported.verdict))
print("\n".join(exported.report.notes))
print(sorted(path.name for path in exported.folder.iterdir()))

# %%
# What a program sees
# -------------------

for line in (exported.folder / "net.h").read_text().splitlines():
    if line.startswith(("#define NET_ARENA", "#define NET_INPUT", "int net_run")):
        print(line)

# %%
# Build it, and ask what is enough to run
# ---------------------------------------
# Beside the arenas that is static data and the stack along the deepest path of calls. The linker has the last word: a
# region that is too small is an error.

import shutil

from tvm_memplan.export import make, memory_text, memory_use

if shutil.which("arm-none-eabi-gcc") and shutil.which("make"):
    make(exported.folder)
    print(memory_text(memory_use(exported.model, exported.folder)))
else:
    print("no arm-none-eabi-gcc here")
