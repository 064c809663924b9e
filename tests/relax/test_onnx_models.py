"""Real models from packages: planned, built, and bit-equal."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")
pytest.importorskip("onnx", reason="needs onnx")

import numpy as np

from tests.relax.onnx_files import ONNX
from tests.relax.running import finished, lowered, run
from tvm_memplan.relax import PlanBlockMemory


@pytest.mark.slow
@pytest.mark.parametrize("name", ONNX)
def test_real_models_compute_the_same_bits(name):
    # Each is two builds of a whole network, most of a minute for nudenet: it is what users have.
    if ONNX[name].path is None:
        pytest.skip(f"needs pip install {ONNX[name].package.replace('_', '-')}")
    network = ONNX[name].network()
    module = lowered(network.module)
    usual = finished(module, lambda module: module, spy=False)
    found = []
    ours = finished(module, PlanBlockMemory(look=found.append), spy=False, poison=True)
    made = found[0].functions["main"]
    pool = made.report().pool("arena")
    assert pool.planned == pool.bound and not made.symbolic
    results = []
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).random(ONNX[name].shape, dtype="float32")
        expected, got = ([a.tobytes() for a in run(build, [x])[0]] for build in (usual, ours))
        assert expected == got
        results.append(tuple(got))
    assert len(set(results)) == 3
