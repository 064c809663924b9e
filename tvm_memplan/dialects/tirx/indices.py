"""Index expressions, counted from the start of an arena instead of the start of a buffer."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from tvm_memplan.dialects.arenas import Place


def start(place: Place, dtype: str) -> Any:
    """The index of the first element at `place` in a view of the arena with elements of `dtype`."""
    elements = place.elements(dtype)
    if place.shift is None:
        constant = isinstance(elements, int)
        return tirx.IntImm(f"int{place.arena.index_bits}", elements) if constant else elements
    return plus(_wide(place, place.shift), elements)


def shifted(place: Place, dtype: str, index: Any) -> Any:
    """`index` (in elements of `dtype` from `place`), counted from the start of the arena."""
    index = _wide(place, index)
    if place.shift is not None:
        index = plus(index, place.shift)
    return plus(index, place.elements(dtype))


def _wide(place: Place, index: Any) -> Any:
    dtype = str(index.ty.dtype)
    if place.arena.needs_int64 and dtype.startswith("int32"):
        return index.astype(dtype.replace("int32", "int64"))
    return index


def plus(index: Any, step: Any) -> Any:
    """``index + step``, with the step in the base of a ramp, where code generators look for alignment."""
    if isinstance(step, int) and step == 0:
        return index
    if isinstance(index, tirx.Ramp):
        return tirx.Ramp(plus(index.base, step), index.stride, index.lanes)
    kind = index.ty.dtype
    if isinstance(step, int):
        if kind.lanes == 1:
            return index + tirx.IntImm(str(kind), step)
        step = tirx.IntImm(str(kind).partition("x")[0], step)
    scalar = str(kind).partition("x")[0]
    if str(step.ty.dtype) != scalar:
        step = step.astype(scalar)
    return index + (step if kind.lanes == 1 else tirx.Broadcast(step, kind.lanes))
