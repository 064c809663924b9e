"""What the page's script gets: a report as short lists, everything that repeats said once and meant by its index.

::

    {"model": "kws", "target": "c", "planner": "auto",
     "kinds": ["input", ...], "operators": ["conv2d", ...], "steps": [index of an operator, ...],
     "layers": ["model/conv2d/Relu", ...], "stepLayers": [index of a layer or -1, ...] (or empty),
     "pools": [{"name", "capacity" or null, "alignment", "naive", "planned", "bound", "boundKind", "mean",
                "peak": {"step", "operator", "holders": [index of a buffer, ...]} or null,
                "moments": [step, ...], "held": [bytes, ...]}],
     "buffers": [[name, operator, kind, pool, offset, size, alignment, [start, stop, start, stop, ...], tensor, scope,
                  in place of (-1 for none), [[name, offset, size], ...],
                  title (empty: name and operator), [index of a layer, ...], source], ...],
     "leftAlone": [{"name", "function", "scope", "size" or null, "reason"}], "notes": ["..."]}

Sizes and offsets are bytes. The script computes with doubles, which are exact up to 8 PiB.
"""

from __future__ import annotations

from typing import Any

from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import Allocation, MemoryReport, PoolFigures
from tvm_memplan.report.timeline import pool_timeline


def page_data(report: MemoryReport) -> dict[str, Any]:
    """Return `report` in the form given above."""
    operators = {name: i for i, name in enumerate(dict.fromkeys([*report.steps, *_operators(report)]))}
    names: dict[str, int] = {}
    for i, row in enumerate(report.allocations):
        names.setdefault(row.name, i)
    pools = {figures.pool: i for i, figures in enumerate(report.pools)}
    told = (layer for row in report.allocations for layer in row.layers)
    layers = {name: i for i, name in enumerate(dict.fromkeys([*told, *filter(None, report.step_layers)]))}
    return {
        "model": report.model,
        "target": report.target,
        "planner": report.planner,
        "kinds": [kind.value for kind in Kind],
        "operators": list(operators),
        "steps": [operators[name] for name in report.steps],
        "layers": list(layers),
        "stepLayers": [layers.get(name, -1) for name in report.step_layers],
        "pools": [_pool(report, figures, names) for figures in report.pools],
        "buffers": [_buffer(row, operators, names, pools, layers) for row in report.allocations],
        "leftAlone": [
            {
                "name": left.name,
                "function": left.function,
                "scope": left.scope,
                "size": left.size,
                "reason": left.reason,
            }
            for left in report.left_alone
        ],
        "notes": list(report.notes),
    }


def _operators(report: MemoryReport) -> list[str]:
    return [row.operator for row in report.allocations]


def _pool(report: MemoryReport, figures: PoolFigures, names: dict[str, int]) -> dict[str, Any]:
    curve = pool_timeline(report, figures.pool)
    peak = figures.peak
    return {
        "name": figures.pool,
        "capacity": figures.capacity,
        "alignment": figures.alignment,
        "naive": figures.naive,
        "planned": figures.planned,
        "bound": figures.bound,
        "boundKind": figures.bound_kind,
        "mean": round(curve.mean),
        "peak": peak
        and {
            "step": peak.step,
            "operator": peak.operator,
            "holders": [names[name] for name in peak.holders if name in names],
        },
        "moments": list(curve.moments),
        "held": list(curve.held),
    }


def _buffer(
    row: Allocation,
    operators: dict[str, int],
    names: dict[str, int],
    pools: dict[str, int],
    layers: dict[str, int],
) -> list[Any]:
    return [
        row.name,
        operators[row.operator],
        list(Kind).index(row.kind),
        pools.get(row.pool, -1),
        row.offset,
        row.size,
        row.alignment,
        [step for live in sorted(row.live_ranges) for step in (live.start, live.stop)],
        row.tensor,
        row.scope,
        -1 if row.in_place_of is None else names.get(row.in_place_of, -1),
        [[alias.name, alias.offset, alias.size] for alias in row.aliases],
        row.title if row.layer or row.layers else "",
        [layers[layer] for layer in row.layers],
        row.source,
    ]
