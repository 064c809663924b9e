"""The TVM that is installed, and the material of its line: `nodes`, `operators`, `programs` and `running`.

What a pass promises is the same on both lines, so its tests are here once; what only one line can say stays in
`tests/tir` and `tests/tirx`.
"""

from importlib.util import find_spec

import pytest

tvm = pytest.importorskip("tvm", reason="needs a TVM, of either line")
if find_spec("tvm.relay") is not None:
    from tests.tir import nodes, operators, programs, running, symbolic_programs
else:
    from tests.tirx import nodes, operators, programs, running, symbolic_programs

__all__ = ["nodes", "operators", "programs", "running", "symbolic_programs", "tvm"]
