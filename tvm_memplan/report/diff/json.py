"""A difference as plain values for JSON; every size says its unit.

::

    {"format": "tvm-memplan/diff", "version": 1, "old": "vww.tflite", "new": "vww.tflite",
     "within_limits": true, "overruns": ["pool 'arena' grew by ..."],
     "pools": [{"pool": "arena", "old_planned_bytes": 8192 or null, "new_planned_bytes": 9216 or null,
                "growth_bytes": 1024, "old_bound_bytes": 8192 or null, "new_bound_bytes": 9216 or null,
                "old_peak": {"step": 3, "operator": "conv2d"} or null, "new_peak": {...} or null,
                "joined_peak": ["buffer", ...], "left_peak": ["buffer", ...]}],
     "operators": [{"operator": "conv2d_3", "old_bytes": 100 or null, "new_bytes": 200 or null, "growth_bytes": 100}],
     "buffers": [{"what": "grown", "old_name": "sid_3" or null, "new_name": "sid_4" or null, "operator": "conv2d_3",
                  "layer": "model/conv_3/Relu" (empty where none is known),
                  "old_bytes": 100 or null, "new_bytes": 200 or null, "growth_bytes": 100}],
     "newly_left_alone": [{"name": "s", "function": "f", "size_bytes": 512 or null, "reason": "..."}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm_memplan.report.diff.difference import Difference, PoolChange
from tvm_memplan.report.memory import PoolFigures

FORMAT = "tvm-memplan/diff"
VERSION = 1


def diff_fields(found: Difference, broken: Sequence[str] = ()) -> dict[str, Any]:
    """Return a difference, and the limits that it breaks, in the form given above."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "old": found.old.model,
        "new": found.new.model,
        "within_limits": not broken,
        "overruns": list(broken),
        "pools": [_pool(change) for change in found.pools],
        "operators": [
            {
                "operator": change.operator,
                "old_bytes": change.old,
                "new_bytes": change.new,
                "growth_bytes": change.growth,
            }
            for change in found.operators
        ],
        "buffers": [
            {
                "what": change.what,
                "old_name": change.old and change.old.name,
                "new_name": change.new and change.new.name,
                "operator": change.row.operator,
                "layer": change.row.home if change.row.layers else "",
                "old_bytes": change.sizes[0],
                "new_bytes": change.sizes[1],
                "growth_bytes": change.growth,
            }
            for change in found.buffers
        ],
        "newly_left_alone": [
            {"name": left.name, "function": left.function, "size_bytes": left.size, "reason": left.reason}
            for left in found.left_alone
        ],
    }


def _pool(change: PoolChange) -> dict[str, Any]:
    return {
        "pool": change.pool,
        "old_planned_bytes": change.planned[0],
        "new_planned_bytes": change.planned[1],
        "growth_bytes": change.growth,
        "old_bound_bytes": change.old and change.old.bound,
        "new_bound_bytes": change.new and change.new.bound,
        "old_peak": _peak(change.old),
        "new_peak": _peak(change.new),
        "joined_peak": [row.name for row in change.joined],
        "left_peak": [row.name for row in change.gone],
    }


def _peak(figures: PoolFigures | None) -> dict[str, Any] | None:
    if figures is None or figures.peak is None:
        return None
    return {"step": figures.peak.step, "operator": figures.peak.operator}
