"""What values an integer tensor of Relay can have, and the narrowest type that holds them."""

from __future__ import annotations

import math
from typing import Any

_NARROW = (("int8", -128, 127), ("uint8", 0, 255), ("int16", -(1 << 15), (1 << 15) - 1), ("uint16", 0, (1 << 16) - 1))


def is_integer(dtype: str) -> bool:
    """Whether it is a signed or unsigned integer of whole bytes."""
    return dtype.startswith(("int", "uint")) and dtype.lstrip("uint").isdigit() and int(dtype.lstrip("uint")) >= 8


def value_range(expr: Any) -> tuple[int, int]:
    """The smallest and largest value that an element of a typed integer expression can have."""
    from tvm import relay

    least, most = _type_range(str(expr.checked_type.dtype))
    if not isinstance(expr, relay.Call) or not hasattr(expr.op, "name"):
        return least, most
    if expr.op.name == "clip" and is_integer(str(expr.args[0].checked_type.dtype)):
        low, high = value_range(expr.args[0])
        a_min, a_max = math.ceil(expr.attrs.a_min), math.floor(expr.attrs.a_max)
        return max(min(low, a_max), a_min), min(max(high, a_min), a_max)
    if expr.op.name == "cast" and is_integer(str(expr.args[0].checked_type.dtype)):
        low, high = value_range(expr.args[0])
        return (low, high) if least <= low and high <= most else (least, most)
    if expr.op.name == "nn.pad" and isinstance(expr.args[1], relay.Constant) and str(expr.attrs.pad_mode) == "constant":
        low, high = value_range(expr.args[0])
        # The value is given in a type of its own and brought into the tensor's.
        value = int(expr.args[1].data.numpy().astype(str(expr.checked_type.dtype)))
        return min(low, value), max(high, value)
    return least, most


def narrowest(expr: Any) -> str:
    """The type with the fewest bits that holds every value of `expr`: its own where none is narrower."""
    dtype = str(expr.checked_type.dtype)
    low, high = value_range(expr)
    for name, least, most in _NARROW:
        if least <= low and high <= most and int(name.lstrip("uint")) < int(dtype.lstrip("uint")):
            return name
    return dtype


def _type_range(dtype: str) -> tuple[int, int]:
    bits = int(dtype.lstrip("uint"))
    return (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
