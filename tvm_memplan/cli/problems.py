"""Planning problems from files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tvm_memplan.budget import BoardPools
from tvm_memplan.planning.model import Plan
from tvm_memplan.report.memory import MemoryReport


class ProblemFile:
    """A problem that was read; remembers the last plan of it.

    Attributes
    ----------
    own_pools : bool
        Whether the file says where its buffers go (JSON does, CSV does not).
    """

    def __init__(self, path: str) -> None:
        from tvm_memplan.planning.files import read_problem

        self._name = Path(path).name
        self._problem = read_problem(path)
        self.own_pools = Path(path).suffix.lower() != ".csv"
        self._plan: Plan | None = None

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into the activation pools, or into the file's own; `DoesNotFit` when they are too small."""
        from tvm_memplan.planning.planners import plan
        from tvm_memplan.report.build import memory_report

        problem = self._problem if self.own_pools else replace(self._problem, pools=pools.activations)
        self._plan = plan(problem, planner=planner, time_limit=time_limit)
        return memory_report(self._plan, model=self._name)

    def offsets(self, path: str) -> str:
        """Return the last plan as text of the kind that the name `path` asks for."""
        from tvm_memplan.planning.files import plan_text

        assert self._plan is not None
        return plan_text(self._plan, path)
