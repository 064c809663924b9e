"""Sizes as people write them, and as we print them; inside the package a size is always an `int` in bytes.

One rule: ``KiB``, ``MiB``, ``GiB`` are powers of 1024, ``kB``/``KB``, ``MB``, ``GB`` are powers of 1000, and a bare
number or ``B`` is bytes. Case does not matter. "K" alone is refused, because datasheets use it
for both and the difference decides whether a model fits.
"""

from __future__ import annotations

import re
from fractions import Fraction

from tvm_memplan.errors import BadInput

_UNITS = {
    "": 1,
    "b": 1,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
}
# More digits than this mean nothing, and more than 4300 are more than Python converts.
_MOST_DIGITS = 100
# A comma or underscore only separates thousands: "1,5 MiB" must not be read as fifteen.
_SIZE = re.compile(r"((?:[0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def parse_size(text: str, what: str = "size") -> int:
    """Return the bytes that `text` stands for.

    Parameters
    ----------
    text : str
        A number and a unit, such as ``"24KiB"``, ``"1.5 MiB"``, ``"320 kB"`` or ``"65536"``.
    what : str
        What the size is of, for the message.

    Returns
    -------
    int
        Bytes, exact.

    Raises
    ------
    BadInput
        If `text` is no size, has an unknown unit, or is not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"{what}: {text!r} is not a size; write bytes (65536) or a unit (64KiB, 1.5MiB, 64kB)")
    number, unit = match.groups()
    if len(number) > _MOST_DIGITS:
        raise BadInput(f"{what}: a number of {len(number)} digits is not a size of any memory")
    if unit.lower() in ("k", "m", "g"):
        big = unit.upper()
        raise BadInput(f"{what}: {text!r} is ambiguous; write {number}{big}iB (1024) or {number}{big}B (1000)")
    if unit.lower() not in _UNITS:
        raise BadInput(f"{what}: {text!r} has unknown unit {unit!r}; use B, KiB, MiB, GiB (1024) or kB, MB, GB (1000)")
    size = Fraction(number.replace(",", "").replace("_", "")) * _UNITS[unit.lower()]
    if size.denominator != 1:
        raise BadInput(f"{what}: {text!r} is not a whole number of bytes")
    return int(size)


def format_size(size: int) -> str:
    """Return `size` bytes in the largest binary unit that shows it exactly, so `parse_size` reads it back."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if size and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def round_size(size: int) -> str:
    """Return `size` bytes in a human unit with one decimal, such as ``336.0 KiB``; for reading, not for parsing."""
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if abs(size) >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def show_size(size: int) -> str:
    """Return `size` both ways, exact and readable: ``344,064 B (336.0 KiB)``."""
    exact = f"{size:,} B"
    return exact if abs(size) < 1024 else f"{exact} ({round_size(size)})"
