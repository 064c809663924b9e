"""TFLite files as Relay modules."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput, UnsupportedIR
from tvm_memplan.model_files import tflite_model


def read_tflite(path: Path, data: bytes, _shapes: dict[str, tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Read the bytes of a TFLite file; `path` is for messages. Errors as for `read_model`."""
    model = tflite_model(path, data, "relay")
    import tvm
    from tvm import relay

    try:
        mod, params = relay.frontend.from_tflite(model)
    except tvm.error.OpNotImplemented as error:
        raise UnsupportedIR(f"{path}: {' '.join(str(error).split())}") from error
    except Exception as error:
        # The reader follows offsets wherever they lead, so what it raises on a damaged file can be anything.
        operators = _operators(data)
        if operators is None or isinstance(error, struct.error):
            raise BadInput(f"{path}: the TFLite model is truncated or damaged ({_brief(error)})") from error
        raise UnsupportedIR(
            f"{path}: TVM's TFLite front end failed on a model of {', '.join(operators)}: {_brief(error)}"
        ) from error
    return mod, dict(params)


def _brief(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


def _operators(data: bytes) -> list[str] | None:
    """The operators a model uses, or None when its tables cannot be followed, or point outside of it."""
    import tflite

    names = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
    try:
        model = tflite.Model.GetRootAsModel(data, 0)
        graph = model.Subgraphs(0)
        used = set()
        for index in range(graph.OperatorsLength()):
            code = model.OperatorCodes(graph.Operators(index).OpcodeIndex())
            number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
            used.add(names.get(number, f"operator {number}"))
        for index in range(model.BuffersLength()):
            held = model.Buffers(index).DataAsNumpy()
            if hasattr(held, "nbytes") and held.nbytes != model.Buffers(index).DataLength():
                return None
        for index in range(graph.TensorsLength()):
            graph.Tensors(index).ShapeAsNumpy()
    except Exception:
        return None
    return sorted(used)
