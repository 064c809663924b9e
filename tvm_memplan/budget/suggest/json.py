"""Advice as plain values for JSON; every size says its unit.

::

    {"format": "tvm-memplan/advice", "version": 1, "planned_bytes": 55936, "bound_bytes": 55936,
     "smaller_peak": [{"kind": "shrink", "what": "sid_3 of conv2d from ...", "gain_bytes": 9280, "buffers": ["sid_3"]}],
     "better_plan": [{"kind": "planner", "what": "plan with exact", "gain_bytes": 64, "buffers": []}],
     "in_vain": ["caller", "alignment"]}

`Advice` and `Suggestion` say what the fields mean.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.budget.suggest.suggest import Advice, Suggestion

FORMAT = "tvm-memplan/advice"
VERSION = 1


def advice_fields(advice: Advice) -> dict[str, Any]:
    """Return advice as dicts, lists, strings and integers, in the form given above."""
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
