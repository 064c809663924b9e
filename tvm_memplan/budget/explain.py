"""Why a plan does not fit, in words, and whether another plan could."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_memplan.budget.verdict import RegionVerdict, Verdict
from tvm_memplan.errors import OverBudget
from tvm_memplan.report.memory import Allocation
from tvm_memplan.report.table import printable, shorten
from tvm_memplan.sizes import show_size

#: Names of fused operators run to hundreds of characters; this many of them tell which one it is.
NAME = 60


def explain(verdict: Verdict) -> str:
    """Return the reasons line by line: need, have, bound, the way out, the peak and the buffers that hold it."""
    open_rows = verdict.fits and not all(row.judged for row in verdict.rows)
    says = "fits" if verdict.fits else "does not fit"
    lines = [f"{verdict.model} {says} {verdict.board}" + (" as far as it is judged" if open_rows else "")]
    for row in verdict.rows:
        if not row.fits:
            lines += _reasons(row, verdict)
    for left in verdict.unknown:
        lines.append(f"  cannot be judged: {left.name} in {left.function} has no known size ({left.reason})")
    return "\n".join(lines)


def raise_over_budget(verdict: Verdict) -> None:
    """Raise `OverBudget` with the text of `explain`, unless the verdict is that it fits."""
    if not verdict.fits:
        raise OverBudget(explain(verdict))


def _reasons(row: RegionVerdict, verdict: Verdict) -> Iterator[str]:
    reserved = f" = {show_size(row.size)} less a reserve of {show_size(row.reserve)}" if row.reserve else ""
    yield f"  {row.region} ({row.holds}) is over by {show_size(row.excess)}"
    yield f"    need   {show_size(row.need)}"
    if row.caller or row.unplanned:
        plan = row.need - row.caller - row.unplanned
        parts = [f"{show_size(plan)} planned"]
        parts += [f"{show_size(row.caller)} of the caller's inputs and outputs"] * bool(row.caller)
        parts += [f"{show_size(row.unplanned)} left alone"] * bool(row.unplanned)
        yield f"           = {' + '.join(parts)}"
    yield f"    have   {show_size(row.have)}{reserved}"
    yield f"    bound  {show_size(row.least)}, no packing is smaller"
    yield from (f"    {line}" for line in _ways_out(row, verdict))
    if row.holds == "activations" and verdict.peak:
        operator = f", {shorten(verdict.doing, NAME)}" if verdict.doing else ""
        yield f"    largest at the peak (step {verdict.peak.step}{operator}):"
        yield from (f"    {show_size(held.size):>28}  {_named(held)}" for held in verdict.holders)


def _named(held: Allocation) -> str:
    """What a buffer is, and its tensor where there is room."""
    both = f"{printable(held.title)}  {printable(held.tensor)}"
    return both.rstrip() if len(both) <= NAME + 6 else shorten(held.title, NAME)


def _ways_out(row: RegionVerdict, verdict: Verdict) -> Iterator[str]:
    """Say what would have to change: the model, the split over regions, or only the plan."""
    if row.holds == "weights":
        yield "weights share nothing: take a smaller model or a larger region"
    elif row.least > row.together:
        where = f" at {shorten(verdict.doing, NAME)}" if verdict.doing else ""
        yield f"no planner can help: what is alive together{where} needs {show_size(row.least)}"
    elif row.least > row.have:
        yield "no packing fits this region alone"
        if row.together > row.have:
            yield f"all RAM regions have {show_size(row.together)} together, but no split over them was found"
    else:
        yield "a packing matter: the bound is within the region, so another planner may fit"
