"""Advice as text for a terminal and as plain values for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm_memplan.budget.suggest.suggest import Advice, Suggestion
from tvm_memplan.report.table import wrap
from tvm_memplan.sizes import show_size

FORMAT = "tvm-memplan/advice"
VERSION = 1


def advice_text(advice: Advice, model: str = "") -> str:
    """Return the suggestions, best first, with the bytes that each gains."""
    return "\n".join(_lines(advice, model)) + "\n"


def _lines(advice: Advice, model: str) -> Iterator[str]:
    yield from wrap(f"{model or 'the plan'} takes {show_size(advice.planned)}, weights not counted")
    if advice.planned == advice.bound:
        yield "it is at its bound: no planner can make it smaller, only another program can"
    else:
        yield f"the bound is {show_size(advice.bound)}"
    for title, found in (("for a smaller peak:", advice.smaller_peak), ("for a better plan:", advice.better_plan)):
        if found:
            yield title
        for one in found:
            head = f"  {-one.gain:>12,} B  "
            yield from wrap(f"{one.kind}: {one.what}", head, " " * len(head))
    if advice.in_vain:
        yield from wrap(f"tried, and gains nothing: {', '.join(advice.in_vain)}")


def advice_fields(advice: Advice) -> dict[str, Any]:
    """Return advice as dicts, lists, strings and integers; every size says its unit."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "planned_bytes": advice.planned,
        "bound_bytes": advice.bound,
        "smaller_peak": [_fields(one) for one in advice.smaller_peak],
        "better_plan": [_fields(one) for one in advice.better_plan],
        "in_vain": list(advice.in_vain),
    }


def _fields(one: Suggestion) -> dict[str, Any]:
    return {"kind": one.kind, "what": one.what, "gain_bytes": one.gain, "buffers": list(one.buffers)}
