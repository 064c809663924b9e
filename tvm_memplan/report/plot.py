"""The memory map as a PNG or SVG through matplotlib, which the extra ``[plot]`` brings."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput, MissingDependency
from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import MemoryReport, PoolFigures
from tvm_memplan.report.table import shorten
from tvm_memplan.report.timeline import pool_timeline
from tvm_memplan.sizes import round_size, show_size

#: What pictures there are, by the end of a file's name.
SUFFIXES = (".png", ".svg", ".pdf")
_COLOURS = {
    Kind.INPUT: "#7cc7a0",
    Kind.OUTPUT: "#c3a3e0",
    Kind.WEIGHTS: "#b9c0cc",
    Kind.ACTIVATION: "#86b6ef",
    Kind.WORKSPACE: "#f3bd72",
}
#: Rectangles below this share of a picture's width or height have no name in them.
_LABELLED = 0.06
#: And below this share they have no edge, which would hide them.
_EDGED = 0.006


def report_picture(report: MemoryReport, path: str | Path) -> bytes:
    """Return a picture of a report: for each pool its pressure curve over its memory map.

    Pools of nothing but weights are left out where there are others.

    Parameters
    ----------
    report : MemoryReport
        What to show.
    path : str or Path
        The file it is for; the end of its name says what kind of picture.

    Raises
    ------
    BadInput
        If the name ends in no known kind, or the report has no pools.
    MissingDependency
        If matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"{path}: pictures are written as {', '.join(SUFFIXES)}, by the end of the name")
    if not report.pools:
        raise BadInput(f"{path}: the report has no pool that could be drawn")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency("pictures need matplotlib: pip install 'tvm-memplan[plot]'") from error
    # Of weights nothing is shared, so there is nothing to see in them.
    shared = {row.pool for row in report.allocations if row.kind is not Kind.WEIGHTS}
    pools = [figures for figures in report.pools if figures.pool in shared] or report.pools
    # Names are text, not formulas, whatever dollars are in them; and the same plan gives the same file.
    with rc_context({"text.parse_math": False, "svg.hashsalt": "tvm-memplan", "svg.fonttype": "none"}):
        figure = Figure(figsize=(11, 1 + 5.5 * len(pools)), layout="constrained")
        figure.suptitle(shorten(f"{report.model or 'a plan'}, planned with {report.planner}", 100))
        ratios = {"height_ratios": [1, 3] * len(pools)}
        axes = figure.subplots(2 * len(pools), 1, squeeze=False, gridspec_kw=ratios)[:, 0]
        for i, figures in enumerate(pools):
            _curve(axes[2 * i], report, figures)
            _map(axes[2 * i + 1], report, figures)
            axes[2 * i].sharex(axes[2 * i + 1])
        out = io.BytesIO()
        dated = {".png": "Software", ".svg": "Date", ".pdf": "CreationDate"}[suffix]
        figure.savefig(out, format=suffix[1:], dpi=150, metadata={dated: None})
    return out.getvalue()


def _curve(axes: Any, report: MemoryReport, figures: PoolFigures) -> None:
    curve = pool_timeline(report, figures.pool)
    axes.fill_between(curve.moments, curve.held, step="post", color=_COLOURS[Kind.ACTIVATION], alpha=0.6, linewidth=0)
    axes.axhline(figures.planned, color="black", linewidth=1, label=f"planned {show_size(figures.planned)}")
    axes.axhline(figures.bound, color="#8a5a00", linewidth=1, linestyle="--", label=f"bound {show_size(figures.bound)}")
    if figures.capacity is not None and figures.capacity <= 1.5 * figures.planned:
        label = f"capacity {show_size(figures.capacity)}"
        axes.axhline(figures.capacity, color="#b3261e", linewidth=1, linestyle=":", label=label)
    axes.set_ylim(0)
    _bytes(axes)
    axes.set_ylabel("in use")
    axes.set_title(shorten(f"pool {figures.pool}", 80), loc="left", fontsize="medium")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small")


def _map(axes: Any, report: MemoryReport, figures: PoolFigures) -> None:
    from matplotlib.collections import PolyCollection

    rows = [row for row in report.allocations if row.pool == figures.pool]
    steps = [step for row in report.allocations for live in row.live_ranges for step in (live.start, live.stop)]
    first, last = min(steps, default=0), max(steps, default=1)
    top = max([figures.planned, 1, *(row.end for row in rows)])
    for kind in Kind:
        boxes, edges = [], []
        for row in rows:
            if row.kind is not kind:
                continue
            for a, b in [(live.start, live.stop) for live in row.live_ranges] or [(first, last)]:
                edges.append(0.5 if min((b - a) / (last - first), row.size / top) > _EDGED else 0.0)
                boxes.append([(a, row.offset), (b, row.offset), (b, row.end), (a, row.end)])
                if (b - a) > _LABELLED * (last - first) and row.size > _LABELLED * top:
                    room = max(4, int(110 * (b - a) / (last - first)))
                    text = shorten(row.title, room)
                    axes.text(a, row.offset + row.size / 2, f" {text}", va="center", fontsize=7, clip_on=True)
        if boxes:
            axes.add_collection(
                PolyCollection(boxes, facecolor=_COLOURS[kind], edgecolor="white", linewidth=edges, label=kind.value)
            )
    axes.axhline(figures.planned, color="black", linewidth=1)
    axes.set_xlim(first, last)
    axes.set_ylim(0, 1.03 * top)
    axes.set_facecolor("#eceff4")
    axes.set_xlabel("step")
    axes.set_ylabel("offset")
    axes.legend(loc="upper right", fontsize="small")
    _bytes(axes)


def _bytes(axes: Any) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    # Powers of two, since memories come in those; at most eight of them.
    axes.yaxis.set_major_locator(MultipleLocator(2 ** max(0, math.ceil(math.log2(max(1.0, axes.get_ylim()[1]) / 8)))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda size, _: round_size(round(size))))
