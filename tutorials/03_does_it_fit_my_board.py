"""
Does it fit my board?
=====================

A model, a board of your own, and the question that comes before all others. This tutorial asks it, reads the answer
line by line, tries what would help, and changes the model until it fits. Needs TVM 0.19:
``pip install 'tvm-memplan[relay]'``.
"""

# %%
# A model
# -------
# Whatever `tvm_memplan.relay.read_model` reads will do: ``.tflite``, ``.onnx``, or a Relay module as here. A camera of
# 64 by 64 pixels and two convolutions; `stride` says how soon the picture gets smaller.

import tempfile
from pathlib import Path

import numpy as np
import tvm
from tvm import relay

folder = Path(tempfile.mkdtemp())


def network(stride, name):
    """Write a small network into a file and return its path."""
    rng = np.random.default_rng(0)
    x = y = relay.var("image", shape=(1, 3, 64, 64))
    inputs = 3
    for outputs, step in ((8, stride), (16, 2)):
        weights = relay.const(rng.standard_normal((outputs, inputs, 3, 3)).astype("float32"))
        y = relay.nn.conv2d(y, weights, (step, step), (1, 1), channels=outputs, kernel_size=(3, 3))
        y, inputs = relay.nn.relu(y), outputs
    path = folder / name
    path.write_text(tvm.ir.save_json(tvm.IRModule.from_expr(relay.Function([x], relay.nn.global_avg_pool2d(y)))))
    return str(path)


model = network(stride=1, name="camera.json")

# %%
# A board
# -------
# Its memory as a list of regions. `tvm-memplan boards` lists the boards that ship with the package; this one is yours.
# The second RAM is outside the chip and slow, so it is used only on request.

(folder / "mine.toml").write_text("""
title = "My board"
cpu = "cortex-m7"

[[regions]]
name = "sram"
kind = "sram"
size = "160 KiB"

[[regions]]
name = "psram"
kind = "external"
size = "2 MiB"

[[regions]]
name = "flash"
kind = "flash"
size = "512 KiB"
""")
board_file = str(folder / "mine.toml")

# %%
# Ask
# ---
# In a terminal this is ``tvm-memplan check camera.json --board mine.toml --reserve 16KiB --suggest``. The reserve is
# for the stack, the heap and the rest of the firmware; too much of it is a smaller mistake than too little. The exit
# code is 0 for yes, 1 for no and 2 for a question that makes no sense, so a build can stop at it.

from tvm_memplan.cli import main as tvm_memplan

ask = ["--board", board_file, "--reserve", "16KiB"]
code = tvm_memplan(["check", model, *ask, "--suggest", "--json", str(folder / "camera_memory.json")])
print("exit code", code)
assert code == 1

# %%
# Read the answer
# ---------------
# *naive* is what it would take if nothing shared a byte, *planned* is what it takes, and the *bound* is what no plan
# whatsoever can go below. Here planned and bound are equal and larger than what the board has: another planner is
# no help, only another model or another memory. The list of the largest buffers at the peak says where to look, and the
# suggestions have each been tried: so many bytes less, if that buffer were smaller.
#
# ``--json`` keeps the figures, which are values in Python; `tvm_memplan.relay.plan` makes such a report without files.

from tvm_memplan.boards import load_board
from tvm_memplan.budget import Reserve, judge_budget
from tvm_memplan.report.read import read_report

report = read_report(folder / "camera_memory.json")
verdict = judge_budget(report, load_board(board_file), Reserve(16 * 1024))
ram = verdict.rows[0]
print(f"need {ram.need:,} B, have {ram.have:,} B, over by {ram.excess:,} B, bound {ram.least:,} B")
print("the peak is at", verdict.peak.operator, "where these are alive:")
for row in verdict.holders:
    print(f"  {row.size:8,} B  {row.title}")
assert not verdict.fits and ram.least > ram.have

# %%
# More memory
# -----------
# With ``--external`` the plan may use the memory outside the chip. What does not fit inside goes there, and of all the
# buffers those that a run moves the fewest bytes to and from; the notes say how many bytes that is.

assert tvm_memplan(["check", model, *ask, "--external"]) == 0

# %%
# Or a smaller model
# ------------------
# The first convolution makes eight planes of the size of the picture, and they hold the peak. With a stride of 2 they
# are a quarter as large. `tvm-memplan diff` says what that changed, operator by operator.

smaller = network(stride=2, name="smaller.json")
assert tvm_memplan(["check", smaller, *ask, "--json", str(folder / "smaller_memory.json")]) == 0

tvm_memplan(["diff", str(folder / "camera_memory.json"), str(folder / "smaller_memory.json")])

# %%
# Look at it
# ----------
# The same file becomes a page to look around in, or a picture; without ``-o`` a map is printed.

assert tvm_memplan(["show", str(folder / "smaller_memory.json"), "-o", str(folder / "smaller.html")]) == 0

# %%
# Keep it so
# ----------
# In a build of your own, one line stops at a model that has outgrown the board, with the same words as above.

from tvm_memplan.budget import raise_over_budget
from tvm_memplan.errors import OverBudget

try:
    raise_over_budget(verdict)
except OverBudget as error:
    print(error)
else:
    raise AssertionError("what does not fit was let pass")
