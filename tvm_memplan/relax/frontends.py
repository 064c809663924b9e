"""Model files in: ONNX, TFLite, PyTorch's exported programs, and Relax modules as JSON or text.

Every file is tried on its own terms first (does it exist, does it begin like its format), because the readers
underneath answer a wrong file with anything from an IndexError to a crash of the process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput, MissingDependency, UnsupportedIR

Shapes = Mapping[str, tuple[int, ...]]


def read_model(path: str | Path, shapes: Shapes | None = None) -> Any:
    """Read a model file as a Relax module, its weights in it as constants where the front end allows it.

    Parameters
    ----------
    path : str or Path
        ``.onnx``, ``.tflite``, ``.pt2`` (saved by `torch.export.save`), ``.json`` (saved by `tvm.ir.save_json`), or
        ``.relax`` or ``.txt`` (what a module's `script` prints).
    shapes : mapping of str to tuple of int or None
        Shapes of inputs that the file leaves open, ONNX only.

    Raises
    ------
    BadInput
        The file is missing, or is not what its name says.
    UnsupportedIR
        TVM's front end cannot read the model; the message is its own.
    MissingDependency
        A package is not installed.
    """
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"{path}: unknown kind of model; it has to end in {', '.join(_READERS)}")
    if shapes and path.suffix.lower() != ".onnx":
        raise BadInput(f"{path}: shapes can be given for ONNX only")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if not data:
        raise BadInput(f"{path}: the file is empty")
    relax_dialect()
    return _read_onnx(path, data, shapes) if shapes else reader(path, data)


def _read_onnx(path: Path, data: bytes, shapes: Shapes | None = None) -> Any:
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingDependency("reading ONNX models needs: pip install 'tvm-memplan[relax]'") from error
    from tvm.relax.frontend.onnx import from_onnx

    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise BadInput(f"{path}: not an ONNX model, or a truncated one ({error})") from error
    if not model.graph.node:
        raise BadInput(f"{path}: not an ONNX model: it holds no operators")
    names = [value.name for value in model.graph.input]
    for name in shapes or ():
        if name not in names:
            raise BadInput(f"{path}: there is no input {name!r}; the inputs are {', '.join(names) or 'none'}")
    fixed = {name: list(shape) for name, shape in (shapes or {}).items()}
    return _by_front_end(path, "ONNX", lambda: from_onnx(model, shape_dict=fixed or None))


def _read_tflite(path: Path, data: bytes) -> Any:
    if data[4:8] != b"TFL3":
        raise BadInput(f"{path}: not a TFLite model: it does not say TFL3 at byte 4")
    try:
        import tflite
    except ImportError as error:
        raise MissingDependency("reading TFLite models needs: pip install 'tvm-memplan[relax]'") from error
    from tvm.relax.frontend.tflite import from_tflite

    return _by_front_end(path, "TFLite", lambda: from_tflite(tflite.Model.GetRootAsModel(data, 0)))


def _read_exported(path: Path, _data: bytes) -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingDependency("reading exported programs needs PyTorch: pip install torch") from error
    from tvm.relax.frontend.torch import from_exported_program

    try:
        program = torch.export.load(path)
    except Exception as error:
        raise BadInput(f"{path}: not a program saved by torch.export.save: {_last_line(error)}") from error
    return _by_front_end(path, "PyTorch", lambda: from_exported_program(program))


def _read_json(path: Path, data: bytes) -> Any:
    import tvm

    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    if not isinstance(held, dict) or not {"root_index", "nodes"} <= held.keys():
        raise BadInput(
            f"{path}: not a module saved by tvm.ir.save_json: it has no nodes with a root; "
            "problems and plans are read by `tvm-memplan plan`"
        )
    try:
        module = tvm.ir.load_json(data.decode())
    except Exception as error:
        raise BadInput(f"{path}: not a module saved by tvm.ir.save_json: {_last_line(error)}") from error
    return _module(path, module)


def _read_text(path: Path, data: bytes) -> Any:
    from tvm.script import from_source, ir, relax, tirx

    try:
        module = from_source(data.decode(), {"I": ir, "R": relax, "T": tirx})
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: it is not text (byte {error.start})") from error
    except (Exception, SystemExit) as error:
        raise BadInput(f"{path}: not a Relax module: {_last_line(error)}") from error
    return _module(path, module)


def _module(path: Path, module: Any) -> Any:
    import tvm
    from tvm import relax

    if isinstance(module, relax.Function):
        module = tvm.IRModule({"main": module.with_attr("global_symbol", "main")})
    if not isinstance(module, tvm.IRModule):
        raise BadInput(f"{path}: it holds a {type(module).__name__}, not a module")
    if not any(isinstance(function, relax.Function) for function in module.functions.values()):
        raise BadInput(f"{path}: it holds a module without Relax functions")
    return module


def _by_front_end(path: Path, kind: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:
        raise UnsupportedIR(
            f"{path}: TVM's {kind} front end failed: {type(error).__name__}: {_last_line(error)}"
        ) from error


def _last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


_READERS: dict[str, Callable[[Path, bytes], Any]] = {
    ".onnx": _read_onnx,
    ".tflite": _read_tflite,
    ".pt2": _read_exported,
    ".json": _read_json,
    ".relax": _read_text,
    ".txt": _read_text,
}
