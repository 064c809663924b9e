"""The Relax line, end to end: one pipeline to swap, and a figure for the memory. Needs the `relax` extra."""

from tvm_memplan.relax.pipeline import pipeline
from tvm_memplan.transform.plan_block_memory import PlanBlockMemory

__all__ = ["PlanBlockMemory", "pipeline"]
