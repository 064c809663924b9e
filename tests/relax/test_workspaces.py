"""Work that other compilers and libraries do, and the workspace that TVM's AllocateWorkspace gives them."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from tests.relax.running import finished, lowered, plans, run, same_bits
from tvm_memplan.relax import PlanBlockMemory


@I.ir_module
class Offloaded:
    """As a partitioner leaves it: a function for another compiler, which asks for a workspace."""

    @R.function
    def fused_matmul_library(x: R.Tensor((16, 16), "float32"), w: R.Tensor((16, 16), "float32")) -> R.Tensor(
        (16, 16), "float32"
    ):
        R.func_attr({"Codegen": "library", "WorkspaceSize": 4096, "global_symbol": "fused_matmul_library"})

        @R.function
        def inner(a: R.Tensor((16, 16), "float32"), b: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
            R.func_attr({"Composite": "library.matmul", "Primitive": True, "WorkspaceSize": 4096})
            with R.dataflow():
                c = R.matmul(a, b)
                R.output(c)
            return c

        y: R.Tensor((16, 16), "float32") = inner(x, w)
        return y

    @R.function
    def main(x: R.Tensor((16, 16), "float32"), w: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
        cls = Offloaded
        with R.dataflow():
            a = R.exp(x)
            b: R.Tensor((16, 16), "float32") = cls.fused_matmul_library(a, w)
            c = R.sqrt(b)
            d = R.tanh(c)
            R.output(d)
        return d


def test_a_librarys_workspace_is_planned_with_everything_else():
    with_workspace = relax.transform.AllocateWorkspace()(Offloaded)
    made = plans(with_workspace, in_place=False)
    assert set(made) == {"main"}
    rows = {row.name: row for row in made["main"].report().allocations}
    workspace = rows["workspace_main"]
    assert (workspace.pool, workspace.size) == ("arena", 4096)
    # For as long as what was handed back, which may be a view of any argument; then others may lie on it.
    assert [(span.start, span.stop) for span in workspace.live_ranges] == [(1, 3)]
    assert made["main"].arenas == {"arena": 1024 + 4096 + 1024}
    notes = []
    with tvm.target.Target("llvm"):
        PlanBlockMemory(look=lambda made: notes.extend(made.notes))(lowered(with_workspace))
    assert any("for another compiler, library" in note for note in notes)


@tvm.register_global_func("tvm_memplan.tests.library_matmul", override=True)
def _matmul(x, w, workspace, out):
    workspace.copyfrom(np.full(workspace.shape, 0xA5, "uint8"))
    out.copyfrom(x.numpy() @ w.numpy())


@pytest.mark.parametrize("outputs", ["own", "arena", "caller"])
def test_a_library_that_overwrites_its_workspace_overwrites_nothing_else(outputs):
    builder = relax.BlockBuilder()
    x, w = (relax.Var(name, relax.TensorType((16, 16), "float32")) for name in "xw")
    with builder.function("main", [x, w]):
        kept = builder.emit(relax.op.exp(x))
        space = builder.emit(relax.op.builtin.alloc_tensor(relax.ShapeExpr([4096]), "uint8", 0, "global"))
        call = relax.op.call_dps_packed(
            "tvm_memplan.tests.library_matmul", (kept, w, space), out_ty=relax.TensorType((16, 16), "float32")
        )
        y = builder.emit(relax.op.add(builder.emit(call), kept))
        builder.emit_func_output(builder.emit(relax.op.sqrt(y)))
    module = builder.get()
    values = [np.random.default_rng(seed).random((16, 16), "float32") for seed in range(2)]
    if outputs != "caller":
        assert same_bits(module, [values], PlanBlockMemory(outputs=outputs))
        return
    low = lowered(module)
    wanted, _ = run(finished(low, lambda m: m), values)
    place = tvm.runtime.tensor(np.zeros((16, 16), "float32"))
    run(finished(low, PlanBlockMemory(outputs=outputs), poison=True), [*values, place])
    assert place.numpy().tobytes() == wanted[0].tobytes()


def test_gpu_builds_know_every_place_of_an_output():
    from tests.relax.networks import SMALL
    from tvm_memplan.relax import pipeline

    adreno = tvm.target.Target({"kind": "opencl", "device": "adreno", "host": {"kind": "llvm"}})
    assert "adreno" in adreno.keys
    for target in (tvm.target.Target("cuda", host="llvm"), adreno):
        for outputs in ("arena", "caller"):
            built = relax.build(SMALL["perceptron"]().module, target, relax_pipeline=pipeline(target, outputs=outputs))
            kinds = {module.kind for module in _imports(built.mod)}
            assert str(target.kind.name) in kinds


def _imports(module):
    for inner in module.imports:
        yield inner
        yield from _imports(inner)
