"""Model files in: ONNX, TFLite, PyTorch's exported programs, and Relax modules as JSON or text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.errors import BadInput, MissingDependency, UnsupportedIR
from tvm_memplan.model_files import (
    Shapes,
    model_bytes,
    onnx_inputs,
    onnx_model,
    require_exported_program,
    require_saved_module,
    tflite_model,
)
from tvm_memplan.relax.layers import read_exported, read_onnx, read_tflite
from tvm_memplan.relax.onnx_constants import fold_shapes


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
    data = model_bytes(path, _READERS, shapes)
    relax_dialect()
    return _read_onnx(path, data, shapes) if shapes else _READERS[path.suffix.lower()](path, data)


def _read_onnx(path: Path, data: bytes, shapes: Shapes | None = None) -> Any:
    model = onnx_model(path, data, "relax")
    onnx_inputs(path, model.graph, shapes or {})
    fixed = {name: list(shape) for name, shape in (shapes or {}).items()}
    model = fold_shapes(model, shapes or {})
    return _by_front_end(path, "ONNX", lambda: read_onnx(model, shape_dict=fixed or None))


def _read_tflite(path: Path, data: bytes) -> Any:
    model = tflite_model(path, data, "relax")
    return _by_front_end(path, "TFLite", lambda: read_tflite(model))


def _read_exported(path: Path, data: bytes) -> Any:
    require_exported_program(path, data)
    try:
        import torch
    except ImportError as error:
        raise MissingDependency("reading exported programs needs PyTorch: pip install torch") from error
    # It tells its log with a traceback what an error is to say.
    log = logging.getLogger("torch.export")
    was, log.disabled = log.disabled, True
    try:
        program = torch.export.load(path)
    except Exception as error:
        raise BadInput(
            f"{path}: PyTorch {torch.__version__} cannot read it; is it damaged, or of another version? "
            f"{_last_line(error)}"
        ) from error
    finally:
        log.disabled = was
    return _by_front_end(path, "PyTorch", lambda: read_exported(program))


def _read_json(path: Path, data: bytes) -> Any:
    import tvm

    require_saved_module(path, data, ("root_index", "nodes"))
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
