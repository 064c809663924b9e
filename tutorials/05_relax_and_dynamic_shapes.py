"""
The Relax pipeline and dynamic shapes
=====================================

A whole Relax model gets one arena in the place of many storages. Sizes that are known only when the model runs are
planned with an upper bound, or, without one, as multiples of one symbolic number. Needs the TVM of today:
``pip install 'tvm-memplan[relax]'``.
"""

# %%
# A model that is open in one dimension
# -------------------------------------
# It takes `n` rows at a time. A real one would come from a front end: `tvm_memplan.relax.read_model` reads ``.onnx``,
# ``.tflite`` and PyTorch's ``.pt2``.

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Rows:
    """Two layers, the second of which is one of two."""

    @R.function
    def main(  # noqa: D102
        p: R.Tensor((), "bool"), x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 64), "float32")
    ):
        a = R.matmul(x, w)
        b = R.nn.relu(a)
        c = R.add(b, x)
        if p:
            d = R.matmul(c, w)
            e = R.sigmoid(d)
        else:
            f = R.tanh(c)
            e = R.multiply(f, c)
        g = R.add(e, b)
        return g


# %%
# With a bound
# ------------
# One pipeline is swapped, and everything between inputs and outputs lies in one storage, as large as 32 rows need. The
# branches of the `if` are never taken together, so they have the same bytes. `build` does the same and returns the
# figures, too.

from tvm_memplan.relax import build, pipeline

executable = relax.build(Rows, "llvm", relax_pipeline=pipeline("llvm", bounds={"n": 32}))  # tvm.compile takes it, too

from tvm_memplan.report.text import report_text

executable, report = build(Rows, "llvm", bounds={"n": 32}, model="rows")
print(report_text(report))
assert report.pool("arena").planned < report.pool("arena").naive and not report.left_alone

# %%
# *Naive* is what it would take if nothing shared a byte, and the *bound* what no plan can go below. The pool `caller`
# holds what the caller brings: inputs, outputs, and weights that are arguments, as here. Now operator by operator;
# ``tvm-memplan show`` makes a map or a page of a report that was saved with `tvm_memplan.report.json.to_json`.

from tvm_memplan.report.by_operator import by_operator_text

print(by_operator_text(report))

# %%
# The same results
# ----------------
# Bit for bit those of TVM's own build, in both branches and for every number of rows up to the bound.

plain = relax.VirtualMachine(relax.build(Rows, "llvm"), tvm.cpu())
planned = relax.VirtualMachine(executable, tvm.cpu())
rng = np.random.default_rng(0)
weights = rng.standard_normal((64, 64)).astype("float32")


def run(machine, rows, first):
    values = np.array(first), np.ones((rows, 64), "float32") * np.arange(64, dtype="float32"), weights
    return machine["main"](*map(tvm.runtime.tensor, values)).numpy()


for rows in (1, 7, 32):
    for first in (True, False):
        assert run(planned, rows, first).tobytes() == run(plain, rows, first).tobytes()

# %%
# Beyond the bound
# ----------------
# More rows than memory was planned for are refused by name before anything is written.

try:
    run(planned, 33, True)
except Exception as error:
    print(str(error).splitlines()[-1])
    assert "n is larger than its upper bound 32" in str(error)
else:
    raise AssertionError("33 rows went into the memory of 32")

# %%
# Which bound?
# ------------
# A model may carry its bound itself, as the attribute ``tir_var_upper_bound`` of its function. What each would cost
# is a table; a server may build one executable for each bucket and take the smallest that will do.

from tvm_memplan.relax.buckets import buckets, buckets_text

made = buckets(Rows, "llvm", [{"n": 1}, {"n": 32}, {"n": 1024}])
print(buckets_text(made))
sizes = [bucket.report.pool("arena").planned for bucket in made]
assert sizes == sorted(sizes)

# %%
# Without a bound
# ---------------
# Then there is an arena all the same: every tensor here takes a multiple of `n`, so offsets and size are computed when
# the function is called. The report names what it cannot count in bytes, with the reason.

executable, report = build(Rows, "llvm", model="rows")
print("\n".join(report.notes))
for left in report.left_alone:
    print(f"{left.name}: {left.reason}")
open_ended = relax.VirtualMachine(executable, tvm.cpu())
for rows in (1, 33, 500):
    assert run(open_ended, rows, False).tobytes() == run(plain, rows, False).tobytes()

# %%
# Does it fit?
# ------------
# The same question as for a microcontroller, of a bounded model and a board with 96 KiB.

from tvm_memplan.boards import Board, Region
from tvm_memplan.budget import judge_budget, verdict_text
from tvm_memplan.relax import plan

small = Board("small", "96 KiB", "", (Region("ram", 96 << 10, "sram"), Region("rom", 1 << 20, "flash")))
for rows, fits in ((32, True), (1024, False)):
    verdict = judge_budget(plan(Rows, "llvm", bounds={"n": rows}, model=f"{rows} rows").report, small)
    print(verdict_text(verdict))
    assert verdict.fits == fits
