"""Numbers and peaks of a difference in the words that text and Markdown share."""

from __future__ import annotations

from tvm_memplan.report.diff.difference import PoolChange
from tvm_memplan.report.memory import MemoryReport, PoolFigures


def signed(size: int) -> str:
    """Return a change in bytes with its sign; nothing is 0."""
    return f"{size:+,}" if size else "0"


def count(size: int | None) -> str:
    """Return bytes, or a dash for what is not there."""
    return "-" if size is None else f"{size:,}"


def share(change: PoolChange) -> str:
    """Return the growth as a share of the old size."""
    if change.old is None or change.new is None:
        return "new" if change.old is None else "gone"
    if not change.old.planned:
        return "-" if change.growth else "0.0%"
    part = change.growth / change.old.planned
    return f"{part:+.1%}" if change.growth else "0.0%"


def peak(report: MemoryReport, figures: PoolFigures | None) -> str:
    """Say where the peak of a pool is."""
    if figures is None or figures.peak is None:
        return "nowhere in particular"
    doing = report.at(figures.peak.step, figures.peak.operator, 60)
    return f"step {figures.peak.step}" + (f", {doing}" if doing else "")


def peak_moved(change: PoolChange) -> bool:
    """Whether the peak of a pool has other holders than before."""
    return bool(change.old and change.new and (change.joined or change.gone))
