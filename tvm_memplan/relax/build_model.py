"""`build`: TVM's usual build of a Relax model, with every tensor where the plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tvm_memplan.budget import chosen_pools
from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.planning.model import Pool
from tvm_memplan.relax.plan_model import USUAL, Line
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.transform.graphs.ends import Outputs
from tvm_memplan.transform.graphs.plan import Planner


class Built(NamedTuple):
    """What a build returns: ``executable, report = build(...)``.

    Parameters
    ----------
    executable : tvm.runtime.Executable
        For `tvm.relax.VirtualMachine`.
    report : MemoryReport
        The figures of the plan that is in it.
    """

    executable: Any
    report: MemoryReport


def build(
    mod: Any,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    pools: Sequence[Pool] | None = None,
    weight_pools: Sequence[Pool] | None = None,
    board: Any = None,
    reserve: Any = 0,
    planner: Planner = "auto",
    bounds: Mapping[str, int] | None = None,
    fused: bool = False,
    lift: bool = True,
    in_place: bool = True,
    outputs: Outputs = "own",
    donated: Sequence[str] = (),
    model: str = "",
    tir_pipeline: str = "default",
    exec_mode: str = "bytecode",
) -> Built:
    """Build a model with its memory planned; parameters and errors as for `tvm_memplan.relax.plan`.

    `params`, `tir_pipeline` and `exec_mode` are those of `tvm.relax.build`.
    """
    from tvm import relax

    places = chosen_pools(pools, weight_pools, board, reserve, USUAL)
    line = Line(target, planner, places, bounds, fused, lift, in_place, outputs, donated)
    executable = relax.build(
        relax_dialect().with_sources(mod),
        line.target,
        params=dict(params or {}),
        relax_pipeline=line.passes,
        tir_pipeline=tir_pipeline,
        exec_mode=exec_mode,
    )
    return Built(executable, line.planned(model).report)
