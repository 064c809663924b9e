"""TVM passes, one a file: use them in `tvm.transform.Sequential` or through ``tir.add_lower_pass``."""

from tvm_memplan.transform.plan_memory import PlanMemory
from tvm_memplan.transform.rewrite_storage import RewriteStorage

__all__ = ["PlanMemory", "RewriteStorage"]
