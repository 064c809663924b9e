"""`PlanMemory`: plan the buffers of every PrimFunc and record the plan in its attributes.

Reads each function after FlattenBuffer (on TVM 0.19, StorageFlatten before it), plans each region of it (the body, and
the body of each parallel loop), has the plan judged, and writes it into the attribute ``tvm_memplan.plan``. Nothing
else changes.

No two buffers that are alive in the same statement share bytes, so an output never takes its dying input's. TVM's
StorageRewrite lets it, with a test that is wrong for some programs; where that is right, as in chains of
element-wise operators, the arena planned here can be up to twice what StorageRewrite leaves.

The shared memory of a device launch, when it is asked for, gets an arena per launch and scope. Threads of a block run
at different speeds, so bytes are reused only across a barrier that every thread comes to: one that is there, or one
that is added between two top statements of the launch, which costs one wait a launch. The pass never relies on a later
one to add barriers; without any, nothing is shared.

Leaves alone: functions that `RewriteStorage` has already done, functions with nothing to plan, and every buffer
that cannot be understood (`tvm_memplan.analysis.analyze_memory` names them with the reason).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE, done_scopes, name_of, plan_function
from tvm_memplan.transform.shared_limit import limit_shared


def PlanMemory(
    planner: str = "auto",
    alignment: int = 64,
    scopes: Sequence[str] = ("global",),
    shared_limit: int | None = None,
) -> Any:
    """Make the pass.

    Parameters
    ----------
    planner : str
        Name of a planner; ``"auto"`` takes the best result of several.
    alignment : int
        Bytes, a power of two; offsets are multiples of it. 64 is what TVM gives its own workspaces and what
        vectorised code likes; microcontrollers do with 4 or 8, which saves the tails. Shared memory of a device is
        aligned for the accesses to it instead.
    scopes : sequence of str
        Which memory is planned: ``"global"``, ``"shared"``, ``"shared.dyn"``. The last two only where barriers are
        explicit, after TVM's ThreadSync; see `tvm_memplan.transform.SharedMemoryPasses`.
    shared_limit : int or None
        Bytes of shared memory that a launch may take. None takes ``max_shared_memory_per_block`` of the target that
        the function carries, if it does.

    Returns
    -------
    tvm.transform.Pass
        For `tvm.transform.Sequential`, a pipeline of one's own, or ``tir.add_lower_pass`` in phase 1 (TVM 0.19).

    Raises
    ------
    MissingDependency, UnsupportedIR
        At once, when no TVM is installed or its tensor IR cannot be read.
    OverBudget
        While it runs, when the shared memory of a launch is more than the limit.
    """
    dialect = tir_dialect()

    def transform(function: Any, module: Any, _context: Any) -> Any:
        attributes = function.attrs
        left = [scope for scope in scopes if scope not in done_scopes(attributes)]
        if not left:
            return function
        made = plan_function(function, name_of(function, module), planner, alignment, left)
        limit_shared(made, shared_limit if shared_limit is not None else dialect.shared_limit(function))
        return function.with_attr(PLAN_ATTRIBUTE, made.to_attribute()) if made.regions else function

    return dialect.function_pass(transform, "tvm_memplan.PlanMemory")
