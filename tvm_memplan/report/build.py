"""From a plan to its numbers: `memory_report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tvm_memplan.planning.bounds.bound import Bound, bound, granule, naive, planned
from tvm_memplan.planning.model import Plan, Pool
from tvm_memplan.report.memory import Alias, Allocation, LeftAlone, MemoryReport, Peak, PoolFigures
from tvm_memplan.report.origin import Origin, short_names


def memory_report(
    plan: Plan,
    steps: Sequence[str] = (),
    model: str = "",
    target: str = "",
    left_alone: Sequence[LeftAlone] = (),
    notes: Sequence[str] = (),
    origins: Mapping[str, Origin] = MappingProxyType({}),
    step_layers: Sequence[str] = (),
) -> MemoryReport:
    """Return the figures of a plan.

    Parameters
    ----------
    plan : Plan
        A judged plan.
    steps : sequence of str
        The operator of every step, as `Liveness.steps`.
    model, target : str
        What was planned, and for what.
    left_alone : sequence of LeftAlone
        What was not planned.
    notes : sequence of str
        Further remarks; where several pools compete for a buffer, one is added that says how the bound is meant.
    origins : mapping of str to Origin
        What is known of the tensors in buffers, by the buffers' names.
    step_layers : sequence of str
        The layer of every step, by its full name, as far as it is known; as long as `steps`, or empty.

    Returns
    -------
    MemoryReport
        All sizes in bytes. Naive, planned and bound of a pool are those of the buffers that were put there, counted
        with the smallest alignment among them.
    """
    problem = plan.problem
    members: dict[str, list[int]] = {pool.name: [] for pool in problem.pools}
    for i, place in enumerate(plan.placements):
        members[place.pool].append(i)
    figures = tuple(_figures(plan, pool, members[pool.name], steps) for pool in problem.pools if members[pool.name])
    remarks = list(notes)
    if plan.outcome is not None and plan.outcome.cut:
        remarks.append(str(plan.outcome))
    if any(len(problem.candidates(buffer)) > 1 for buffer in problem.buffers):
        remarks.append(
            "Some buffers may go to several pools: the bound of a pool is that of the buffers that were put there."
        )
    for pool in figures:
        if pool.capacity is not None and pool.planned > pool.capacity:
            remarks.append(
                f"Pool {pool.pool!r}: figures are counted in steps of its alignment, {pool.alignment:,} B; its last "
                f"buffer ends at {plan.size(pool.pool):,} B, within the capacity."
            )
    taken = [(d, s) for d, s in sorted(problem.in_place) if plan.placements[d] == plan.placements[s]]
    taken = [(d, s) for d, s in taken if problem.buffers[d].alive_with(problem.buffers[s])]
    named = (origin.layer for origin in origins.values() if origin.layer)
    short = short_names([*named, *(layer for layer in step_layers if layer)])
    if taken:
        first, second = (_called(problem.buffers[i].name, origins, short) for i in taken[0])
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        remarks.append(f"in place, on the bytes of a dying input: {first!r} over {second!r}{more}")
    remarks += _view_notes(plan)
    if problem.penalties:
        most = sum(cost for _, _, cost in problem.penalties)
        remarks.append(f"Penalties for sharing: {plan.penalty} of {most} are paid.")
    taken_from = {d: problem.buffers[s].name for d, s in taken}
    aliases: list[list[Alias]] = [[] for _ in problem.buffers]
    for view in problem.views:
        aliases[view.root].append(Alias(view.name, view.offset, view.size))
    rows = [
        Allocation(
            buffer.name,
            buffer.operator,
            buffer.kind,
            buffer.scope,
            buffer.size,
            buffer.alignment,
            buffer.live_ranges,
            place.pool,
            place.offset,
            in_place_of=taken_from.get(i),
            aliases=tuple(aliases[i]),
        )
        for i, (buffer, place) in enumerate(zip(problem.buffers, plan.placements))
    ]
    rows = [_with_origin(row, origins[row.name], short) if row.name in origins else row for row in rows]
    rows.sort(key=lambda row: row.live_ranges[0].start if row.live_ranges else 0)  # stable: first use, then as listed
    return MemoryReport(
        model,
        target,
        plan.planner,
        figures,
        tuple(rows),
        tuple(steps),
        tuple(left_alone),
        tuple(remarks),
        tuple(short.get(layer, layer) for layer in step_layers),
    )


def _called(name: str, origins: Mapping[str, Origin], short: Mapping[str, str]) -> str:
    layer = origins[name].layer if name in origins else ""
    return short.get(layer, name)


def _with_origin(row: Allocation, origin: Origin, short: Mapping[str, str]) -> Allocation:
    return replace(
        row,
        shape=origin.shape,
        dtype=origin.dtype,
        layer=short.get(origin.layer, origin.layer),
        layers=origin.layers,
        source=origin.source,
    )


def _view_notes(plan: Plan, most: int = 10) -> list[str]:
    """Where the views lie; they are further names for rows of the table and have no rows of their own."""
    views = plan.problem.views
    notes = [
        f"View {view.name!r} of {plan.problem.buffers[view.root].name!r}: {view.size} bytes at offset {place.offset} "
        f"of pool {place.pool!r}."
        for view, place in zip(views[:most], plan.view_placements)
    ]
    return [*notes, f"And {len(views) - most} views more."] if len(views) > most else notes


def _figures(plan: Plan, pool: Pool, members: list[int], steps: Sequence[str]) -> PoolFigures:
    least = bound(plan.problem, members, pool)
    return PoolFigures(
        pool.name,
        pool.capacity,
        granule(plan.problem, members, pool),
        naive(plan.problem, members, pool),
        planned(plan, pool),
        least.bytes,
        least.kind,
        _peak(plan, least, steps),
    )


def _peak(plan: Plan, least: Bound, steps: Sequence[str]) -> Peak | None:
    """Where the bound is reached; a clique of given conflicts has no step that could be named."""
    if least.step is None:
        return None
    operator = steps[least.step] if 0 <= least.step < len(steps) else ""
    buffers = [plan.problem.buffers[i] for i in least.members]
    return Peak(least.step, operator, tuple(b.name for b in sorted(buffers, key=lambda b: (-b.size, b.name))))
