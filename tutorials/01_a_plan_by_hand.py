"""
A plan by hand
==============

This tutorial needs nothing but the package: no TVM. It walks one small problem through every stage of the planner,
from what a program does to its buffers to the offset of each of them.
"""

# %%
# What a program does to memory
# -----------------------------
# A *trace* says where storage comes to exist and which statements read and write it. Here two layers run one after the
# other in a loop over four tiles, and `weights_sum`, made before the loop, is read in every round.

from tvm_memplan.planning.trace import Alloc, Loop, Step, Trace

trace = Trace(
    (
        Alloc("weights_sum", size=512),
        Step("sum the weights", writes=("weights_sum",)),
        Alloc("total", size=256),
        Step("clear", writes=("total",)),
        Loop(
            (
                Alloc("tile", size=4096, fresh=True),
                Step("load a tile", writes=("tile",)),
                Alloc("hidden", size=2048, fresh=True),
                Step("layer 1", reads=("tile", "weights_sum"), writes=("hidden",)),
                Alloc("scores", size=3072, fresh=True),
                Step("layer 2", reads=("hidden",), writes=("scores",)),
                Step("add up", reads=("scores", "total"), writes=("total",)),
            ),
            at_least_once=True,
        ),
        Step("finish", reads=("total",)),
    )
)

# %%
# When each buffer is alive
# -------------------------
# Live ranges are half-open, in steps. `weights_sum` is last read at step 3, but the next round reads it again: what is
# allocated outside a loop and used inside is alive through the whole loop.

from tvm_memplan.planning.lifetimes.liveness import live_ranges

liveness = live_ranges(trace)
for buffer in liveness.buffers:
    print(f"{buffer.name:12} {buffer.size:5} bytes  alive in {[(r.start, r.stop) for r in buffer.live_ranges]}")

# %%
# A problem, a plan, a judgement
# ------------------------------
# A problem is buffers and pools. `plan` runs a planner and then a judge that shares no code with it; a plan that the
# judge refuses is an exception, never a result.

from tvm_memplan.planning.model import Pool, Problem
from tvm_memplan.planning.planners import plan

problem = Problem(liveness.buffers, (Pool("arena", alignment=16),))
made = plan(problem)
for buffer, place in zip(problem.buffers, made.placements):
    print(f"{buffer.name:12} at byte {place.offset}")

# %%
# How good is it?
# ---------------
# Three figures always come together: naive (nothing shares a byte), planned, and the bound that no packing can beat.

from tvm_memplan.report import memory_report
from tvm_memplan.report.text import report_text

report = memory_report(made, liveness.steps, model="four tiles")
print(report_text(report))
(figures,) = report.pools
assert figures.naive > figures.planned == figures.bound

# %%
# What the judge is for
# ---------------------
# Put `scores` on top of `hidden`, from which it is computed, and it is refused by name.

from dataclasses import replace

from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.judge.check import check_plan

names = [buffer.name for buffer in problem.buffers]
places = list(made.placements)
places[names.index("scores")] = places[names.index("hidden")]
try:
    check_plan(replace(made, placements=tuple(places)))
except BadPlan as refusal:
    print(refusal)
else:
    raise AssertionError("the judge let a wrong plan pass")
