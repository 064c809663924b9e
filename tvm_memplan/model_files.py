"""Model files before a TVM reads them, the same for both of its lines.

Every file is tried on its own terms first (does it exist, does it begin like its format), because the readers
underneath answer a wrong file with anything from an IndexError to a crash of the process.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from tvm_memplan.errors import BadInput, MissingDependency

#: Shapes of inputs that a file leaves open, by name.
Shapes = Mapping[str, tuple[int, ...]]

# Bytes 4 to 8 of a flatbuffer name its schema; without this check garbage is followed as offsets.
_TFLITE = b"TFL3"


def model_bytes(path: Path, kinds: Collection[str], shapes: Shapes | None) -> bytes:
    """Return what is in a file whose name has to end in one of `kinds`; `shapes` are for ONNX only.

    Raises
    ------
    BadInput
        Another ending, shapes for another format, or a file that is empty or cannot be read.
    """
    kind = path.suffix.lower()
    if kind not in kinds:
        raise BadInput(f"{path}: unknown kind of model; it has to end in {', '.join(kinds)}")
    if shapes and kind != ".onnx":
        raise BadInput(f"{path}: shapes can be given for ONNX only")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if not data:
        raise BadInput(f"{path}: the file is empty")
    return data


def onnx_model(path: Path, data: bytes, extra: str) -> Any:
    """Return an ONNX model with all of its weights in it; `extra` is what to install of ours where onnx is missing."""
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingDependency(f"reading ONNX models needs: pip install 'tvm-memplan[{extra}]'") from error
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as error:
        raise BadInput(f"{path}: not an ONNX model, or a truncated one ({error})") from error
    if not model.graph.node:
        raise BadInput(f"{path}: not an ONNX model: it holds no operators")
    if any(tensor.external_data for tensor in model.graph.initializer):
        try:
            onnx.load_external_data_for_model(model, str(path.parent))
        except Exception as error:
            raise BadInput(f"{path}: its weights lie in other files, which cannot be read: {error}") from error
    return model


def onnx_inputs(path: Path, graph: Any, shapes: Shapes) -> dict[str, Any]:
    """Return the dimensions of each input of an ONNX graph, weights apart; `shapes` must be of those."""
    weights = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value.type.tensor_type.shape.dim for value in graph.input if value.name not in weights}
    for name in shapes:
        if name not in inputs:
            raise BadInput(f"{path}: there is no input {name!r}; the inputs are {', '.join(inputs) or 'none'}")
        if inputs[name] and len(inputs[name]) != len(shapes[name]):
            raise BadInput(
                f"{path}: input {name!r} has {len(inputs[name])} dimensions, and {len(shapes[name])} are given"
            )
    return inputs


def tflite_model(path: Path, data: bytes, extra: str) -> Any:
    """Return the root of a TFLite flatbuffer, nothing of it followed yet; `extra` as for `onnx_model`."""
    if data[4:8] != _TFLITE:
        raise BadInput(f"{path}: not a TFLite model (bytes 4 to 8 are not {_TFLITE.decode()!r})")
    try:
        import tflite
    except ImportError as error:
        raise MissingDependency(f"reading TFLite models needs: pip install 'tvm-memplan[{extra}]'") from error
    return tflite.Model.GetRootAsModel(data, 0)


def require_exported_program(path: Path, data: bytes) -> None:
    """Raise BadInput unless this is an archive as `torch.export.save` writes it: PyTorch prints a traceback for other.

    What is in it is not looked at.
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
    except BadZipFile:
        raise BadInput(f"{path}: not saved by torch.export.save: not a ZIP archive, or a truncated one") from None
    # The first since PyTorch 2.8, the second before.
    if not names & {"archive_format", "serialized_exported_program.json"}:
        raise BadInput(
            f"{path}: holds no exported program (torch.save writes such files, too); "
            "use torch.export.save(torch.export.export(model, inputs), path)"
        )


def require_saved_module(path: Path, data: bytes, keys: Collection[str]) -> None:
    """Raise BadInput unless this is JSON with the `keys` that `tvm.ir.save_json` writes: TVM crashes on other."""
    try:
        held = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    missing = [key for key in keys if not isinstance(held, dict) or key not in held]
    if missing:
        raise BadInput(
            f"{path}: not a module saved by tvm.ir.save_json: it has no {missing[0]!r}; "
            "problems and plans are read by `tvm-memplan plan`"
        )
