"""Storages and places for a function's plan: what `tvm_memplan.dialects.relax.rewrite` writes.

A storage serves a pool; where tensors have to start at offset 0, it serves a slot of it. Tensors whose sizes are not
known share one more storage per device and scope, so that the others keep one whose size is a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.transform.graphs.ends import supplied_outputs
from tvm_memplan.transform.graphs.plan import GraphPlan
from tvm_memplan.transform.graphs.problem import ALIGNMENT


def places(plan: GraphPlan) -> tuple[list[Any], dict[Any, Any]]:
    """The storages of a function, and the spot of every variable that a planned allocation is bound to."""
    storages, spots = _fixed(plan)
    for (device, scope), arenas in _by_memory(plan).items():
        _symbolic(plan, device, scope, arenas, storages, spots)
    return storages, spots


def destinations(plan: GraphPlan) -> tuple[list[Any], dict[Any, Any]]:
    """The parameters for outputs that the caller supplies, and the spot of every variable that stands for one."""
    dialect = relax_dialect()
    variables: list[Any] = []
    spots: dict[Any, Any] = {}
    for name, output in supplied_outputs(plan.graph, plan.ends).items():
        variables.append(dialect.destination(output.parameter, output.type))
        spots |= dict.fromkeys(plan.graph.allocation(name).sites, dialect.Given(variables[-1], 0))
    return variables, spots


def spot_of(plan: GraphPlan, name: str, spots: Mapping[Any, Any]) -> Any:
    """Where an allocation lies that is placed by us, or that was donated."""
    given = plan.made.given.get(name)
    return spots[plan.graph.allocation(name).sites[0]] if given is None else relax_dialect().Given(given.variable, 0)


def _fixed(plan: GraphPlan) -> tuple[list[Any], dict[Any, Any]]:
    dialect = relax_dialect()
    given = {one.pool.name: one for one in plan.made.given.values()}
    rows = [
        (plan.graph.allocation(buffer.name), place.pool, place.offset if plan.slots else 0, place.offset, buffer.size)
        for buffer, place in plan.placed
    ]
    sizes: dict[tuple[str, int], int] = {}
    for _, pool, start, offset, size in rows:
        if pool in given:
            continue
        sizes[pool, start] = max(sizes.get((pool, start), 0), offset - start + size)
    index = {key: i for i, key in enumerate(sizes)}
    storages: list[Any] = [None] * len(index)
    spots: dict[Any, Any] = {}
    for tensor, pool, start, offset, _ in rows:
        if pool in given:
            spots |= dict.fromkeys(tensor.sites, dialect.Given(given[pool].variable, offset))
            continue
        at = index[pool, start]
        storages[at] = dialect.Storage(_name(at), sizes[pool, start], tensor.device, tensor.scope)
        spots |= dict.fromkeys(tensor.sites, dialect.Spot(at, offset - start))
    return storages, spots


def _name(index: int) -> str:
    return f"arena{index or ''}"


def _by_memory(plan: GraphPlan) -> dict[tuple[int, str], list[Any]]:
    found: dict[tuple[int, str], list[Any]] = {}
    for arena in plan.symbolic:
        found.setdefault((arena.device, arena.scope), []).append(arena)
    return found


def _symbolic(
    plan: GraphPlan, device: int, scope: str, arenas: list[Any], storages: list[Any], spots: dict[Any, Any]
) -> None:
    """Lay the arenas of one memory one behind the other in a storage, or each in a storage of its own."""
    dialect = relax_dialect()
    end: Any = None
    here = len(storages)
    for arena in arenas:
        unit = arena.factor * arena.unit
        unit = dialect.rounded_up(unit, ALIGNMENT) if arena.rounded else unit
        start = None if plan.slots else end
        at = len(storages) if plan.slots else here
        for name, units in arena.tensors.items():
            offset = _sum(start, unit * units if units else None)
            spots |= dict.fromkeys(plan.graph.tensors[name].sites, dialect.Spot(at, 0 if offset is None else offset))
        size = unit * arena.units
        end = _sum(end, size)
        if plan.slots:
            storages.append(dialect.Storage(_name(at), size, device, scope))
    if not plan.slots:
        storages.append(dialect.Storage(_name(here), end, device, scope))


def _sum(one: Any, other: Any) -> Any:
    """The sum of two expressions, of which None is 0."""
    return other if one is None else one if other is None else one + other
