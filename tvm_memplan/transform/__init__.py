"""TVM passes: use them in `tvm.transform.Sequential`, in a pipeline, or through ``tir.add_lower_pass``.

Each pass has a file. `function_plan` and `texture_plan` are the plans of PrimFuncs, `graphs/` those of Relax functions.
"""

from tvm_memplan.transform.inline_copies import InlineCopies
from tvm_memplan.transform.plan_memory import PlanMemory
from tvm_memplan.transform.register_pipeline import register_pipeline
from tvm_memplan.transform.rewrite_storage import RewriteStorage
from tvm_memplan.transform.shared_memory import SharedMemoryPasses
from tvm_memplan.transform.verify_budget import VerifyBudget

__all__ = ["InlineCopies", "PlanMemory", "RewriteStorage", "SharedMemoryPasses", "VerifyBudget", "register_pipeline"]
