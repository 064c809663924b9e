"""A `Reality` as JSON.

::

    {"format": "tvm-memplan/reality", "version": 1, "model": "kws", "holds": true,
     "how": "on this machine ...", "runs": 4, "faults": ["..."],
     "pools": [{"pool": "workspace", "planned_bytes": 56192, "measured_bytes": 56192 or null, "beyond_bytes": 0,
                "handed_out_bytes": 56192 or null,
                "never_touched": [{"start_bytes": 0, "stop_bytes": 64, "buffers": [{"name": "b0", "bytes": 64}]}]
                                 or null where it is no arena}],
     "requests": [{"allocator": "kernel workspace", "function": "conv2d", "largest_bytes": 512, "count": 1,
                   "at_once_bytes": 512, "planned": true}],
     "run_time_own": [{"what": "...", "bytes": 4096}],
     "stack": {"kept_bytes": 4096, "used_bytes": 512} or null,
     "not_measured": ["..."]}
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.report.measured.compare import Reality

FORMAT = "tvm-memplan/reality"
VERSION = 1


def reality_fields(reality: Reality) -> dict[str, Any]:
    """Return `reality` as plain dicts, lists, strings and integers, in the form given above."""
    requests = [(row, True) for row in reality.counted] + [(row, False) for row in reality.unplanned]
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": reality.model,
        "holds": reality.holds,
        "how": reality.how,
        "runs": reality.runs,
        "faults": list(reality.faults),
        "pools": [
            {
                "pool": pool.pool,
                "planned_bytes": pool.planned,
                "measured_bytes": pool.measured,
                "beyond_bytes": pool.beyond,
                "handed_out_bytes": pool.handed,
                "never_touched": None
                if pool.untouched is None
                else [
                    {
                        "start_bytes": span.start,
                        "stop_bytes": span.stop,
                        "buffers": [{"name": name, "bytes": size} for name, size in span.buffers],
                    }
                    for span in pool.untouched
                ],
            }
            for pool in reality.pools
        ],
        "requests": [
            {
                "allocator": row.allocator,
                "function": row.function,
                "largest_bytes": row.size,
                "count": row.count,
                "at_once_bytes": row.at_once,
                "planned": planned,
            }
            for row, planned in requests
        ],
        "run_time_own": [{"what": row.what, "bytes": row.size} for row in reality.own],
        "stack": reality.stack and {"kept_bytes": reality.stack[0], "used_bytes": reality.stack[1]},
        "not_measured": list(reality.unmeasured),
    }
