"""The Relax line, end to end: one pipeline to swap, and a figure for the memory. Needs the `relax` extra."""

from tvm_memplan.relax.buckets import Bucket, buckets, buckets_text
from tvm_memplan.relax.build_model import Built, build
from tvm_memplan.relax.frontends import read_model
from tvm_memplan.relax.measure import measure, random_inputs
from tvm_memplan.relax.pipeline import pipeline
from tvm_memplan.relax.plan_model import PlannedModel, plan
from tvm_memplan.transform.plan_block_memory import PlanBlockMemory

__all__ = [
    "Bucket",
    "Built",
    "PlanBlockMemory",
    "PlannedModel",
    "buckets",
    "buckets_text",
    "build",
    "measure",
    "pipeline",
    "plan",
    "random_inputs",
    "read_model",
]
