"""What a caller has to know of a function's outputs and donated inputs, in sentences for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_memplan.transform.graphs.ends import GIVEN, Ends, Given, moved_outputs, supplied_outputs


def ends_notes(graph: Any, ends: Ends, given: Mapping[str, Given], rows: Sequence[tuple[str, str]]) -> list[str]:
    """Say where outputs are and what is overwritten.

    Parameters
    ----------
    graph : Graph
        The function as read.
    ends : Ends
        What was asked for.
    given : mapping of str to Given
        The donated inputs, by allocation.
    rows : sequence of (str, str)
        Allocation and pool of everything that was placed.
    """
    return [
        *_supplied(graph, ends),
        *_moved(graph, ends, dict(rows)),
        *(_given(graph, one, rows) for one in given.values()),
    ]


def _supplied(graph: Any, ends: Ends) -> list[str]:
    if ends.outputs != "caller":
        return []
    notes = [
        f"{out.title} ({out.tensor!r}) is written into parameter {out.parameter!r}, which the caller supplies"
        for out in supplied_outputs(graph, ends).values()
    ]
    others = [out for out in graph.results.values() if out.type is None]
    return [*notes, *(f"{out.title} ({out.tensor!r}) is not supplied by the caller: {out.reason}" for out in others)]


def _moved(graph: Any, ends: Ends, pools: Mapping[str, str]) -> list[str]:
    inside = [pools[name] for name in sorted(moved_outputs(graph, ends)) if not pools[name].startswith(GIVEN)]
    if not inside:
        return []
    return [
        f"outputs lie in {', '.join(dict.fromkeys(inside))}: the next call does not touch them, and as long as one of "
        "them is held, so is all of that memory"
    ]


def _given(graph: Any, one: Given, rows: Sequence[tuple[str, str]]) -> str:
    guests = [name for name, pool in rows if pool == one.pool.name]
    if not guests:
        return f"input {one.name!r} is donated, but the plan has no use for its bytes: it is not overwritten"
    back = [graph.results[name].title for name in guests if name in graph.results]
    handed = f"; {' and '.join(back)} {'are' if len(back) > 1 else 'is'} handed back in them" if back else ""
    return f"input {one.name!r} is donated: the function overwrites its {one.pool.capacity:,} B{handed}"
