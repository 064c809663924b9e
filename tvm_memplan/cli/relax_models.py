"""Models from files, through the Relax driver, which is imported only when a model is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.models import placed_in
from tvm_memplan.cli.progress import stage
from tvm_memplan.planning.model import Problem
from tvm_memplan.report.memory import MemoryReport

if TYPE_CHECKING:
    from tvm_memplan.transform.graphs.ends import Outputs

#: What a model is lowered for where nothing is said: plain C, which serves every core.
TARGET = "c"


class RelaxModel:
    """A model that was read and lowered; parameters as for `tvm_memplan.cli.models.open_model`."""

    def __init__(
        self,
        path: str,
        target: str | None,
        shapes: Mapping[str, tuple[int, ...]],
        bounds: Mapping[str, int],
        outputs: Outputs,
        donated: Sequence[str],
    ) -> None:
        from tvm_memplan import relax

        with stage(f"reading {path}"):
            module = relax.read_model(path, shapes)
        target = target or TARGET
        with stage(f"lowering {path} for {target}"):
            self._made = relax.plan(
                module,
                target,
                planner="first_fit_by_start",
                bounds=bounds or None,
                outputs=outputs,
                donated=donated,
                model=Path(path).name,
            )

    @property
    def problem(self) -> Problem:
        """What is placed by a plan, in a pool that has no limit: no weights, nothing of the caller's."""
        from tvm_memplan.relax.plan_model import USUAL

        return placed_in(self._made.graph.plan.problem, [pool.name for pool in USUAL.activations])

    @property
    def titles(self) -> dict[str, str]:
        """What people call the buffers, by their names."""
        return self._made.report.titles

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small."""
        from tvm_memplan.planning.planners import plan

        chosen = partial(plan, planner=planner, time_limit=time_limit)
        return self._made.again(pools.activations, pools.weights, chosen)
