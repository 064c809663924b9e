"""Look without touching: the memory figures of a module of lowered PrimFuncs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_memplan.dialects.extents import checked_bounds
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.transform.function_plan import plan_function


def analyze_memory(
    module: Any,
    planner: str = "auto",
    alignment: int = 64,
    scopes: Sequence[str] = ("global", "shared", "shared.dyn"),
    upper_bounds: Mapping[str, int] | None = None,
) -> dict[str, MemoryReport]:
    """Plan every PrimFunc of `module` and return the numbers; the module stays as it is.

    Parameters
    ----------
    module : IRModule
        After FlattenBuffer (on TVM 0.19, StorageFlatten before it); functions that are not PrimFuncs are passed over.
    planner : str
        Name of a planner.
    alignment : int
        Bytes; see `tvm_memplan.transform.PlanMemory`.
    scopes : sequence of str
        Which memory is looked at; shared memory is reused across barriers that are in the module already, or are added.
    upper_bounds : mapping of str to int, optional
        By the name of a parameter, the most that it will be; see `tvm_memplan.transform.PlanMemory`.

    Returns
    -------
    dict of str to MemoryReport
        By function name, in alphabetical order; the body of a parallel loop with allocations of its own has an
        entry ``function/loop``, whose arena exists once per worker, the shared memory of a launch an entry
        ``function/launch.shared``, whose arena exists once per block of threads, and buffers of a symbolic size one of
        their own, whose figures are to be multiplied with what stands in brackets.
    """
    dialect = tir_dialect()

    bounds = checked_bounds(upper_bounds)
    reports: dict[str, MemoryReport] = {}
    for variable, function in sorted(module.functions.items(), key=lambda item: str(item[0].name_hint)):
        if dialect.is_lowered(function):
            made = plan_function(function, str(variable.name_hint), planner, alignment, scopes, bounds)
            reports.update((report.model, report) for report in made.reports())
    return reports
