"""`PlanBlockMemory`: plan what Relax functions allocate between kernels, in the place of StaticPlanBlockMemory.

It runs after CallTIRRewrite. Every ``R.builtin.alloc_tensor`` of a known or bounded size becomes a tensor at a fixed
offset in one storage per device and scope, whatever its element type and in whatever branch; sizes that depend on
unbounded dimensions get symbolic offsets where they share. Where the plan relies on an upper bound, the function
checks it when it is called.

Leaves alone: what a function returns (the caller may keep it), unless `outputs` says otherwise; what may be kept by
somebody else; everything in a function that calls itself; and tensors of unbounded size that share with nothing.
LowerAllocTensor and KillAfterLastUse, which follow in every pipeline, have these allocated when needed and freed after
their last use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Pool
from tvm_memplan.transform.graphs.ends import Ends, Outputs
from tvm_memplan.transform.graphs.modules import GraphOptions, ModulePlan, plan_module
from tvm_memplan.transform.graphs.plan import Planner
from tvm_memplan.transform.graphs.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS
from tvm_memplan.transform.graphs.write import write_plans


def PlanBlockMemory(
    planner: Planner = "auto",
    *,
    pools: Sequence[Pool] = DEFAULT_POOLS,
    weight_pools: Sequence[Pool] = DEFAULT_WEIGHT_POOLS,
    bounds: Mapping[str, int] | None = None,
    lift: bool = True,
    in_place: bool = True,
    outputs: Outputs = "own",
    donated: Sequence[str] = (),
    look: Callable[[ModulePlan], None] | None = None,
) -> Any:
    """Make the pass.

    Parameters
    ----------
    planner : str or callable
        A name of `tvm_memplan.planning.planners.PLANNERS`, or a function from Problem to Plan; what either makes is
        judged.
    pools : sequence of Pool
        Where tensors in the global memory of the first device may go, in order of preference; each becomes a storage.
    bounds : mapping of str to int or None
        Upper bounds of variables in the shapes of parameters, by name, besides those of the functions' attribute
        ``tir_var_upper_bound``.
    weight_pools : sequence of Pool
        Where weights are counted; they are not placed.
    lift : bool
        Whether kernels are handed the scratch that they would allocate for themselves, so that it is planned, too.
        Only where the target of the context is a CPU, whatever is asked for.
    in_place : bool
        Whether kernels are looked into, where the plan gets smaller by it: then outputs may take the bytes of dying
        inputs, where each element is proved to be read before it is written; and an argument that is dead early may
        share with one that is written later. A call with such arguments goes to a kernel of its own,
        ``NAME_in_place`` or ``NAME_overlapping``, which gets them as one. Only for CPUs, too.
    outputs : str
        Where the outputs go of functions that no other function of the module calls. ``own``: each is allocated by
        itself. ``arena``: they lie in the arena; each call has an arena of its own, which lives for as long as one of
        its outputs is held. ``caller``: the function takes a further tensor for each, which kernels write straight
        into: behind its inputs, before its weights where ``num_input`` tells them apart, called ``output`` or
        ``output_0``, ``output_1``, ... by position. It hands them back as well. None of these tensors may share bytes
        with another argument.
    donated : sequence of str
        Inputs (names of parameters of such functions) that the caller gives away: the function may overwrite them, and
        hand back its outputs in their bytes. No other argument may share bytes with them.
    look : callable or None
        Is shown the plans that are about to be written; with it, the scratch that stays in kernels is counted, too.

    Returns
    -------
    tvm.transform.Pass
        A module pass.

    Raises
    ------
    MissingDependency, UnsupportedIR
        At once, when no TVM with Relax is installed. While it runs, UnsupportedIR when a function is not lowered far
        enough or a tensor has a dimension of 0 or less; BadInput for a bound of a variable that there is not, and for
        an input that cannot be donated; and DoesNotFit when the pools are too small.
    """
    dialect = relax_dialect()
    if isinstance(donated, str):
        raise BadInput(f"donated is a list of names: write donated=[{donated!r}]")
    options = GraphOptions(
        planner,
        tuple(pools),
        tuple(weight_pools),
        dict(bounds or {}),
        lift,
        in_place,
        count_scratch=look is not None,
        ends=Ends(outputs, tuple(donated)),
    )

    def transform(module: Any) -> Any:
        made = plan_module(module, options)
        if look is not None:
            look(made)
        return write_plans(made)

    return dialect.module_pass(transform, "tvm_memplan.PlanBlockMemory")
