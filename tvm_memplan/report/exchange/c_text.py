"""Names of models in C source."""

from __future__ import annotations

from tvm_memplan.report.table import printable


def comment(text: str) -> str:
    """Return `text` as it can stand in a comment of one line, of either kind, and not end or continue it."""
    # A backslash at the end of a line continues it, and so does its trigraph.
    safe = printable(text).replace("\\", "/").replace("??", "? ?")
    return safe.replace("*/", "* /").replace("/*", "/ *")
