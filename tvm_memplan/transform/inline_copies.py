"""`InlineCopies`: read through a copy instead of storing it.

TVM's convolutions first store a padded copy of their input, widened where it is quantised, and then read that. The
copy is as large as the input or larger, and alive together with the output. This pass replaces every load of such a
buffer by the value that was stored, and drops the buffer: a load of the padded copy becomes a load of the input under
the condition that the index is inside.

It works on PrimFuncs as schedules leave them, before StorageFlatten (TVM 0.19: ``tir.add_lower_pass`` in phase 0), and
leaves the attribute ``tvm_memplan.inlined`` (JSON: name, bytes, and how often elements were computed before and
are now). Results are the same bits. Running it again changes nothing.

Leaves alone: every buffer for which `tvm_memplan.dialects.tir.copies` cannot prove that it may go, or that
would cost more than cheap arithmetic to do without; functions with threads; functions that are flattened already.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import UnsupportedIR

#: Function attribute that the pass leaves behind.
INLINED_ATTRIBUTE = "tvm_memplan.inlined"


def InlineCopies() -> Any:
    """Make the pass.

    Returns
    -------
    tvm.transform.Pass
        For ``tir.add_lower_pass`` in phase 0.

    Raises
    ------
    MissingDependency, UnsupportedIR
        At once, when no TVM is installed or it has no schedules of tensor expressions to work on, as 0.27 has not.
    """
    dialect = tir_dialect()
    if not hasattr(dialect, "inline_copies"):
        raise UnsupportedIR("InlineCopies works on what schedules of TVM 0.19 leave; TVM of today has none of them")

    def transform(function: Any, _module: Any, _context: Any) -> Any:
        inlined, copies = dialect.inline_copies(function)
        if not copies:
            return function
        return inlined.with_attr(INLINED_ATTRIBUTE, json.dumps([asdict(copy) for copy in copies]))

    return dialect.function_pass(transform, "tvm_memplan.InlineCopies")
