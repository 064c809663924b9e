"""`register_pipeline`: TVM's standard lowering with our passes, under a name that `tvm.compile` knows.

The pipeline is the one that TVM uses by itself (``s_tir``), whatever passes the installed TVM has in it, with
`PlanMemory` and `RewriteStorage` in the place of StorageRewrite for global memory, and once more in the place of
MergeSharedMemoryAllocations, behind ThreadSync, for shared memory. The rest is left alone. Functions with device
launches, but without shared memory in them, get StorageRewrite too, after our passes, for what lives in registers;
and dynamic shared memory that could not be planned is merged by TVM's own pass.

``tirx.disable_storage_rewrite`` in the `PassContext` switches the place off, whatever stands there: with it this
pipeline plans nothing, as TVM's own then rewrites nothing.
"""

from __future__ import annotations

from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.transform.plan_memory import PlanMemory
from tvm_memplan.transform.rewrite_storage import RewriteStorage


def register_pipeline(
    name: str = "memplan", planner: str = "auto", alignment: int = 64, shared_limit: int | None = None
) -> str:
    """Make ``tir_pipeline="memplan"`` known to `tvm.compile`, `tvm.tirx.build` and `tvm.relax.build`.

    It is a function and not something that importing the package does, so that nothing of TVM's changes, and no TVM
    is loaded, before somebody asks. Calling it again replaces what was registered under the name.

    Parameters
    ----------
    name : str
        What to register it as.
    planner, alignment, shared_limit :
        As for `tvm_memplan.transform.PlanMemory`.

    Returns
    -------
    str
        `name`, so that a call can stand where the name is asked for.

    Raises
    ------
    MissingDependency
        When no TVM is installed.
    UnsupportedIR
        When the installed TVM has no pipelines by name, as 0.19 has not.
    """
    dialect = tir_dialect()
    if not hasattr(dialect, "register_standard_pipeline"):
        raise UnsupportedIR(
            "TVM 0.19 has no lowering pipelines by name: put the passes into the PassContext, "
            'config={"tir.add_lower_pass": [(1, PlanMemory()), (1, RewriteStorage())]}'
        )
    shared = [PlanMemory(planner, alignment, scopes=SHARED, shared_limit=shared_limit), RewriteStorage()]
    dialect.register_standard_pipeline(name, [PlanMemory(planner, alignment), RewriteStorage()], shared)
    return name
