"""`pipeline`: TVM's standard Relax pipeline with `PlanBlockMemory` in the place of StaticPlanBlockMemory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Pool
from tvm_memplan.transform.graphs.ends import Outputs
from tvm_memplan.transform.graphs.modules import ModulePlan
from tvm_memplan.transform.graphs.plan import Planner
from tvm_memplan.transform.graphs.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS
from tvm_memplan.transform.plan_block_memory import PlanBlockMemory


def pipeline(
    target: Any,
    planner: Planner = "auto",
    *,
    fused: bool = False,
    pools: Sequence[Pool] = DEFAULT_POOLS,
    weight_pools: Sequence[Pool] = DEFAULT_WEIGHT_POOLS,
    bounds: Mapping[str, int] | None = None,
    lift: bool = True,
    in_place: bool = True,
    outputs: Outputs = "own",
    donated: Sequence[str] = (),
    look: Callable[[ModulePlan], None] | None = None,
) -> Any:
    """Make the pipeline, for ``relax.build(..., relax_pipeline=)`` and ``tvm.compile(..., relax_pipeline=)``.

    Parameters
    ----------
    target : str or tvm.target.Target
        What is built for: GPUs have pipelines of their own.
    planner, pools, weight_pools, bounds, lift, in_place, outputs, donated, look :
        As for `tvm_memplan.relax.PlanBlockMemory`.
    fused : bool
        Take the pipeline of the target's backend, which fuses operators. For CPUs TVM's builds do not by themselves.

    Returns
    -------
    tvm.transform.Pass
        A module pass.

    Raises
    ------
    BadInput
        TVM does not know the target, or has no such pipeline for it.
    """
    dialect = relax_dialect()

    def instead() -> Any:
        return PlanBlockMemory(
            planner,
            pools=pools,
            weight_pools=weight_pools,
            bounds=bounds,
            lift=lift,
            in_place=in_place,
            outputs=outputs,
            donated=donated,
            look=look,
        )

    return dialect.standard_pipeline(known_target(target), fused, instead)


def known_target(target: Any) -> Any:
    """The target that a string or a target stands for."""
    import tvm

    try:
        return tvm.target.Target(target) if isinstance(target, (str, dict)) else target
    except (ValueError, TypeError) as error:
        raise BadInput(f"target {target!r}: {str(error).strip().splitlines()[-1]}") from error
