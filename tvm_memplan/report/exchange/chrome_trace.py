"""A report in the Trace Event Format, which Perfetto and chrome://tracing open.

Fields as in the format's definition ("Trace Event Format", Google): an object with ``traceEvents``, of which

==========  ==========================================================================================
``ph: M``   names a process (here a pool) or a thread of it (here a lane, or the operators)
``ph: X``   a complete event: ``ts`` and ``dur`` are microseconds; here a step is one microsecond
``ph: C``   a counter: ``args`` holds the series; here the bytes of a pool in use
==========  ==========================================================================================

Complete events of one thread must nest, and live ranges only overlap, so the buffers of a pool are dealt out to lanes:
in one lane no two are alive at once. Buffers without live ranges have no place on a time axis and are left out.
"""

from __future__ import annotations

import json
from typing import Any

from tvm_memplan.report.memory import Allocation, MemoryReport
from tvm_memplan.report.timeline import pool_timeline

#: The process of the operators; pools follow.
STEPS = 1


def chrome_trace(report: MemoryReport) -> str:
    """Return a report as JSON text of the Trace Event Format."""
    events: list[dict[str, Any]] = [_name("process_name", STEPS, 0, "operators")]
    for step, operator in enumerate(report.steps):
        name = report.at(step) or f"step {step}"
        arguments = {"step": step, **({"operator": operator} if operator and operator != name else {})}
        events.append(_complete(name, "operator", STEPS, 1, step, step + 1, arguments))
    for pid, figures in enumerate(report.pools, STEPS + 1):
        events.append(_name("process_name", pid, 0, f"pool {figures.pool}"))
        curve = pool_timeline(report, figures.pool)
        for step, held in zip(curve.moments, curve.held):
            events.append(
                {"ph": "C", "name": "bytes in use", "pid": pid, "tid": 0, "ts": step, "args": {"in use": held}}
            )
        lanes: list[int] = []
        for start, stop, row in _lives(report, figures.pool):
            lane = next((k for k, end in enumerate(lanes) if end <= start), len(lanes))
            lanes[lane : lane + 1] = [stop]
            events.append(
                _complete(
                    row.title if row.layers else row.name, row.kind.value, pid, lane + 1, start, stop, _arguments(row)
                )
            )
        events += [_name("thread_name", pid, lane + 1, f"buffers {lane + 1}") for lane in range(len(lanes))]
    other = {"model": report.model, "target": report.target, "planner": report.planner, "unit of time": "step"}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": other}) + "\n"


def _lives(report: MemoryReport, pool: str) -> list[tuple[int, int, Allocation]]:
    lives = [(live.start, live.stop, row) for row in report.allocations if row.pool == pool for live in row.live_ranges]
    return sorted(lives, key=lambda life: life[:2])


def _arguments(row: Allocation) -> dict[str, Any]:
    found: dict[str, Any] = {"size_bytes": row.size, "offset_bytes": row.offset, "alignment_bytes": row.alignment}
    texts = {
        "buffer": row.name if row.layers else "",
        "operator": row.operator,
        "layer": row.layer,
        "layers": " | ".join(row.layers),
        "source": row.source,
        "tensor": row.tensor,
        "in_place_of": row.in_place_of,
    }
    return found | {name: text for name, text in texts.items() if text}


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _complete(
    name: str, category: str, pid: int, tid: int, start: int, stop: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": pid,
        "tid": tid,
        "ts": start,
        "dur": stop - start,
        "args": arguments,
    }
