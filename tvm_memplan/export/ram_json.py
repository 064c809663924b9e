"""What it takes to run as plain values for JSON, all of it bytes of RAM.

::

    {"arenas_bytes": {"sram": 16016}, "supplied_bytes": 0, "weights_copy_bytes": 0, "static_bytes": 120,
     "program_bytes": 2048, "stack_bytes": 672, "stack_path": ["model_run", "entry", "expf"],
     "stack_unknown": ["callback"], "enough_bytes": 16808}

`MemoryUse` and `Stack` say what the fields mean; with anything in ``stack_unknown`` the stack is at least that much.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.export.ram_use import MemoryUse


def memory_fields(use: MemoryUse) -> dict[str, Any]:
    """Return what a model needs to run as dicts, lists, strings and integers, in the form given above."""
    return {
        "arenas_bytes": dict(use.arenas),
        "supplied_bytes": use.supplied,
        "weights_copy_bytes": use.weights_copy,
        "static_bytes": use.static,
        "program_bytes": use.program,
        "stack_bytes": use.stack.bytes,
        "stack_path": list(use.stack.path),
        "stack_unknown": list(use.stack.unknown),
        "enough_bytes": use.enough,
    }
