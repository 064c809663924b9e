"""A module with the plans of its Relax functions written into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.dialects.names import free
from tvm_memplan.transform.graphs.modules import ModulePlan
from tvm_memplan.transform.graphs.places import destinations, places, spot_of
from tvm_memplan.transform.graphs.plan import GraphPlan

# What a kernel's name ends with where it was made anew for calls of which arguments share bytes.
_IN_PLACE, _OVERLAPPING = "_in_place", "_overlapping"


def original_name(kernel: str) -> str:
    """The name in the model of a kernel that a planned module has."""
    return re.sub(f"({_IN_PLACE}|{_OVERLAPPING})_*$", "", kernel)


def write_plans(made: ModulePlan) -> Any:
    """A new module in which every planned tensor lies where its plan says."""
    dialect = relax_dialect()
    module = made.module
    changed: dict[str, Any] = {}
    new: dict[str, Any] = {}
    taken = {str(var.name_hint) for var in module.functions}
    named = _named(made.kernels or {}, taken)
    for name, plan in made.functions.items():
        storages, spots = places(plan)
        added, ours = destinations(plan)
        spots |= ours
        first = []
        if plan.counted_on:
            bounds = {var: plan.graph.bounds[var] for var in plan.counted_on}
            check = free(f"{name}_check_bounds", taken)
            new[check] = dialect.check_function(bounds, name, made.kernels is not None)
            first.append(dialect.call_of(check, new[check], tuple(bounds)))
        calls = _calls(plan, named, spots)
        new |= {call.name: call.function for call in calls.values()}
        if storages or first or spots or calls:
            changed[name] = dialect.rewrite(module[name], storages, spots, first, added, calls)
    sharing = {one.call.function for plan in made.functions.values() for one in plan.sharing}
    if made.kernels is None:
        changed |= dialect.without_promises(module, sharing)
    result = dialect.with_functions(module, changed, new) if changed else module
    return dialect.without_unused(result, sharing) if named else result


def _named(kernels: Mapping[tuple[str, tuple[Any, ...]], Any], taken: set[str]) -> dict[Any, tuple[str, Any]]:
    """New kernels with names for them."""
    endings = {pair: _OVERLAPPING if any(overlap.size for overlap in pair[1]) else _IN_PLACE for pair in kernels}
    return {pair: (free(pair[0] + endings[pair], taken), kernel) for pair, kernel in kernels.items()}


def _calls(
    plan: GraphPlan, named: Mapping[tuple[str, tuple[Any, ...]], tuple[str, Any]], spots: Mapping[Any, Any]
) -> dict[Any, Any]:
    """What is called instead where arguments share bytes, by the variable that a call is bound to."""
    dialect = relax_dialect()
    found: dict[Any, Any] = {}
    for one in plan.sharing if named else ():
        assert one.overlaps is not None
        name, kernel = named[one.kernel]
        arguments = (
            (argument, spot_of(plan, one.overlaps[argument.overlap], spots))
            if isinstance(argument, dialect.Whole)
            else argument
            for argument in kernel.arguments
        )
        found[one.call.variable] = dialect.Instead(name, kernel.function, tuple(arguments))
    return found
