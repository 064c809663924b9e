"""What kernels asked of an allocator in a run, by who asked."""

from __future__ import annotations

from collections.abc import Sequence

from tvm_memplan.measuring.symbols import Symbols
from tvm_memplan.measuring.watch import WORKSPACE, WORKSPACE_FREED, Event, most_at_once
from tvm_memplan.report.measured import Request

KERNEL = "kernel workspace"


def workspace_requests(events: Sequence[Event], symbols: Symbols) -> tuple[tuple[Request, ...], int]:
    """Return a request per function, in the order of their first, and the most bytes of all at once."""
    asked: dict[str, list[Event]] = {}
    for event in events:
        if event.kind == WORKSPACE:
            asked.setdefault(symbols.kernel(event.caller), []).append(event)
    found = []
    for function, mine in asked.items():
        own = {id(event) for event in mine}
        lives = [event for event in events if event.kind == WORKSPACE_FREED or id(event) in own]
        most = most_at_once(lives, WORKSPACE, WORKSPACE_FREED)
        found.append(Request(KERNEL, function, max(event.size for event in mine), len(mine), most))
    return tuple(found), most_at_once(events, WORKSPACE, WORKSPACE_FREED)
