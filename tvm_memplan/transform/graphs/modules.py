"""The plans of all Relax functions of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Pool
from tvm_memplan.transform.graphs.calls import SharingCall, sharing_note
from tvm_memplan.transform.graphs.ends import OWN, Ends
from tvm_memplan.transform.graphs.plan import GraphPlan, Planner, plan_graph
from tvm_memplan.transform.graphs.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS, Callees


@dataclass(frozen=True)
class GraphOptions:
    """How Relax functions are planned; the parameters of `tvm_memplan.relax.PlanBlockMemory` say what each means."""

    planner: Planner = "auto"
    pools: Sequence[Pool] = DEFAULT_POOLS
    weight_pools: Sequence[Pool] = DEFAULT_WEIGHT_POOLS
    bounds: Mapping[str, int] = field(default_factory=dict)
    lift: bool = True
    in_place: bool = True
    count_scratch: bool = False
    ends: Ends = OWN


@dataclass(frozen=True)
class ModulePlan:
    """The plans of a module.

    Parameters
    ----------
    module : tvm.IRModule
        What was planned: the given module, perhaps with scratch lifted out of its kernels.
    functions : mapping of str to GraphPlan
        The plan of every Relax function, by name, callees first.
    kernels : mapping of (str, tuple of Overlap) to Merged, or None
        What takes as one argument what shares bytes at some call; None where there is not such a kernel for each.
    notes : tuple of str
        What the reader must know besides.
    """

    module: Any
    functions: Mapping[str, GraphPlan]
    kernels: Mapping[tuple[str, tuple[Any, ...]], Any] | None
    notes: tuple[str, ...]


def plan_module(module: Any, options: GraphOptions) -> ModulePlan:
    """Plan every Relax function of a module, after CallTIRRewrite, for the target of the context; it is not changed."""
    dialect = relax_dialect()
    functions = dialect.relax_functions(module)
    known = {name for function in functions.values() for name in dialect.shape_variables(function)}
    for name in options.bounds:
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "all shapes are constant"
            raise BadInput(f"an upper bound is given for {name!r}, which no function takes: {there}")
    recursive = dialect.recursive_functions(module)
    if options.lift:
        module = dialect.lift_workspace(module)
        functions = dialect.relax_functions(module)
    scratch = dialect.kernel_scratch(module) if options.count_scratch else {}
    bodies = dialect.kernel_bodies(module) if options.in_place else {}
    plans: dict[str, GraphPlan] = {}
    callees: dict[str, int] = {}
    ends, told = _ends_of(module, functions, options.ends)
    for name, function in functions.items():
        graph = dialect.capture(module, function, name, options.bounds, name in recursive)
        tensors = (*graph.tensors.values(), *graph.outputs.values())
        slots = dialect.needs_slots(module, (tensor.device for tensor in tensors))
        if slots and ends[name].donated:
            told.append(f"what is donated to function {name!r} is not used: pointers cannot be moved on its device")
            ends[name] = Ends(ends[name].outputs)
        plans[name] = plan_graph(
            graph,
            options.pools,
            options.planner,
            weight_pools=options.weight_pools,
            callees=Callees({kernel: known.bytes for kernel, known in scratch.items()}, callees, bodies),
            slots=slots,
            ends=ends[name],
        )
        callees[name] = plans[name].own_bytes
    notes = [
        f"kernel {kernel} also allocates {', '.join(known.unknown)} for itself, whose size is known at run time only"
        for kernel, known in scratch.items()
        if known.unknown
    ]
    notes += [
        f"function {name!r} is for another compiler, {compiler}: what it needs besides its arguments is not known"
        for name, compiler in dialect.foreign_functions(module).items()
    ]
    calls = [one for plan in plans.values() for one in plan.sharing]
    kernels = dialect.merged_kernels(module, [one.kernel for one in calls if one.overlaps is not None])
    asked = {
        pair: frozenset(argument.position for argument in kernel.arguments if isinstance(argument, dialect.Extent))
        for pair, kernel in kernels.items()
    }
    apart = [one for one in calls if not _is_one(one, asked)]
    notes += [sharing_note(apart)] if apart else []
    return ModulePlan(module, plans, None if apart else kernels, (*told, *notes))


def _is_one(one: SharingCall, asked: Mapping[Any, frozenset[int]]) -> bool:
    """Whether a call can hand over as one what shares bytes, to a kernel that asks for shapes of these arguments."""
    return one.overlaps is not None and one.kernel in asked and asked[one.kernel] <= one.call.shaped


def _ends_of(module: Any, functions: Mapping[str, Any], asked: Ends) -> tuple[dict[str, Ends], list[str]]:
    """What each function does with its outputs and inputs, and what is to be said about it.

    Only functions that nobody in the module calls: a caller would have to be told.
    """
    if asked == OWN:
        return dict.fromkeys(functions, OWN), []
    dialect = relax_dialect()
    if asked.outputs == "arena" and dialect.cuda_graphs():
        raise BadInput(
            "outputs cannot lie in the arena where relax.backend.use_cuda_graph is set: RewriteCUDAGraph keeps the "
            "arena from one call to the next, which would overwrite them"
        )
    called = dialect.called_functions(module)
    entries = {name: [str(p.name) for p in f.params] for name, f in functions.items() if name not in called}
    for name in asked.donated:
        if not any(name in parameters for parameters in entries.values()):
            there = "; ".join(f"{f!r} takes {', '.join(names) or 'nothing'}" for f, names in entries.items())
            raise BadInput(f"input {name!r} is donated, which no function takes that is called from outside: {there}")
    ends = {
        name: Ends(asked.outputs, tuple(n for n in asked.donated if n in entries[name])) if name in entries else OWN
        for name in functions
    }
    told = [
        f"function {name!r} is called by others of the module, so its outputs stay its own"
        for name in functions
        if name in called and asked.outputs != "own"
    ]
    return ends, told
