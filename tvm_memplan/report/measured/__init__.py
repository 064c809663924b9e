"""The plan against reality: what a run was seen to use, held against the figures of a report.

This part only compares and prints; what was seen comes from `tvm_memplan.relay.measure`, `tvm_memplan.relax.measure`,
or the lines that an exported program prints on a board.
"""

from tvm_memplan.report.measured.compare import PoolReality, Reality, Untouched, compare
from tvm_memplan.report.measured.json import reality_fields
from tvm_memplan.report.measured.log import measurement_from_log
from tvm_memplan.report.measured.measurement import Arena, Handed, Measurement, Request, Stack
from tvm_memplan.report.measured.text import reality_text

__all__ = [
    "Arena",
    "Handed",
    "Measurement",
    "PoolReality",
    "Reality",
    "Request",
    "Stack",
    "Untouched",
    "compare",
    "measurement_from_log",
    "reality_fields",
    "reality_text",
]
