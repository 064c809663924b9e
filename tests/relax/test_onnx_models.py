"""Real models from packages: planned, built, and bit-equal. We depend on none of these, so they may be absent."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")
pytest.importorskip("onnx", reason="needs onnx")

import numpy as np

from tests.relax.running import finished, lowered, plans, run
from tvm_memplan.relax import PlanBlockMemory, read_model

#: Package, file in it, the name of its input, and the sides of an image: those that its anchors are for, or small.
MODELS = {
    "PP-OCRv4 detection": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "x", 64),
    "nudenet 320n": ("nudenet", "320n.onnx", "images", 320),
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
    package, file, given, side = MODELS[name]
    module = read_model(path_of(package, file), {given: (1, 3, side, side)})
    pool = plans(module)["main"].report().pool("arena")
    assert pool.planned == pool.bound
    low = lowered(module)
    builds = [finished(low, plan, spy=False) for plan in (lambda module: module, PlanBlockMemory())]
    results = []
    for seed in (1, 2, 3):
        x = np.random.default_rng(seed).random((1, 3, side, side), dtype="float32")
        usual, ours = ([a.tobytes() for a in run(build, [x])[0]] for build in builds)
        assert usual == ours
        results.append(ours)
    assert results[0] != results[1]
