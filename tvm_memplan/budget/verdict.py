"""`Verdict`: whether a plan fits a board, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from tvm_memplan.report.memory import Allocation, LeftAlone, Peak


@dataclass(frozen=True)
class RegionVerdict:
    """What one region needs to hold and what it has, all in bytes.

    Parameters
    ----------
    region : str
        Name of the region, joined regions as ``first+second``.
    holds : str
        ``activations`` (with inputs, outputs and workspace) or ``weights``.
    need : int
        What the plan puts there, and `caller`, and `unplanned`.
    size, reserve : int
        What the region is, and what is kept free of the plan.
    caller : int
        The part of `need` for inputs and outputs that the caller of the model supplies: each has bytes of its own.
    unplanned : int
        The part of `need` for buffers that were left alone: they count in full, since something has to hold them.
    bound : int
        What no packing of the rest can go below, were everything in this region.
    together : int
        What all regions that may hold the same have together, reserves taken off.
    judged : bool
        False for weights on a board that lists no read-only memory: there is nothing to compare with.
    """

    region: str
    holds: str
    need: int
    size: int
    reserve: int
    caller: int
    unplanned: int
    bound: int
    together: int
    judged: bool = True

    @property
    def have(self) -> int:
        """Bytes that the plan may take."""
        return self.size - self.reserve

    @property
    def least(self) -> int:
        """Bytes that every plan needs."""
        return self.bound + self.caller + self.unplanned

    @property
    def excess(self) -> int:
        """Bytes over what the region has; 0 when it fits or is not judged."""
        return max(0, self.need - self.have) if self.judged else 0

    @property
    def fits(self) -> bool:
        """Whether it fits, as far as it is judged."""
        return self.excess == 0


@dataclass(frozen=True)
class Verdict:
    """Whether a plan fits a board.

    Parameters
    ----------
    board, model : str
        What was compared.
    rows : tuple of RegionVerdict
        One per region that holds something, the preferred RAM region first.
    peak : Peak or None
        Where the RAM is fullest.
    holders : tuple of Allocation
        The largest buffers alive there, largest first.
    unknown : tuple of LeftAlone
        Buffers that were left alone and whose size is not known: with any of them nothing is said to fit.
    notes : tuple of str
        What the reader must know to trust the verdict, beside the notes of the report.
    doing : str
        What happens at the peak: the layer of the model, where it is known, and the operator.
    """

    board: str
    model: str
    rows: tuple[RegionVerdict, ...]
    peak: Peak | None = None
    holders: tuple[Allocation, ...] = ()
    unknown: tuple[LeftAlone, ...] = ()
    notes: tuple[str, ...] = ()
    doing: str = ""

    @property
    def fits(self) -> bool:
        """Whether every region fits and nothing is unknown."""
        return not self.unknown and all(row.fits for row in self.rows)
