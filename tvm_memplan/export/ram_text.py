"""What it takes to run, as text for a terminal."""

from __future__ import annotations

from tvm_memplan.export.ram_use import MemoryUse
from tvm_memplan.report.table import WIDTH, bullet, table


def memory_text(use: MemoryUse) -> str:
    """Return the table of what a model needs in RAM, and what the figure of the stack rests on."""
    rows = [
        (f"arena in {pool}", f"{size:,}", "as planned, and in the linker's map") for pool, size in use.arenas.items()
    ]
    if use.supplied:
        rows.append(("inputs and outputs", f"{use.supplied:,}", "supplied by the caller"))
    if use.weights_copy:
        rows.append(("copy of the weights", f"{use.weights_copy:,}", "in the linker's map"))
    rows.append(("static data", f"{use.static:,}", "of the model's code and the C library, from the map"))
    path = " > ".join(use.stack.path[1:]) or use.stack.path[0]
    rows.append(("stack", f"{use.stack.bytes:,}", f"{'at least; ' if use.stack.unknown else ''}{path}"))
    rows.append(("enough to run", f"{use.enough:,}", "without interrupts and the rest of the program"))
    lines = list(table(("RAM", "B", ""), rows, "LrL", WIDTH))
    if use.stack.unknown:
        lines += bullet(f"nothing is known of the stack of {', '.join(use.stack.unknown)}")
    return "\n".join(lines) + "\n"
