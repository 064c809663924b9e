"""`SharedMemoryPasses`: what plans the shared memory of device launches on TVM 0.19, to be put into phase 3.

ThreadSync runs first, so that all barriers are in the IR when the plan is made. TVM runs it again in `tvm.build`, where
it sees an arena in the place of many buffers: it keeps the barriers that are there, and may add some between tenants
that were buffers of their own before. That costs a wait, and is never wrong. Only where such a barrier would have to
stand under a condition does TVM stop with an error ("Cannot insert syncs inside condition"). So the last pass tries
ThreadSync on its result; a function on which it fails keeps the shared memory it had.

On apache-tvm 0.27 the registered pipeline has all this in its place; see `register_pipeline`.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.transform.plan_memory import PlanMemory
from tvm_memplan.transform.rewrite_storage import RewriteStorage


def SharedMemoryPasses(planner: str = "auto", shared_limit: int | None = None) -> list[Any]:
    """Make passes for phase 3: ``{"tir.add_lower_pass": [(3, each) for each in ...]}``.

    Parameters
    ----------
    planner, shared_limit :
        As for `tvm_memplan.transform.PlanMemory`.

    Returns
    -------
    list of tvm.transform.Pass
        In the order in which they have to run.

    Raises
    ------
    MissingDependency
        When no TVM is installed.
    UnsupportedIR
        When the installed TVM has pipelines by name, and no phases.
    """
    dialect = tir_dialect()
    if not hasattr(dialect, "synchronised"):
        raise UnsupportedIR("this TVM lowers by named pipelines: tir_pipeline=register_pipeline() has the passes in it")
    plan = PlanMemory(planner, scopes=SHARED, shared_limit=shared_limit)
    passes: list[Any] = dialect.synchronised([plan, RewriteStorage()])
    return passes
