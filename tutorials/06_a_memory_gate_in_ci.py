"""
A memory gate in CI
===================

A change to a model, to a schedule or to the compiler can cost memory without anybody noticing, until one day the model
no longer fits. This tutorial keeps the plan of the last release beside the code, compares every change with it, and
lets a build fail when a pool grows by more than was agreed. It needs nothing but the package: no TVM.
"""

# %%
# The plan of yesterday
# ---------------------
# Where a model is at hand, ``tvm-memplan plan model.tflite --json main.json`` writes its report. Here a small network
# stands in for one: four layers, each of which reads what the one before wrote.

from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.report import memory_report


def report_of(layers):
    buffers = tuple(
        Buffer(f"sid_{i}", size, (LiveRange(i, i + 2),), operator=operator) for i, (operator, size) in enumerate(layers)
    )
    made = plan(Problem(buffers, (Pool("sram", alignment=16),)))
    return memory_report(made, [operator for operator, _ in layers] + ["return"], model="keywords")


main = [("conv2d", 16_000), ("conv2d_1", 16_000), ("dense", 4_000), ("softmax", 48)]
yesterday = report_of(main)

# %%
# A change
# --------
# Somebody puts a wider layer in the middle. The compiler counts its names up, so what was ``sid_2`` is ``sid_3`` now.

today = report_of([*main[:2], ("conv2d_2", 24_000), *main[2:]])
assert [row.name for row in today.allocations][3] == "sid_3"

# %%
# What changed?
# -------------
# Buffers are matched by name, and where that would call everything changed, by size and place. So one operator is
# named here, the one that was put in, and not all that follow it.

from tvm_memplan.report.diff import Growth, Limits, diff_markdown, diff_text, difference, overruns

found = difference(yesterday, today)
print(diff_text(found))
assert [change.operator for change in found.operators] == ["conv2d_2"]

# %%
# Is it too much?
# ---------------
# A limit is a share or a number of bytes that a pool may grow by, or a size that it may have. What is broken is said in
# words, and can go into a review as Markdown.

broken = overruns(found, Limits(growth=Growth.read("2%"), most=(("sram", 64 * 1024),)))
assert len(broken) == 1  # it grew by too much, and is not yet too large
print(diff_markdown(found, broken))

# %%
# The same as commands
# --------------------
# In CI the command line does it, and its exit code decides: 0 within the limits, 1 over a limit, 2 for bad input.
#
# .. code-block:: yaml
#
#    memory:
#      runs-on: ubuntu-latest
#      steps:
#        - uses: actions/checkout@v4
#        - run: pip install 'tvm-memplan[relay]'
#        - run: tvm-memplan plan model.tflite --json now.json
#        - run: tvm-memplan diff memory/main.json now.json --max-growth 2% --markdown >> "$GITHUB_STEP_SUMMARY"
#
# ``memory/main.json`` is committed; who means to grow it commits the new one, and the review sees it.

import tempfile
from pathlib import Path

from tvm_memplan.cli import main as tvm_memplan
from tvm_memplan.report.json import to_json

with tempfile.TemporaryDirectory() as folder:
    old, new = Path(folder, "main.json"), Path(folder, "now.json")
    old.write_text(to_json(yesterday))
    new.write_text(to_json(today))
    assert tvm_memplan(["diff", str(old), str(new), "--max-growth", "2%"]) == 1
    assert tvm_memplan(["diff", str(old), str(old), "--max-growth", "0"]) == 0

# %%
# Where did the bytes go?
# -----------------------
# When the gate closes, the next question is what would help. Each figure is computed: the peak without it, or with it
# changed.

from tvm_memplan.budget.suggest import advice_text, suggest

buffers = tuple(
    Buffer(row.name, row.size, row.live_ranges, operator=row.operator, alignment=row.alignment)
    for row in today.allocations
)
advice = suggest(Problem(buffers, (Pool("sram", alignment=16),)))
print(advice_text(advice, "keywords"))
assert advice.smaller_peak
