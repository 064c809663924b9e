"""`Difference`: what changed between two reports, as frozen values that every form of it starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tvm_memplan.report.diff.match import Pair, match
from tvm_memplan.report.memory import Allocation, LeftAlone, MemoryReport, PoolFigures


@dataclass(frozen=True)
class PoolChange:
    """One pool, before and after (None where there was none, or is none any more).

    `joined` are the buffers that hold the new peak and did not hold the old one, `gone` those of the old peak that do
    not hold the new one, largest first.
    """

    pool: str
    old: PoolFigures | None
    new: PoolFigures | None
    joined: tuple[Allocation, ...] = ()
    gone: tuple[Allocation, ...] = ()

    @property
    def planned(self) -> tuple[int | None, int | None]:
        """Planned bytes before and after."""
        return self.old.planned if self.old else None, self.new.planned if self.new else None

    @property
    def growth(self) -> int:
        """Planned bytes more than before."""
        before, after = self.planned
        return (after or 0) - (before or 0)

    @property
    def bound_growth(self) -> int:
        """Bytes that the bound is larger than before."""
        return (self.new.bound if self.new else 0) - (self.old.bound if self.old else 0)


@dataclass(frozen=True)
class OperatorChange:
    """The sum of the sizes of an operator's buffers, in bytes; None where there was, or is, no such operator.

    Where both reports know the layers of the model, `operator` is a layer.
    """

    operator: str
    old: int | None
    new: int | None

    @property
    def growth(self) -> int:
        """Bytes more than before."""
        return (self.new or 0) - (self.old or 0)


@dataclass(frozen=True)
class BufferChange:
    """A buffer that was added, removed, or has another size."""

    old: Allocation | None
    new: Allocation | None

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        """Bytes before and after."""
        return self.old.size if self.old else None, self.new.size if self.new else None

    @property
    def growth(self) -> int:
        """Bytes more than before."""
        before, after = self.sizes
        return (after or 0) - (before or 0)

    @property
    def row(self) -> Allocation:
        """The buffer as it is, or as it was when it is no more."""
        row = self.new or self.old
        assert row is not None
        return row

    @property
    def what(self) -> str:
        """In a word."""
        if self.old is None or self.new is None:
            return "removed" if self.old else "added"
        return "grown" if self.growth > 0 else "shrunk"


@dataclass(frozen=True)
class Difference:
    """What changed from `old` to `new`; operators and buffers that are the same are not listed, all pools are.

    Operators and buffers come in the order of how much they changed. `left_alone` are the buffers that are not planned
    now and were not left alone before.
    """

    old: MemoryReport
    new: MemoryReport
    pools: tuple[PoolChange, ...]
    operators: tuple[OperatorChange, ...]
    buffers: tuple[BufferChange, ...]
    left_alone: tuple[LeftAlone, ...]

    @property
    def empty(self) -> bool:
        """Whether all figures and sizes are the same."""
        changed = any(pool.old != pool.new for pool in self.pools)
        return not (changed or self.operators or self.buffers or self.left_alone)


def difference(old: MemoryReport, new: MemoryReport) -> Difference:
    """Compare two reports; `tvm_memplan.report.diff.match` says which buffer is taken for which."""
    a, b = old.allocations, new.allocations
    pairs = match(a, b)
    known = {(left.function, left.name) for left in old.left_alone}
    return Difference(
        old,
        new,
        tuple(_pools(old, new, pairs)),
        tuple(sorted(_operators(a, b, pairs, _owner(a, b)), key=lambda change: -abs(change.growth))),
        tuple(sorted(_buffers(a, b, pairs), key=lambda change: -abs(change.growth))),
        tuple(left for left in new.left_alone if (left.function, left.name) not in known),
    )


def _pools(old: MemoryReport, new: MemoryReport, pairs: Sequence[Pair]) -> list[PoolChange]:
    before = {figures.pool: figures for figures in old.pools}
    after = {figures.pool: figures for figures in new.pools}
    changes = []
    for name in dict.fromkeys((*after, *before)):
        was, now = _holders(old, before.get(name)), _holders(new, after.get(name))
        joined = now - {j for i, j in pairs if i in was}
        gone = was - {i for i, j in pairs if j in now}
        changes.append(
            PoolChange(
                name,
                before.get(name),
                after.get(name),
                _largest_first(new.allocations[j] for j in joined),
                _largest_first(old.allocations[i] for i in gone),
            )
        )
    return changes


def _holders(report: MemoryReport, figures: PoolFigures | None) -> set[int]:
    names = set(figures.peak.holders) if figures and figures.peak else set()
    return {i for i, row in enumerate(report.allocations) if row.name in names and figures and row.pool == figures.pool}


def _largest_first(rows: Iterable[Allocation]) -> tuple[Allocation, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.size, row.name)))


def _buffers(a: Sequence[Allocation], b: Sequence[Allocation], pairs: Sequence[Pair]) -> list[BufferChange]:
    matched_a, matched_b = {i for i, _ in pairs}, {j for _, j in pairs}
    changed = [BufferChange(a[i], b[j]) for i, j in pairs if a[i].size != b[j].size]
    added = [BufferChange(None, row) for j, row in enumerate(b) if j not in matched_b]
    removed = [BufferChange(row, None) for i, row in enumerate(a) if i not in matched_a]
    return [*changed, *added, *removed]


def _owner(a: Sequence[Allocation], b: Sequence[Allocation]) -> Callable[[Allocation], str]:
    """What a buffer is counted under: its layer where both reports know of layers, else its operator."""
    if any(row.layers for row in a) and any(row.layers for row in b):
        return lambda row: row.home
    return lambda row: row.operator


def _operators(
    a: Sequence[Allocation], b: Sequence[Allocation], pairs: Sequence[Pair], owner: Callable[[Allocation], str]
) -> list[OperatorChange]:
    """Compare operators; one that was renumbered goes by its new name."""
    renamed: dict[str, str] = {}
    for i, j in pairs:
        renamed.setdefault(owner(a[i]), owner(b[j]))
    current = {owner(row) for row in b}
    before: dict[str, int] = {}
    for row in a:
        # What no new buffer came from keeps its name, unless a new operator has it.
        name = renamed.get(owner(row), owner(row))
        if owner(row) not in renamed and name in current:
            name = f"{name} (before)"
        before[name] = before.get(name, 0) + row.size
    after: dict[str, int] = {}
    for row in b:
        after[owner(row)] = after.get(owner(row), 0) + row.size
    changes = [OperatorChange(name, before.get(name), after.get(name)) for name in dict.fromkeys((*after, *before))]
    return [change for change in changes if change.operator and change.old != change.new]
