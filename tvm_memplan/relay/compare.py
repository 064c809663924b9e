"""Our plan beside those of TVM's own planners, for one and the same lowered program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tvm_memplan.relay.plan_model import PlannedModel, Planner, checked_configuration, chosen_pools, plan_lowered
from tvm_memplan.relay.usmp import Lowered, build_with

#: TVM's planners; `greedy_by_size` is its default.
USMP_ALGORITHMS = ("greedy_by_size", "greedy_by_conflicts", "hill_climb")


@dataclass(frozen=True)
class Comparison:
    """A plan, and what TVM's planners take.

    Parameters
    ----------
    planned : PlannedModel
        Ours.
    usmp : mapping of str to int
        Bytes of workspace (activations and operator workspace, without weights) per planner; inputs and outputs are
        among them with `io_in_pool`.
    """

    planned: PlannedModel
    usmp: Mapping[str, int]


def compare(
    mod: Any,
    params: Mapping[str, Any] | None = None,
    target: Any = "llvm",
    *,
    planner: Planner = "auto",
    model: str = "",
    io_in_pool: bool = False,
) -> Comparison:
    """Plan a model with ours and with TVM's planners; parameters and errors as for `tvm_memplan.relay.plan`."""
    config = checked_configuration(target, None, None, io_in_pool)

    def decide(lowered: Lowered) -> NoReturn:
        usmp = {name: usmp_size(lowered, name) for name in USMP_ALGORITHMS}
        planned = plan_lowered(lowered, config, *chosen_pools(None, None, None, 0), planner, model)
        raise _Compared(Comparison(planned, usmp))

    try:
        build_with(mod, params, config, decide, opt_level=3, io_in_pool=io_in_pool, mod_name="default")
    except _Compared as done:
        return done.result
    raise AssertionError("TVM never asked for a plan")


class _Compared(Exception):
    """Carries the result out of TVM's lowering."""

    def __init__(self, result: Comparison) -> None:
        super().__init__("compared")
        self.result = result


def usmp_size(lowered: Lowered, algorithm: str) -> int:
    """Bytes of workspace that one of TVM's planners takes."""
    import tvm
    from tvm.ir.memory_pools import WorkspacePoolInfo

    placed = tvm.get_global_func(f"tir.usmp.algo.{algorithm}")(list(lowered.infos), lowered.pressure)
    ends = [
        int(place.byte_offset) + int(info.size_bytes)
        for info, place in placed.items()
        if isinstance(place.pool_info, WorkspacePoolInfo)
    ]
    return max(ends, default=0)
