"""What changed between two plans: by pool, by operator, by buffer; and whether it may.

`difference` compares two reports, `limits.py` says what growth is allowed, and the other modules show the result as
text, as Markdown and as JSON.
"""

from tvm_memplan.report.diff.difference import BufferChange, Difference, OperatorChange, PoolChange, difference
from tvm_memplan.report.diff.json import diff_fields
from tvm_memplan.report.diff.limits import Growth, Limits, overruns
from tvm_memplan.report.diff.markdown import diff_markdown
from tvm_memplan.report.diff.text import diff_text

__all__ = [
    "BufferChange",
    "Difference",
    "Growth",
    "Limits",
    "OperatorChange",
    "PoolChange",
    "diff_fields",
    "diff_markdown",
    "diff_text",
    "difference",
    "overruns",
]
