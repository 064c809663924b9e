"""Reports: the numbers of a plan, and ways to show them."""

from tvm_memplan.report.build import memory_report
from tvm_memplan.report.memory import Alias, Allocation, LeftAlone, MemoryReport, Peak, PoolFigures

__all__ = ["Alias", "Allocation", "LeftAlone", "MemoryReport", "Peak", "PoolFigures", "memory_report"]
