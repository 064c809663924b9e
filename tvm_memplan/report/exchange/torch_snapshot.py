"""A report as a memory snapshot of PyTorch, which its memory viewer opens.

Fields as `torch.cuda.memory._snapshot` documents them: ``segments`` (what is there at the end, with its blocks) and
``device_traces`` (per device, every allocation in order of time). Here

- a pool is a device, so the viewer shows one pool at a time, and its arena is one segment;
- a buffer is an ``alloc`` at its first step and a ``free_requested`` and ``free_completed`` where it dies; of two live
  ranges each is an allocation of its own;
- what a stack trace is there, says here who a buffer is: its layer where one is known, and where that was written; its
  name, its operator, and the step;
- at one step, births come before deaths here as in the plan, except where bytes are taken over: the viewer knows no two
  blocks at one address, so what dies where another is born dies first.

Buffers without live ranges cannot be put in order of time and are left out.
"""

from __future__ import annotations

import pickle
from typing import Any

from tvm_memplan.report.memory import Allocation, MemoryReport, PoolFigures

#: Where arena number 0 begins; the viewer shows addresses, and 0 means "none" to it.
BASE = 1 << 40


def torch_snapshot(report: MemoryReport) -> dict[str, Any]:
    """Return a report as the dictionary that `pickle.dump` turns into a snapshot file."""
    return {
        "segments": [_segment(figures, device) for device, figures in enumerate(report.pools)],
        "device_traces": [_trace(report, figures, device) for device, figures in enumerate(report.pools)],
    }


def torch_snapshot_file(report: MemoryReport) -> bytes:
    """Return the snapshot as the bytes of a pickle file of plain dicts, lists, strings and integers."""
    return pickle.dumps(torch_snapshot(report), protocol=4)


def _base(device: int) -> int:
    return BASE * (device + 1)


def _segment(figures: PoolFigures, device: int) -> dict[str, Any]:
    """The arena when all is over: one inactive block."""
    address = _base(device)
    block = {"address": address, "size": figures.planned, "requested_size": 0, "state": "inactive", "frames": []}
    return {
        "device": device,
        "address": address,
        "total_size": figures.planned,
        "allocated_size": 0,
        "active_size": 0,
        "requested_size": 0,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [_frame(f"pool {figures.pool}", "", 0)],
        "blocks": [block],
    }


def _trace(report: MemoryReport, figures: PoolFigures, device: int) -> list[dict[str, Any]]:
    base = _base(device)
    entries = [_entry("segment_alloc", base, figures.planned, [_frame(f"pool {figures.pool}", "", 0)], 0)]
    rows = [row for row in report.allocations if row.pool == figures.pool]
    events = sorted(
        (step, order, i)
        for i, row in enumerate(rows)
        for live in row.live_ranges
        for step, order in ((live.start, 1), (live.stop, 0))
    )
    there: dict[int, Allocation] = {}
    for step, born, i in events:
        row = rows[i]
        frames = [*_layer_frames(row, step), _frame(row.name, row.operator or row.kind.value, step)]
        if not born:
            if there.pop(i, None) is not None:
                entries += _free(base, row, frames, step)
            continue
        # In place: the bytes change hands at once.
        for k, other in list(there.items()):
            if other.offset < row.end and row.offset < other.end:
                gone = [*_layer_frames(other, step), _frame(other.name, "taken over", step)]
                entries += _free(base, there.pop(k), gone, step)
        there[i] = row
        entries.append(_entry("alloc", base + row.offset, row.size, frames, step))
    return entries


def _free(base: int, row: Allocation, frames: list[dict[str, Any]], step: int) -> list[dict[str, Any]]:
    actions = ("free_requested", "free_completed")
    return [_entry(action, base + row.offset, row.size, frames, step) for action in actions]


def _entry(action: str, address: int, size: int, frames: list[dict[str, Any]], step: int) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": step, "frames": frames}


def _layer_frames(row: Allocation, step: int) -> list[dict[str, Any]]:
    """The innermost frame, where a layer is known: the viewer shows it first."""
    if not row.layers:
        return []
    file, _, line = row.source.rpartition(":")
    return [_frame(row.title, file or row.tensor, int(line) if file and line.isdigit() else step)]


def _frame(name: str, file: str, line: int) -> dict[str, Any]:
    return {"name": name, "filename": file, "line": line}
