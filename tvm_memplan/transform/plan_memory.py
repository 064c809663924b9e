"""`PlanMemory`: plan the buffers of every PrimFunc and record the plan in its attributes.

Reads each function after FlattenBuffer (on TVM 0.19, StorageFlatten before it), plans each region of it (the body, and
the body of each parallel loop), has the plan judged, and writes it into the attribute ``tvm_memplan.plan``. Nothing
else changes.

An output may take the bytes of an input that dies with it, where every element is proved to be read before it is
written (`tvm_memplan.planning.lifetimes.in_place`): chains of element-wise operators, fused epilogues, the steps of a
softmax, copies into longer buffers. The report says where it does. TVM's StorageRewrite compares indices as they are
written, and is wrong where a buffer is read under a second name, or an element is written twice.

Textures have no offset. They are planned by width, height and element type into slots, each an allocation of its own,
as `tvm_memplan.transform.texture_plan` says; everything that one launch touches is alive through all of it.

The shared memory of a device launch, when it is asked for, gets an arena per launch and scope. Threads of a block run
at different speeds, so bytes are reused only across a barrier that every thread comes to: one that is there, or one
that is added between two top statements of the launch, which costs one wait a launch. The pass never relies on a later
one to add barriers; without any, nothing is shared.

Leaves alone: functions that `RewriteStorage` has already done, functions with nothing to plan, and every buffer
that cannot be understood (`tvm_memplan.analysis.analyze_memory` names them with the reason).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_memplan.dialects.extents import checked_bounds
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE, done_scopes, name_of, plan_function
from tvm_memplan.transform.shared_limit import limit_shared


def PlanMemory(
    planner: str = "auto",
    alignment: int = 64,
    scopes: Sequence[str] = ("global",),
    shared_limit: int | None = None,
    upper_bounds: Mapping[str, int] | None = None,
) -> Any:
    """Make the pass.

    Parameters
    ----------
    planner : str
        Name of a planner; ``"auto"`` takes the best result of several.
    alignment : int
        Bytes, a power of two. A buffer whose length is a multiple of it begins at a multiple of it; another at the
        largest power of two that divides its length, as it would in an array of such buffers (an accumulator of four
        bytes at a multiple of 4), but never at less than its element, or what it asks for itself. Code generators work
        out the alignment of each access from its place in the arena, so less is slower at most; a buffer whose
        address is handed to a call gets the whole alignment whatever its length. 64 is what TVM gives its own
        workspaces, and what vectorised code likes. Shared memory of a device is aligned for the accesses to it instead.
    scopes : sequence of str
        Which memory is planned: ``"global"`` (textures are part of it), ``"shared"``, ``"shared.dyn"``. The last two
        only where barriers are explicit, after TVM's ThreadSync; see `tvm_memplan.transform.SharedMemoryPasses`.
    shared_limit : int or None
        Bytes of shared memory that a launch may take. None takes ``max_shared_memory_per_block`` of the target that
        the function carries, if it does.
    upper_bounds : mapping of str to int, optional
        By the name of a parameter or shape variable, the most that it will be, as a function's own attribute
        ``tir_var_upper_bound`` says it. Buffers whose size depends on it are planned with that, and the function
        fails with a message when it is called with more. Without, sizes that are multiples of one symbolic number
        are planned as such.

    Returns
    -------
    tvm.transform.Pass
        For `tvm.transform.Sequential`, a pipeline of one's own, or ``tir.add_lower_pass`` in phase 1 (TVM 0.19).

    Raises
    ------
    BadInput
        At once, when an upper bound is no integer from 0 on.
    MissingDependency, UnsupportedIR
        At once, when no TVM is installed or its tensor IR cannot be read.
    OverBudget
        While it runs, when the shared memory of a launch is more than the limit.
    """
    dialect = tir_dialect()
    bounds = checked_bounds(upper_bounds)

    def transform(function: Any, module: Any, _context: Any) -> Any:
        left = [scope for scope in scopes if scope not in done_scopes(function)]
        if not left:
            return function
        made = plan_function(function, name_of(function, module), planner, alignment, left, bounds)
        limit_shared(made, shared_limit if shared_limit is not None else dialect.shared_limit(function))
        return function.with_attr(PLAN_ATTRIBUTE, made.to_attribute()) if made.regions else function

    return dialect.function_pass(transform, "tvm_memplan.PlanMemory")
