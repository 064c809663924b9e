"""A report as a summary CSV with the columns of Arm's Vela that a memory plan can fill.

Vela's ``*_summary_*.csv`` (ethosu/vela/stats_writer.py) has one line of figures under one line of labels; what it calls
``<area>_memory_used`` is KiB, as a decimal number, and so it is here, for each pool. Columns of cycles and bandwidths,
of which a plan knows nothing, are left out. Readers go by the labels (``sram_memory_used``), so a pool that is to be
found there has to be called like Vela's area: sram, dram, on_chip_flash, off_chip_flash.
"""

from __future__ import annotations

import csv
import io
import re

from tvm_memplan.planning.model import Kind
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.table import printable


def vela_summary(report: MemoryReport) -> str:
    """Return two lines of CSV: labels, and figures. Memory is KiB, weights are bytes, passes are steps."""
    columns: dict[str, str | int | float] = {"experiment": "default", "network": printable(report.model)}
    columns["system_config"] = printable(report.target)
    columns["memory_mode"] = printable(report.planner)
    columns["passes_after_fusing"] = len(report.steps)
    for figures in report.pools:
        label = f"{re.sub(r'[^a-z0-9]+', '_', figures.pool.lower()).strip('_') or 'pool'}_memory_used"
        while label in columns:
            label += "_"
        columns[label] = figures.planned / 1024
    columns["total_original_weights"] = report.total(Kind.WEIGHTS)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([columns.keys(), columns.values()])
    return out.getvalue()
