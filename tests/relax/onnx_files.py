"""Real ONNX models that lie in packages on PyPI. We depend on none of these, so they may be absent."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from tests.relax.networks import Network


@dataclass(frozen=True)
class File:
    """A package, a file in it, the name of its input, and the shape to give that."""

    package: str
    file: str
    given: str
    shape: tuple

    @property
    def path(self):
        """Where it is, None when the package is not installed or has no such file."""
        found = importlib.util.find_spec(self.package)
        if found is None or not found.submodule_search_locations:
            return None
        path = Path(found.submodule_search_locations[0]) / self.file
        return path if path.is_file() else None

    def network(self):
        """The model as a network for tests and scripts."""
        from tvm_memplan.relax import read_model

        return Network(read_model(self.path, {self.given: self.shape}), "main")


ONNX = {
    "PP-OCRv4 detection": File("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "x", (1, 3, 64, 64)),
    "nudenet 320n": File("nudenet", "320n.onnx", "images", (1, 3, 64, 64)),
}
