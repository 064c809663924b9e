"""Models from files, through the Relay driver, which is imported only when a model is to be read."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from tvm_memplan.boards import Board
from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput, MissingDependency
from tvm_memplan.report.memory import MemoryReport

#: Convolutions on 8-bit integers: TVM's plain C schedules widen them to 16 bits and so double the memory.
ARM_TARGET = "c -keys=arm_cpu -mcpu=cortex-m3"


def default_target(board: Board | None) -> str:
    """Return the target to plan for when the user names none."""
    return ARM_TARGET if board is None or "cortex" in board.cpu else "c"


class Model:
    """A model that was read and can be planned into different pools."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not Path(path).is_file():
            raise BadInput(f"{path}: no such file")
        self._driver = _driver()
        with progress(f"reading {path}"):
            self._model: Any = self._driver.read_model(path)

    def plan(self, pools: BoardPools, target: str, planner: str) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small."""
        raise NotImplementedError


def _driver() -> Any:
    # Otherwise TVM fetches schedules for every target it meets.
    os.environ.setdefault("TOPHUB_LOCATION", "NONE")
    if importlib.util.find_spec("tvm") is None:
        raise MissingDependency(
            "reading a model needs TVM 0.19, which is not installed: pip install 'tvm-memplan[relay]'"
        )
    if importlib.util.find_spec("tvm.relay") is None:
        raise MissingDependency(
            "reading a model needs TVM 0.19, and the TVM installed here has no Relay: in an environment of its own, "
            "pip install 'tvm-memplan[relay]'"
        )
    from tvm_memplan import relay

    return relay
