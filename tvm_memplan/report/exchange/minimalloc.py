"""One pool of a report as minimalloc's CSV, with offsets; `tvm_memplan.planning.files.minimalloc` shows the format."""

from __future__ import annotations

from tvm_memplan.errors import BadInput, BadProblem
from tvm_memplan.planning.files.minimalloc import plan_to_csv
from tvm_memplan.planning.model import Buffer, Kind, Placement, Plan, Pool, Problem
from tvm_memplan.report.memory import MemoryReport


def pool_csv(report: MemoryReport, pool: str | None = None) -> str:
    """Return the buffers of one pool as CSV text.

    Parameters
    ----------
    report : MemoryReport
        The plan.
    pool : str or None
        Which pool; None is the only one, weights left aside.

    Raises
    ------
    BadInput
        There is no such pool, or several come into question; the pool holds textures, or a buffer of which no live
        range is known.
    """
    name = _chosen(report, pool)
    rows = [row for row in report.allocations if row.pool == name]
    texture = next((row.name for row in rows if row.slot), None)
    if texture is not None:
        raise BadInput(f"{texture!r} is a texture, which the CSV format has no place for")
    index = {row.name: i for i, row in enumerate(rows)}
    taken = {(i, index[row.in_place_of]) for i, row in enumerate(rows) if row.in_place_of in index}
    buffers = tuple(Buffer(row.name, row.size, row.live_ranges, row.alignment, kind=row.kind) for row in rows)
    places = tuple(Placement(name, row.offset) for row in rows)
    try:
        problem = Problem(buffers, (Pool(name),), in_place=frozenset(taken))
    except BadProblem as error:
        raise BadInput(f"the report is no plan: {error}") from error
    return plan_to_csv(Plan(problem, places, report.planner))


def _chosen(report: MemoryReport, pool: str | None) -> str:
    held: dict[str, set[Kind]] = {}
    for row in report.allocations:
        held.setdefault(row.pool, set()).add(row.kind)
    if pool is not None and pool not in held:
        raise BadInput(f"no pool {pool!r} holds anything; there is {', '.join(held) or 'none'}")
    those = [pool] if pool is not None else [name for name, kinds in held.items() if kinds != {Kind.WEIGHTS}]
    those = those or list(held)
    if len(those) != 1:
        raise BadInput(
            f"the CSV format knows one pool, and the plan uses {', '.join(those) or 'none'}: name one (--pool)"
        )
    return those[0]
