"""A verdict as plain values for JSON; every size says its unit.

::

    {"board": "nrf52840dk", "model": "kws.tflite", "fits": true,
     "regions": [{"region": "sram", "holds": "activations", "size_bytes": 262144 or null, "reserve_bytes": 24576,
                  "have_bytes": 237568 or null, "need_bytes": 16016, "caller_bytes": 0, "unplanned_bytes": 0,
                  "bound_bytes": 16016, "excess_bytes": 0, "fits": true or null}],
     "peak": {"step": 3, "operator": "conv2d", "largest": [{"name": "sid_5", "size_bytes": 8000}]} or null,
     "unknown": [{"name": "s", "function": "f"}], "notes": ["..."]}

`Verdict` and `RegionVerdict` say what the fields mean.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.budget.verdict import Verdict


def verdict_fields(verdict: Verdict) -> dict[str, Any]:
    """Return `verdict` as dicts, lists, strings, integers and booleans.

    ``have_bytes`` and ``fits`` of a row are null where nothing is judged (weights on a board without flash).
    """
    return {
        "board": verdict.board,
        "model": verdict.model,
        "fits": verdict.fits,
        "regions": [
            {
                "region": row.region,
                "holds": row.holds,
                "size_bytes": row.size if row.judged else None,
                "reserve_bytes": row.reserve,
                "have_bytes": row.have if row.judged else None,
                "need_bytes": row.need,
                "caller_bytes": row.caller,
                "unplanned_bytes": row.unplanned,
                "bound_bytes": row.least,
                "excess_bytes": row.excess,
                "fits": row.fits if row.judged else None,
            }
            for row in verdict.rows
        ],
        "peak": verdict.peak
        and {
            "step": verdict.peak.step,
            "operator": verdict.peak.operator,
            "largest": [
                {"name": row.name, "size_bytes": row.size, **({"layer": row.home} if row.layers else {})}
                for row in verdict.holders
            ],
        },
        "unknown": [{"name": left.name, "function": left.function} for left in verdict.unknown],
        "notes": list(verdict.notes),
    }
