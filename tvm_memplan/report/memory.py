"""`MemoryReport`: the numbers of one plan, as frozen values that every output format starts from.

Three figures per pool, all counted with the same alignment: *naive* (nothing shares a byte), *planned* (the
arena) and *bound* (no packing can be smaller), with naive >= planned >= bound unless something is pinned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.origin import first_name

#: What TVM calls tensors that have no name; the operator says more, unless it is the long name of a fused one.
_COUNTED, _SHORT = re.compile(r"(alloc|sid_)\d*(#\d+)?"), 24


@dataclass(frozen=True)
class Alias:
    """A further name for bytes of a buffer: `size` bytes that begin `offset` bytes after its start."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Allocation:
    """One row of the allocation table; sizes and offsets in bytes, live ranges in steps.

    `shape` (elements, None where it is not known) and `dtype` say what tensor the bytes are. `in_place_of` names the
    dying input whose bytes this buffer takes while both are alive, if it does.

    `slot` is empty but for textures, which have a slot of their pool (number, extents and element type) and start at
    its corner: their `offset` is where the slot begins when all are laid one behind the other.

    `layer` is what the model calls this very tensor, for short; empty for one that the model does not have, such as
    workspace. `layers` are the layers, by their full names, that are computed by what writes the buffer; `source` is
    where the layer was written, as ``file:line``. All are empty where nothing is known.
    """

    name: str
    operator: str
    kind: Kind
    scope: str
    size: int
    alignment: int
    live_ranges: tuple[LiveRange, ...]
    pool: str
    offset: int
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    in_place_of: str | None = None
    aliases: tuple[Alias, ...] = ()
    slot: str = ""
    layer: str = ""
    layers: tuple[str, ...] = ()
    source: str = ""

    @property
    def end(self) -> int:
        """The byte after its last one, from the start of the pool."""
        return self.offset + self.size

    @property
    def tensor(self) -> str:
        """Data type and shape as people write them, ``float32[1, 96, 96, 3]``; empty where neither is known."""
        return self.dtype if self.shape is None else f"{self.dtype}{list(self.shape)}"

    @property
    def title(self) -> str:
        """What a reader can recognise: the layer, or the name and the layer or the operator that it is of."""
        if self.layer:
            return self.layer
        if self.layers:
            counted = _COUNTED.fullmatch(self.name) and 0 < len(self.operator) <= _SHORT
            return f"{self.operator if counted else self.name.removeprefix(f'{self.operator}.')} in {self.home}"
        known = not self.operator or self.kind is Kind.INPUT or self.name.startswith(self.operator)
        return self.name if known else f"{self.name} of {self.operator}"

    @property
    def home(self) -> str:
        """The layer that the buffer is, or belongs to, in few words; its operator where no layer is known."""
        if self.layer or not self.layers:
            return self.layer or self.operator
        last = first_name(self.layers[-1])
        return last if len(self.layers) == 1 else f"{last} and {len(self.layers) - 1} more"


@dataclass(frozen=True)
class LeftAlone:
    """A buffer that was not planned, and why. `size` is in bytes, None where it is not known."""

    name: str
    function: str
    scope: str
    size: int | None
    reason: str


@dataclass(frozen=True)
class Peak:
    """Where the bound is reached: the step, the operator there, and who is alive, largest first."""

    step: int
    operator: str
    holders: tuple[str, ...]


@dataclass(frozen=True)
class PoolFigures:
    """The figures of one pool, in bytes. `bound_kind` says what the bound is: pressure or clique."""

    pool: str
    capacity: int | None
    alignment: int
    naive: int
    planned: int
    bound: int
    bound_kind: str
    peak: Peak | None

    @property
    def reuse(self) -> float:
        """The share of the naive memory that sharing saves, ``1 - planned / naive``."""
        return 1 - self.planned / self.naive if self.naive else 0.0


@dataclass(frozen=True)
class MemoryReport:
    """All that is known about a planned model or function.

    Parameters
    ----------
    model : str
        What was planned.
    target : str
        The TVM target, empty where none is involved.
    planner : str
        The planner that made the plan.
    pools : tuple of PoolFigures
        One per pool that holds something, in order of preference.
    allocations : tuple of Allocation
        Every planned buffer, in the order of first use.
    steps : tuple of str
        The operator of every step; live ranges index into it.
    left_alone : tuple of LeftAlone
        What was not planned.
    notes : tuple of str
        Anything else the reader must know to trust the figures.
    step_layers : tuple of str
        What the model calls what happens at each step, empty where that is not known; the tuple is as long as `steps`,
        or empty.
    """

    model: str
    target: str
    planner: str
    pools: tuple[PoolFigures, ...]
    allocations: tuple[Allocation, ...]
    steps: tuple[str, ...]
    left_alone: tuple[LeftAlone, ...] = ()
    notes: tuple[str, ...] = ()
    step_layers: tuple[str, ...] = ()

    def at(self, step: int, operator: str = "", room: int | None = None) -> str:
        """What happens at a step, for people: the layer, and the operator that computes it if `room` is enough."""
        layer = self.step_layers[step] if step < len(self.step_layers) else ""
        operator = operator or (self.steps[step] if step < len(self.steps) else "")
        both = f"{layer} ({operator})"
        fits = room is None or len(both) <= room
        return both if fits and layer and operator and layer != operator else layer or operator

    @property
    def titles(self) -> dict[str, str]:
        """What people call the buffers, by their names."""
        return {row.name: row.title for row in self.allocations}

    def pool(self, name: str) -> PoolFigures:
        """The figures of the pool called `name`; KeyError when it holds nothing."""
        for figures in self.pools:
            if figures.pool == name:
                return figures
        raise KeyError(name)

    def total(self, kind: Kind) -> int:
        """Sum of the sizes of all buffers of one kind, in bytes (each counted once, nothing shared)."""
        return sum(row.size for row in self.allocations if row.kind is kind)
