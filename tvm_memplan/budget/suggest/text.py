"""Advice as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tvm_memplan.budget.suggest.suggest import Advice
from tvm_memplan.report.table import wrap
from tvm_memplan.sizes import show_size


def advice_text(advice: Advice, model: str = "", rows: int | None = None) -> str:
    """Return the suggestions, best first, with the bytes that each gains; `rows` limits how many of each kind."""
    return "\n".join(_lines(advice, model, rows)) + "\n"


def _lines(advice: Advice, model: str, rows: int | None) -> Iterator[str]:
    yield from wrap(f"{model or 'the plan'} takes {show_size(advice.planned)}, weights not counted")
    if advice.planned == advice.bound:
        yield "it is at its bound: no planner can make it smaller, only another program can"
    else:
        yield f"the bound is {show_size(advice.bound)}"
    for title, found in (("for a smaller peak:", advice.smaller_peak), ("for a better plan:", advice.better_plan)):
        if found:
            yield title
        for one in found[:rows]:
            head = f"  {-one.gain:>12,} B  "
            yield from wrap(f"{one.kind}: {one.what}", head, " " * len(head))
        if found[:rows] != found:
            yield f"  and {len(found[rows:])} more"
    if advice.in_vain:
        yield from wrap(f"tried, and gains nothing: {', '.join(advice.in_vain)}")
