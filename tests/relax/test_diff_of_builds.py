"""Two builds of one Relax model that differ in one operator: it is named, and the exit code is the gate's."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tvm.script import ir as I
from tvm.script import relax as R

from tvm_memplan.cli import main
from tvm_memplan.relax import plan
from tvm_memplan.report.diff import difference
from tvm_memplan.report.json import to_json


@I.ir_module
class Before:
    """Four operators in a row."""

    @R.function
    def main(x: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        a = R.matmul(x, w)
        b = R.nn.relu(a)
        c = R.matmul(b, w)
        d = R.exp(c)
        return d


@I.ir_module
class After:
    """The same, with a softmax in the middle."""

    @R.function
    def main(x: R.Tensor((64, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        a = R.matmul(x, w)
        b = R.nn.relu(a)
        weighed = R.nn.softmax(b)
        c = R.matmul(weighed, w)
        d = R.exp(c)
        return d


def test_the_operator_that_was_put_in_is_named_and_the_gate_closes(tmp_path, capsys):
    reports = [plan(module, "llvm", model="net").report for module in (Before, After)]
    found = difference(*reports)
    # By the name in the source, which is the layer's here, and by the kernel that it became.
    assert {change.operator for change in found.operators} == {"weighed"}
    assert {change.row.operator for change in found.buffers} == {"softmax"}
    old, new = (tmp_path / name for name in ("old.json", "new.json"))
    old.write_text(to_json(reports[0]))
    new.write_text(to_json(reports[1]))
    assert main(["diff", str(old), str(old), "--max-growth", "0"]) == 0
    capsys.readouterr()
    assert main(["diff", str(old), str(new), "--max-bytes", "arena=1"]) == 1
    said = capsys.readouterr().out
    assert "weighed" in said and "softmax" in said and "relu  " not in said
    assert main(["diff", str(old), str(tmp_path / "gone.json")]) == 2
