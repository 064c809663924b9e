"""A plan for TensorFlow Lite Micro: the bytes of its metadata, and the C ``BufferPlan`` of its non-persistent planner.

``BufferPlan`` as in tflite-micro's memory_planner/memory_plan_struct.h: an ``int32_t`` count and one
``BufferDescriptor`` (an ``int32_t`` offset) per buffer, in the order of the runtime's AddBuffer calls: first the
activation tensors in the model's order, then the scratch buffers in the order in which operators ask for them. The
array in the struct has length 1 for the sake of old compilers, so the data are written as a struct of the right length
that has the same layout.
"""

from __future__ import annotations

import re

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.files.tflm import plan_to_tflm
from tvm_memplan.planning.model import Kind, Plan
from tvm_memplan.report.exchange.c_text import comment

offline_plan = plan_to_tflm


def buffer_plan_c(plan: Plan, name: str = "memory_plan") -> str:
    """Return C++ source that defines `name`, a ``const tflite::BufferPlan*``, for the buffers that are no weights."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise BadInput(f"{name!r} is no name of a C variable")
    named = [
        (buffer, place)
        for buffer, place in zip(plan.problem.buffers, plan.placements)
        if buffer.kind is not Kind.WEIGHTS
    ]
    used = sorted({place.pool for _, place in named})
    if len(used) > 1:
        raise BadInput(f"a BufferPlan has one arena, and the plan uses pools {', '.join(used)}")
    large = next((b.name for b, place in named if place.offset >= 2**31), None)
    if large is not None:
        raise BadInput(f"the offset of {large!r} does not fit the 32 bits of a BufferDescriptor")
    rows = "\n".join(
        f"        {{{place.offset}}},  // {i}: {comment(b.name)}, {b.size} bytes" for i, (b, place) in enumerate(named)
    )
    return f"""// Written by tvm-memplan. The arena takes {plan.size(used[0]) if used else 0} bytes.
#include "tensorflow/lite/micro/memory_planner/memory_plan_struct.h"

namespace {{
// The layout of tflite::BufferPlan with {len(named)} entries in the place of its one.
struct {{
  int32_t buffer_count;
  tflite::BufferDescriptor buffer_plan_entries[{max(1, len(named))}];
}} const {name}_data = {{
    {len(named)},
    {{
{rows}
    }},
}};
}}  // namespace

const tflite::BufferPlan* const {name} = reinterpret_cast<const tflite::BufferPlan*>(&{name}_data);
"""
