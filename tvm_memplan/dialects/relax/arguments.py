"""What a function takes: shape and element type of each argument, with values for the dimensions that are open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import ir, relax, tirx

from tvm_memplan.errors import BadInput


def argument_kinds(function: Any, sizes: Mapping[str, int]) -> list[tuple[tuple[int, ...], str]]:
    """Return shape and element type of each parameter.

    Parameters
    ----------
    function : relax.Function
        With tensors as parameters.
    sizes : mapping of str to int
        Values of variables that stand alone in a dimension.

    Raises
    ------
    BadInput
        A parameter is no tensor of known rank and type, or a dimension has no value.
    """
    return [_kind(param, sizes) for param in function.params]


def _kind(param: Any, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], str]:
    kind, name = param.ty, str(param.name)
    if not isinstance(kind, relax.TensorType) or not isinstance(kind.shape, relax.ShapeExpr):
        raise BadInput(f"argument {name!r} is no tensor with a shape; give the inputs yourself")
    return tuple(_extent(dim, name, sizes) for dim in kind.shape), str(getattr(kind.dtype, "dtype", kind.dtype))


def _extent(dim: Any, name: str, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, tirx.IntImm):
        return int(dim)
    if isinstance(dim, ir.Var) and str(dim.name) in sizes:
        return int(sizes[str(dim.name)])
    raise BadInput(
        f"argument {name!r}: dimension {dim} is open; say how large it is: sizes={{'{dim}': 32}}, --bound {dim}=32"
    )
