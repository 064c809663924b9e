"""ONNX files as Relay modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tvm_memplan.errors import BadInput, UnsupportedIR
from tvm_memplan.model_files import onnx_inputs, onnx_model


def read_onnx(path: Path, data: bytes, shapes: dict[str, tuple[int, ...]]) -> tuple[Any, dict[str, Any]]:
    """Read the bytes of an ONNX file with weights made constants; arguments and errors as for `read_model`."""
    import tvm
    from tvm import relay

    model = onnx_model(path, data, "relay")
    fixed = _input_shapes(path, model.graph, shapes)
    try:
        mod, params = relay.frontend.from_onnx(model, shape=fixed, freeze_params=True)
    except tvm.error.OpNotImplemented as error:
        raise UnsupportedIR(f"{path}: {' '.join(str(error).split())}") from error
    except Exception as error:
        operators = ", ".join(sorted({node.op_type for node in model.graph.node}))
        last = (str(error).strip().splitlines() or [""])[-1]
        raise UnsupportedIR(
            f"{path}: TVM's ONNX front end failed on a model of {operators}: {type(error).__name__}: {last}"
        ) from error
    return mod, dict(params)


def _input_shapes(path: Path, graph: Any, shapes: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """A static shape for every input, from the file or from the caller."""
    inputs = onnx_inputs(path, graph, shapes)
    return {name: _shape(path, name, dims, shapes.get(name)) for name, dims in inputs.items()}


def _shape(path: Path, name: str, dims: Any, given: tuple[int, ...] | None) -> tuple[int, ...]:
    if given is not None:
        if len(given) != len(dims):
            raise BadInput(f"{path}: input {name!r} has {len(dims)} dimensions, the given shape {given} {len(given)}")
        if any(extent < 1 for extent in given):
            raise BadInput(f"{path}: input {name!r}: every extent of {given} has to be positive")
    for index, dim in enumerate(dims):
        known = dim.dim_value if dim.HasField("dim_value") else 0
        if given is None and known < 1:
            example = ", ".join(str(d.dim_value if d.dim_value > 0 else 1) for d in dims)
            example += "," if len(dims) == 1 else ""
            raise BadInput(
                f"{path}: dimension {index} ({dim.dim_param or 'unnamed'}) of input {name!r} is not fixed; "
                f"give a shape, for example shapes={{{name!r}: ({example})}}"
            )
        if given is not None and known > 0 and given[index] != known:
            raise BadInput(
                f"{path}: dimension {index} of input {name!r} is {known}, the given shape says {given[index]}"
            )
    return given if given is not None else tuple(dim.dim_value for dim in dims)
