"""Weights as a constant struct, each at the offset of the plan, in the types of the model.

Numbers are written so that a compiler reads back the very bits: integers in decimal, floats in hexadecimal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.export.model import CModel, Weight, c_type

_WIDTH = 118


def weights_header(model: CModel) -> str:
    """Return the declaration of the struct, with an assertion per weight on where it lies."""
    name, upper = model.name, model.name.upper()
    lines = [f"struct {name}_weights {{"]
    for weight in model.weights:
        kind = c_type(str(weight.values.dtype), f"weight {weight.name!r}")
        place = f"_Alignas({_alignment(model, weight)}) " if weight.values.nbytes else ""
        lines.append(f"  {place}{kind} {weight.identifier}[{weight.values.size}];")
    lines += ["};", ""]
    for weight in model.weights:
        lines.append(
            f"_Static_assert(offsetof(struct {name}_weights, {weight.identifier}) == {weight.offset}, "
            f'"{weight.identifier} lies where the plan has it");'
        )
    lines.append(
        f"_Static_assert(sizeof(struct {name}_weights) >= {upper}_WEIGHTS_SIZE_BYTES, "
        '"the weights are as many as planned");'
    )
    return "\n".join(lines) + "\n"


def weights_values(model: CModel) -> Iterator[str]:
    """Yield the initialiser of the struct, line by line."""
    yield "{"
    for weight in model.weights:
        yield f"  .{weight.identifier} = {{"
        line = "   "
        for value in _values(weight):
            if len(line) + len(value) + 2 > _WIDTH:
                yield line
                line = "   "
            line += f" {value},"
        yield line
        yield "  },"
    yield "}"


def _alignment(model: CModel, weight: Weight) -> int:
    """Return the largest power of two up to the block's alignment that the offset is a multiple of."""
    return math.gcd(weight.offset, model.weights_alignment) if weight.offset else model.weights_alignment


def _values(weight: Weight) -> Iterator[str]:
    values: Any = weight.values.reshape(-1)
    kind = values.dtype.kind
    if kind == "f":
        suffix = "f" if values.dtype.itemsize == 4 else ""
        for value in values.tolist():
            if math.isnan(value):
                raise UnsupportedIR(f"weight {weight.name!r} holds a NaN, whose bits C cannot name")
            yield ("-" if value < 0 else "") + "INFINITY" if math.isinf(value) else value.hex() + suffix
    elif kind == "b":
        yield from ("1" if value else "0" for value in values.tolist())
    else:
        suffix = ("U" if kind == "u" else "") + ("LL" if values.dtype.itemsize == 8 else "")
        for value in values.tolist():
            # The most negative number is no literal in C: it would be minus one that is too large.
            yield f"(-{-(value + 1)}{suffix} - 1)" if value in (-(2**31), -(2**63)) else f"{value}{suffix}"
