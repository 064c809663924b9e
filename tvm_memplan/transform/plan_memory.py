"""`PlanMemory`: plan the buffers of every PrimFunc and record the plan in its attributes.

Reads each function after FlattenBuffer (on TVM 0.19, StorageFlatten before it), plans each region of it (the body, and
the body of each parallel loop), has the plan judged, and writes it into the attribute ``tvm_memplan.plan``. Nothing
else changes.

Textures have no offset. They are planned by width, height and element type into slots, each an allocation of its own,
as `tvm_memplan.transform.texture_plan` says; everything that one launch touches is alive through all of it.

No two buffers that are alive in the same statement share bytes, so an output never takes its dying input's. TVM's
StorageRewrite lets it, with a test that is wrong for some programs; where that is right, as in chains of
element-wise operators, the arena planned here can be up to twice what StorageRewrite leaves.

Leaves alone: functions that `RewriteStorage` has already done, functions with nothing to plan, and every buffer
that cannot be understood (`tvm_memplan.analysis.analyze_memory` names them with the reason).
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE, PLAN_ATTRIBUTE, name_of, plan_function


def PlanMemory(planner: str = "auto", alignment: int = 64) -> Any:
    """Make the pass.

    Parameters
    ----------
    planner : str
        Name of a planner; ``"auto"`` takes the best result of several.
    alignment : int
        Bytes, a power of two; offsets are multiples of it. 64 is what TVM gives its own workspaces and what
        vectorised code likes; microcontrollers do with 4 or 8, which saves the tails.

    Returns
    -------
    tvm.transform.Pass
        For `tvm.transform.Sequential`, a pipeline of one's own, or ``tir.add_lower_pass`` in phase 1 (TVM 0.19).

    Raises
    ------
    MissingDependency, UnsupportedIR
        At once, when no TVM is installed or its tensor IR cannot be read.
    """
    dialect = tir_dialect()

    def transform(function: Any, module: Any, _context: Any) -> Any:
        attributes = function.attrs
        if attributes is not None and ARENA_ATTRIBUTE in attributes:
            return function
        made = plan_function(function, name_of(function, module), planner, alignment)
        return function.with_attr(PLAN_ATTRIBUTE, made.to_attribute()) if made.regions else function

    return dialect.function_pass(transform, "tvm_memplan.PlanMemory")
