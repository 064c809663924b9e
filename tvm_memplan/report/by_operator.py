"""How many bytes are in use at each operator, by what they are for: from a report alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import Allocation, MemoryReport
from tvm_memplan.report.table import WIDTH, table

#: Columns for a layer with its operator; where both take more, the layer is enough.
ROOM = 44


@dataclass(frozen=True)
class OperatorBytes:
    """The bytes in use at the heaviest step of an operator.

    Parameters
    ----------
    operator : str
        Its name.
    step : int
        That step; the operator may have others around it.
    bytes : mapping of Kind to int
        Bytes that hold a value somebody may still need; what is shared in place counts once.
    """

    operator: str
    step: int
    bytes: Mapping[Kind, int]

    def total(self, leave_out: Collection[Kind] = ()) -> int:
        """All bytes together, but for those of the kinds in `leave_out`."""
        return sum(size for kind, size in self.bytes.items() if kind not in leave_out)


def by_operator(report: MemoryReport) -> tuple[OperatorBytes, ...]:
    """The bytes at each operator of a report, in order; steps of one operator that follow each other are one row."""
    alive: list[list[Allocation]] = [[] for _ in report.steps]
    for row in report.allocations:
        for span in row.live_ranges:
            for step in range(span.start, min(span.stop, len(alive))):
                alive[step].append(row)
    found: list[OperatorBytes] = []
    for step, (operator, rows) in enumerate(zip(report.steps, alive)):
        here = OperatorBytes(operator, step, _bytes(rows))
        if found and found[-1].operator == operator:
            found[-1] = max(found[-1], here, key=OperatorBytes.total)
        else:
            found.append(here)
    return tuple(found)


def peak_bytes(report: MemoryReport, leave_out: Collection[Kind] = ()) -> int:
    """The most bytes in use at any operator, but for those of the kinds in `leave_out`."""
    return max((row.total(leave_out) for row in by_operator(report)), default=0)


def by_operator_text(report: MemoryReport) -> str:
    """The bytes at each operator as a table."""
    rows = by_operator(report)
    kinds = [kind for kind in Kind if any(row.bytes.get(kind) for row in rows)]
    head = ("step", "operator", *(f"{kind.value} B" for kind in kinds), "total B")
    lines = [
        (
            str(row.step),
            report.at(row.step, row.operator, ROOM),
            *(f"{row.bytes.get(kind, 0):,}" for kind in kinds),
            f"{row.total():,}",
        )
        for row in rows
    ]
    return "\n".join(table(head, lines, "rL" + "r" * (len(kinds) + 1), WIDTH)) + "\n"


def _bytes(rows: list[Allocation]) -> dict[Kind, int]:
    found: dict[Kind, int] = {}
    for kind, size in _apart(rows):
        found[kind] = found.get(kind, 0) + size
    return found


def _apart(rows: list[Allocation]) -> Iterator[tuple[Kind, int]]:
    """The bytes of each row that no row before it covers, pool by pool."""
    end: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: (row.pool, row.offset, -row.size)):
        before = max(row.offset, end.get(row.pool, 0))
        last = row.offset + row.size
        if last > before:
            yield row.kind, last - before
            end[row.pool] = last
