"""`Board` and `Region`: what memory a device has, as frozen values that are checked when made.

::

    address   0x2000_0000        0x2001_0000                       0x0800_0000
              +- dtcm (tcm) -----+- sram1+sram2 (sram) ---+   ...  +- flash (flash) ------+
              |  64 KiB          |  256 KiB               |        |  1 MiB               |
              +------------------+------------------------+        +----------------------+
                activations, inputs, outputs, workspace              weights
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from tvm_memplan.errors import BadInput

#: One more than the highest address of any device.
_ADDRESS_SPACE = 1 << 64

#: Every kind of region, and what it holds in a plan.
KINDS = {
    "sram": "internal RAM",
    "tcm": "internal RAM, tightly coupled to the core",
    "flash": "internal read-only memory, for weights",
    "external": "RAM outside the chip, used only on request",
    "external-ro": "read-only memory outside the chip, for weights",
}


@dataclass(frozen=True)
class Region:
    """One block of memory.

    Parameters
    ----------
    name : str
        Unique on its board.
    size_bytes : int
        Bytes.
    kind : str
        One of `KINDS`.
    address : int or None
        Where it starts; None where no source says.
    alignment : int
        Bytes, a power of two: buffers in it start at multiples of this. 1 when only the buffers' own count.
    optional : bool
        Whether some copies of the board come without it; then it is never used unless asked for.
    data : bool
        Whether the core can load and store any type in it; instruction memory says False and holds no buffer.
    spans : bool
        Whether one buffer may start in the region that ends where this one starts, and reach into it.
    note : str
        What a reader must know.
    """

    name: str
    size_bytes: int
    kind: str
    address: int | None = None
    alignment: int = 1
    optional: bool = False
    data: bool = True
    spans: bool = True
    note: str = ""

    def __post_init__(self) -> None:
        who = f"region {self.name!r}"
        if not self.name:
            raise BadInput("a region needs a name")
        if self.kind not in KINDS:
            raise BadInput(f"{who}: kind {self.kind!r} is not one of {', '.join(KINDS)}")
        if self.size_bytes <= 0:
            raise BadInput(f"{who}: size_bytes must be positive, got {self.size_bytes}")
        if self.size_bytes + (self.address or 0) > _ADDRESS_SPACE:
            raise BadInput(f"{who}: it ends beyond the 64-bit address space")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise BadInput(f"{who}: alignment must be a power of two, got {self.alignment}")
        if self.address is not None and self.address < 0:
            raise BadInput(f"{who}: address must not be negative, got {self.address}")
        if self.address is not None and self.address % self.alignment:
            raise BadInput(f"{who}: address {self.address:#x} is not a multiple of its alignment {self.alignment}")

    @property
    def end(self) -> int | None:
        """The address just after the region."""
        return None if self.address is None else self.address + self.size_bytes

    @property
    def writable(self) -> bool:
        """Whether it is RAM."""
        return self.kind in ("sram", "tcm", "external")

    @property
    def internal(self) -> bool:
        """Whether it is on the chip."""
        return not self.kind.startswith("external")


@dataclass(frozen=True)
class Board:
    """A device as a list of memory regions.

    Parameters
    ----------
    name : str
        What the command line calls it.
    title : str
        What people call it.
    cpu : str
        The core.
    regions : tuple of Region
        At least one of them RAM; no two share an address.
    sources : tuple of str
        Where the figures come from.
    verified : str
        How well they were checked against the sources; empty means not at all.
    notes : tuple of str
        Anything else that bears on planning for it.
    """

    name: str
    title: str
    cpu: str
    regions: tuple[Region, ...]
    sources: tuple[str, ...] = ()
    verified: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [region.name for region in self.regions]
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"region {name!r} is defined twice")
        if not any(region.writable and region.data for region in self.regions):
            raise BadInput("no region is RAM; one must have kind sram, tcm or external")
        placed = sorted((r for r in self.regions if r.address is not None), key=lambda r: r.address or 0)
        for before, after in itertools.pairwise(placed):
            if before.end is not None and after.address is not None and after.address < before.end:
                raise BadInput(
                    f"region {after.name!r}: its address {after.address:#x} lies within region {before.name!r} "
                    f"[{before.address:#x}, {before.end:#x})"
                )

    def region(self, name: str) -> Region:
        """Return the region called `name`; `BadInput` lists those there are."""
        for region in self.regions:
            if region.name == name:
                return region
        raise BadInput(f"board {self.name}: no region {name!r}; it has {', '.join(r.name for r in self.regions)}")
