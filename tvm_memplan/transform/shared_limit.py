"""Does the shared memory of a launch fit what a block of threads may have?"""

from __future__ import annotations

from typing import Any

from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.errors import OverBudget
from tvm_memplan.transform.function_plan import FunctionPlan, RegionPlan


def limit_shared(made: FunctionPlan, limit: int | None) -> None:
    """Raise unless the arenas of each launch fit `limit` bytes together; None is no limit.

    Raises
    ------
    OverBudget
        Need, have, the bound, and the largest buffers that are alive where the bound is reached.
    """
    launches: dict[Any, list[RegionPlan]] = {}
    for region in made.regions:
        if region.region.scope in SHARED:
            launches.setdefault(region.region.anchor, []).append(region)
    for regions in launches.values():
        need = sum(region.size for region in regions)
        if limit is None or need <= limit:
            continue
        reports = [report for report, r in zip(made.reports(), made.regions) if r in regions]
        least = sum(pool.bound for report in reports for pool in report.pools)
        sizes = {row.name: row.size for report in reports for row in report.allocations}
        peaks = [pool.peak for report in reports for pool in report.pools if pool.peak is not None]
        holders = sorted({name for peak in peaks for name in peak.holders} or sizes, key=lambda name: -sizes[name])
        largest = ", ".join(f"{name!r} {sizes[name]:,} B" for name in holders[:3])
        raise OverBudget(
            f"function {made.captured.function!r}, {regions[0].region.name.rpartition('.')[0]}: need {need:,} B of "
            f"shared memory, have {limit:,} B, no plan takes less than {least:,} B; largest alive together: {largest}"
        )
