"""
The passes in a pipeline of your own
====================================

`PlanMemory` and `RewriteStorage` are TVM passes. This tutorial puts them into a `Sequential` and into a build, and
looks at what they do to one operator. It needs TVM 0.19: ``pip install 'tvm-memplan[relay]'``.
"""

# %%
# An operator with temporaries
# ----------------------------

import numpy as np
import tvm
from tvm import te

data = te.placeholder((64, 64), name="data")
doubled = te.compute((64, 64), lambda i, j: data[i, j] * 2.0, name="doubled")
turned = te.compute((64, 64), lambda i, j: doubled[j, i], name="turned")
shifted = te.compute((64, 64), lambda i, j: turned[i, j] + turned[0, j], name="shifted")
out = te.compute((64, 64), lambda i, j: shifted[63 - i, j] * 0.5, name="out")
schedule = te.create_schedule(out.op)

# %%
# Look first
# ----------
# `analyze_memory` changes nothing. It wants functions as they are after StorageFlatten and FlattenBuffer, which is
# phase 1 of `tvm.lower`; a pass given to that phase sees them.

from tvm_memplan.analysis import analyze_memory
from tvm_memplan.report.text import report_text


@tvm.tir.transform.prim_func_pass(opt_level=0)
def show(function, module, context):
    """Print the figures of a function on its way through."""
    for report in analyze_memory(tvm.IRModule({"operator": function})).values():
        print(report_text(report))
    return function


with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, show)]}):
    tvm.lower(schedule, [data, out])

# %%
# Plan and rewrite
# ----------------
# The first pass records a judged plan in the function's attributes, the second turns it into one arena. The attribute
# it leaves behind says how large. `shifted` takes the bytes of `doubled`, which nobody reads any more.

from tvm_memplan.transform import PlanMemory, RewriteStorage, VerifyBudget

passes = tvm.transform.Sequential([PlanMemory(), RewriteStorage(), VerifyBudget("32KiB")])
with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, passes)]}):
    lowered = tvm.lower(schedule, [data, out], name="operator")
print(lowered)
print(lowered["operator"].attrs["tvm_memplan.arena"])

# %%
# The same results
# ----------------

plain = tvm.build(schedule, [data, out], target="llvm")
planned = tvm.build(lowered, target="llvm")
value = tvm.nd.array(np.random.default_rng(0).normal(size=(64, 64)).astype("float32"))
results = []
for module in (plain, planned):
    result = tvm.nd.empty((64, 64))
    module(value, result)
    results.append(result.numpy())
assert results[0].tobytes() == results[1].tobytes()

# %%
# Too much is an error
# --------------------

from tvm_memplan.errors import OverBudget

try:
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, VerifyBudget("16KiB"))]}):
        tvm.lower(schedule, [data, out], name="operator")
except OverBudget as error:
    print(error)
else:
    raise AssertionError("32 KiB fit into 16 KiB")
