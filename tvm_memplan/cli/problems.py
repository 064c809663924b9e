"""Planning problems from CSV files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.options import searched
from tvm_memplan.planning.model import Plan
from tvm_memplan.report.memory import MemoryReport


class ProblemFile:
    """A problem that was read; remembers the last plan of it."""

    def __init__(self, path: str) -> None:
        from tvm_memplan.planning.files import read_csv

        self._name = Path(path).name
        self._problem = read_csv(path)
        self._plan: Plan | None = None

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into the activation pools; `DoesNotFit` when they are too small."""
        from tvm_memplan.planning.planners import plan
        from tvm_memplan.report.build import memory_report

        self._plan = plan(replace(self._problem, pools=pools.activations), planner=planner, time_limit=time_limit)
        return memory_report(self._plan, model=self._name, notes=searched(self._plan))

    def offsets(self) -> str:
        """Return the problem with the offsets of the last plan, as CSV text."""
        from tvm_memplan.planning.files import plan_to_csv

        assert self._plan is not None
        return plan_to_csv(self._plan)
