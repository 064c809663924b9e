"""Models from files, through the Relay driver, which is imported only when a model is to be read."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from tvm_memplan.budget import BoardPools
from tvm_memplan.cli.progress import progress
from tvm_memplan.errors import BadInput, MissingDependency
from tvm_memplan.report.memory import MemoryReport


class Model:
    """A model that was read and can be planned into different pools."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not Path(path).is_file():
            raise BadInput(f"{path}: no such file")
        self._driver = _driver()
        with progress(f"reading {path}"):
            self._model: Any = self._driver.read_model(path)

    def plan(self, pools: BoardPools, target: str | None, planner: str) -> MemoryReport:
        """Plan into `pools`; `DoesNotFit` when they are too small.

        Without a target it is planned as the C that `micro_config` writes, which serves every core: nothing in it is
        Arm's own. Where the interface is C, inputs and outputs are planned into the pools, too.
        """
        from tvm_memplan.relay.targets import configuration_for

        config = configuration_for(target) if target else self._driver.micro_config()
        made = self._driver.plan(
            self._model.mod,
            self._model.params,
            config,
            pools=pools.activations,
            weight_pools=pools.weights,
            planner=planner,
            io_in_pool=config.interface_api == "c",
            model=Path(self.path).name,
        )
        report: MemoryReport = made.report
        return report


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
