"""Real models from packages: planned, built, and bit-equal. We depend on none of these, so they may be absent."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")
pytest.importorskip("onnx", reason="needs onnx")

import numpy as np
import tvm

from tests.relax.running import finished, lowered, run
from tvm_memplan.relax import PlanBlockMemory, read_model

#: Package, file in it, the name of its input, and the shape of that.
MODELS = {
    "PP-OCRv4 detection": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "x", (1, 3, 64, 64)),
    "nudenet 320n": ("nudenet", "320n.onnx", "images", (1, 3, 320, 320)),
}


def path_of(package, file):
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"needs pip install {package.replace('_', '-')}")
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        pytest.skip(f"{package} has no {file}")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_real_models_compute_the_same_bits(name):
    package, file, given, shape = MODELS[name]
    module = lowered(read_model(path_of(package, file), {given: shape}))
    try:
        usual = finished(module, lambda module: module, spy=False)
    except tvm.error.InternalError as error:
        pytest.skip(f"TVM cannot build it, planned or not: {str(error).splitlines()[0]}")
    found = []
    ours = finished(module, PlanBlockMemory(look=found.append), spy=False)
    pool = found[0].functions["main"].report().pool("arena")
    assert pool.planned == pool.bound
    results = []
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).random(shape, dtype="float32")
        expected, got = ([a.tobytes() for a in run(build, [x])[0]] for build in (usual, ours))
        assert expected == got
        results.append(got)
    assert results[0] != results[1]
