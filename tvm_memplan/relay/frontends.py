"""Model files in: TFLite, ONNX, and Relay modules as text or JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tvm_memplan.dialects.line import require_relay_line
from tvm_memplan.model_files import Shapes, model_bytes


class Model(NamedTuple):
    """What was read: ``mod, params = read_model(path)``."""

    mod: Any
    params: dict[str, Any]


def read_model(path: str | Path, shapes: Shapes | None = None) -> Model:
    """Read a model file as a Relay module.

    Parameters
    ----------
    path : str or Path
        ``.tflite``, ``.onnx``, Relay text (``.relay`` or ``.txt``), or a module saved by `tvm.ir.save_json`
        (``.json``).
    shapes : mapping of str to tuple of int or None
        Shapes of inputs that the file leaves open, ONNX only.

    Raises
    ------
    BadInput
        The file is missing, is not what its name says, or leaves a dimension open; the message says which.
    UnsupportedIR
        TVM's front end lacks operators of the model; the message names them.
    MissingDependency
        A package of the ``relay`` extra is not installed.
    """
    path, readers = Path(path), _readers()
    data = model_bytes(path, readers, shapes)
    require_relay_line("reading a model")
    return Model(*readers[path.suffix.lower()](path, data, dict(shapes or {})))


def _readers() -> dict[str, Callable[[Path, bytes, dict[str, tuple[int, ...]]], tuple[Any, dict[str, Any]]]]:
    from tvm_memplan.relay.read_onnx import read_onnx
    from tvm_memplan.relay.read_relay import read_relay_json, read_relay_text
    from tvm_memplan.relay.read_tflite import read_tflite

    return {
        ".tflite": read_tflite,
        ".onnx": read_onnx,
        ".relay": read_relay_text,
        ".txt": read_relay_text,
        ".json": read_relay_json,
    }
