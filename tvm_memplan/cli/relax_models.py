"""Models from files, through the Relax driver, which is imported only when a model is to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.progress import progress
from tvm_memplan.cli.quiet import quiet
from tvm_memplan.report.memory import MemoryReport

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
        outputs: Literal["own", "arena", "caller"],
        donated: Sequence[str],
    ) -> None:
        from tvm_memplan import relax

        with progress(f"reading {path}"), quiet():
            module = relax.read_model(path, shapes)
        target = target or TARGET
        with progress(f"lowering {path} for {target}"), quiet():
            self._made = relax.plan(
                module,
                target,
                planner="first_fit_by_start",
                bounds=bounds or None,
                outputs=outputs,
                donated=donated,
                model=Path(path).name,
            )

    def plan(self, pools: BoardPools, planner: str, time_limit: float) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small."""
        from tvm_memplan.planning.planners import plan

        chosen = partial(plan, planner=planner, time_limit=time_limit)
        return self._made.again(pools.activations, pools.weights, chosen)
