"""Model files in: TFLite, ONNX, and Relay modules as text or JSON.

Every file is tried on its own terms first (does it exist, does it begin like its format), because the readers
underneath answer a wrong file with anything from an IndexError to a crash of the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tvm_memplan.dialects.line import require_relay_line
from tvm_memplan.errors import BadInput

Shapes = Mapping[str, tuple[int, ...]]


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
    path = Path(path)
    reader = _readers().get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{path}: unknown kind of model; it has to end in {', '.join(_readers())}")
    if shapes and path.suffix.lower() != ".onnx":
        raise BadInput(f"{path}: shapes can be given for ONNX only")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if not data:
        raise BadInput(f"{path}: the file is empty")
    require_relay_line("reading a model")
    return Model(*reader(path, data, dict(shapes or {})))


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
