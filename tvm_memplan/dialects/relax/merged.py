"""Kernels in which arguments that share bytes are one parameter.

Where an output is written in place, it and its input are one tensor::

    def add(x, y, out):                            def add_in_place(x, y):
        out_1 = decl_buffer((64,), data=out)           out_1 = decl_buffer((64,), data=x)
        for i: out_1[i] = x_1[i] + y_1[i]              for i: out_1[i] = x_1[i] + y_1[i]

    add(a, b, c)     where c lies on a             add_in_place(a, b)

Where they overlap in any other way, the kernel is given all the bytes from the first to the last of them, and where in
those its buffers start is part of it::

    def sum(x, out):                               def sum_overlapping(both):
        x_1 = decl_buffer((64,), data=x)               x_1 = decl_buffer((80,), data=both)
        out_1 = decl_buffer((4,), data=out)            out_1 = decl_buffer((4,), data=both)
        ... out_1[i] ... x_1[j] ...                    ... out_1[i] ... x_1[j + 16] ...

A kernel promises that its parameters do not overlap, and code generators make use of it; this way the promise stays
true. Taking it back is the last way out, where a kernel cannot be made so: 0.27's LLVM code generator writes all
functions of a module by what the last one promises (`tvm_memplan.dialects.relax.passes.without_promises`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.analysis import undefined_vars
from tvm.tirx.buffer import decl_buffer, is_buffer_var

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.dialects.relax.lowered import flattened
from tvm_memplan.dialects.tirx.arithmetic import variables
from tvm_memplan.dialects.tirx.expressions import pointee
from tvm_memplan.dialects.tirx.indices import plus


@dataclass(frozen=True)
class Overlap:
    """Arguments of a call that have bytes in common.

    Parameters
    ----------
    positions : tuple of int
        Which arguments.
    starts : tuple of int
        Where each starts, in bytes from the first byte of all.
    size : int
        Bytes from the first to the last of all; 0 where all start at one place, of sizes that need not be known.
    """

    positions: tuple[int, ...]
    starts: tuple[int, ...]
    size: int = 0


@dataclass(frozen=True)
class Extent:
    """An argument of a new kernel: the extent of a dimension of an argument of the old one."""

    position: int
    dimension: int


@dataclass(frozen=True)
class Whole:
    """An argument of a new kernel: all elements, of a type, from the first to the last byte of an overlap."""

    overlap: Overlap
    elements: int
    dtype: str


@dataclass(frozen=True)
class Merged:
    """A kernel that is given what shares bytes as one, and what it takes: integers are arguments of the old one."""

    function: Any
    arguments: tuple[Union[int, Whole, Extent], ...]


Overlaps = tuple[Overlap, ...]


def merged_kernels(module: Any, wanted: Iterable[tuple[str, Overlaps]]) -> dict[tuple[str, Overlaps], Merged]:
    """Make those of the kernels that can be made, for the target of the context.

    Parameters
    ----------
    module : tvm.IRModule
        Where the kernels are.
    wanted : iterable of (str, tuple of Overlap)
        A kernel, and which of its arguments share bytes.
    """
    wanted = tuple(dict.fromkeys(wanted))
    flat = flattened({name: module[name] for name, _ in wanted}, vectorized=False)
    made = {(name, overlaps): _merged(flat[name], overlaps) for name, overlaps in wanted}
    return {pair: found for pair, found in made.items() if found is not None}


def _merged(function: Any, overlaps: Overlaps) -> Merged | None:
    params = list(function.params)
    shared = {i for overlap in overlaps for i in overlap.positions}
    if not all(is_buffer_var(params[i]) for i in shared):
        return None
    taken: list[tuple[Any, Union[int, Whole]]] = [(p, i) for i, p in enumerate(params) if i not in shared]
    homes: dict[Any, tuple[Any, int]] = {}
    touched = _touched(function.body)
    for overlap in overlaps:
        home = _home(params, overlap, shared, touched)
        if home is None:
            return None
        taken.append(home)
        homes |= {params[i]: (home[0], start) for i, start in zip(overlap.positions, overlap.starts)}
    taken.sort(key=lambda one: one[1] if isinstance(one[1], int) else one[1].overlap.positions[0])
    left = [param for param, _ in taken]
    extents = _extents(params, left)
    body = _moved(function.body, homes)
    if extents is None or body is None:
        return None
    # A view may have strides, or start somewhere, that only a parameter that is gone told.
    if not {*left, *_said(left), *extents}.issuperset(undefined_vars(body)):
        return None
    arguments = (*(argument for _, argument in taken), *extents.values())
    made = tirx.PrimFunc([*left, *extents], body, function.ret_type, function.attrs, function.span)
    made = made.without_attr("global_symbol") if attribute(made, "global_symbol") is not None else made
    return Merged(made, arguments)


def _home(
    params: Sequence[Any], overlap: Overlap, shared: set[int], touched: Container[Any]
) -> tuple[Any, Union[int, Whole]] | None:
    """The parameter for an overlap, and what it is given."""
    if not overlap.size:
        first = _leader(params, overlap, shared)
        return params[first], first
    # The type has to be one that is accessed: StorageRewrite takes that for granted.
    used = [params[i] for i in overlap.positions if params[i] in touched]
    sizes = {dtype: element_bytes(dtype) for dtype in dict.fromkeys(str(param.ty.dtype.dtype) for param in used)}
    whole = {dtype: size for dtype, size in sizes.items() if size and overlap.size % size == 0}
    # Indices of 32 bits have to reach everything.
    if not whole or overlap.size >= 2**31:
        return None
    widest = max(whole, key=lambda dtype: whole[dtype])
    elements = overlap.size // whole[widest]
    name = "_".join(dict.fromkeys(str(params[i].name) for i in overlap.positions))
    return decl_buffer([elements], widest, name, data_alignment=64), Whole(overlap, elements, widest)


def _leader(params: Sequence[Any], overlap: Overlap, shared: set[int]) -> int:
    """The argument that says most about sizes: where ``f32[n * 4]`` and ``f32[n, 4]`` are one, only the latter does."""
    alone = [param for i, param in enumerate(params) if i not in shared]
    asked = {v for i in overlap.positions for v in _shape(params[i])}
    return next((i for i in overlap.positions if _said([*alone, params[i]]) >= asked), overlap.positions[0])


def _extents(params: Sequence[Any], left: Sequence[Any]) -> dict[Any, Extent] | None:
    """The variables of sizes that the parameters left say nothing about, and where the caller finds each."""
    missing = {v: None for param in params for v in _shape(param) if v not in _said(left)}
    found = {
        extent: Extent(i, k)
        for i, param in enumerate(params)
        if is_buffer_var(param)
        for k, extent in enumerate(param.ty.shape)
        if isinstance(extent, ir.Var) and extent in missing and str(extent.ty.dtype) == "int64"
    }
    return found if found.keys() == missing.keys() else None


def _said(params: Iterable[Any]) -> set[Any]:
    """The variables that a call of a kernel with these parameters gives a value."""
    kinds = [param.ty for param in params if is_buffer_var(param)]
    told = (part for kind in kinds for part in (*kind.shape, *kind.strides, kind.elem_offset))
    return {part for part in (*params, *told) if isinstance(part, ir.Var)}


def _touched(body: Any) -> set[Any]:
    """The parameters of which an element is loaded or stored through a view."""
    owners: dict[Any, Any] = {}
    found: set[Any] = set()
    ways = [
        (tirx.DeclBuffer, lambda stmt: owners.update({stmt.buffer: pointee(stmt.data)})),
        (ir.TensorLoad, lambda load: found.add(load.source)),
        (tirx.BufferStore, lambda store: found.add(store.buffer)),
    ]
    tvm_ffi.structural_walk(body, ways)
    return {owners[buffer] for buffer in found if buffer in owners}


def _shape(param: Any) -> Mapping[Any, None]:
    return dict.fromkeys(v for extent in param.ty.shape for v in variables(extent)) if is_buffer_var(param) else {}


def _moved(body: Any, homes: Mapping[Any, tuple[Any, int]]) -> Any | None:
    """`body` with the buffers of some parameters in others, at an offset in bytes; None where that cannot be done."""
    mover = _Mover(homes)
    ways = [(tirx.DeclBuffer, mover.view), (ir.TensorLoad, mover.load), (tirx.BufferStore, mover.store)]
    made = tvm_ffi.structural_mutate(body, ways)
    gone = {*homes, *mover.views} - {home for home, _ in homes.values()}
    used: list[Any] = []
    tvm_ffi.structural_walk(made, (ir.Var, lambda var: used.append(var) if var in gone else None))
    return None if used else made


class _Mover:
    """Moves the views of parameters: each keeps its elements, and counts them from where its new home starts."""

    def __init__(self, homes: Mapping[Any, tuple[Any, int]]) -> None:
        self.homes = homes
        self.views: dict[Any, tuple[Any, int]] = {}

    def view(self, stmt: Any, mutator: Any) -> Any:
        owner = pointee(stmt.data)
        if owner not in self.homes:
            return mutator.default_mutate(stmt)
        home, start = self.homes[owner]
        old, view = stmt.buffer, stmt.buffer
        if start:
            dtype = str(old.ty.dtype.dtype)
            size = element_bytes(dtype)
            if not size or start % size or len(old.ty.shape) != 1 or old.ty.strides:
                return stmt  # which then still uses a parameter that is gone
            step = start // size
            view = decl_buffer([plus(old.ty.shape[0], step)], dtype, str(old.name), layout=None, data_alignment=64)
            self.views[old] = (view, step)
        data = ir.Call(stmt.data.op, [home], stmt.data.attrs, stmt.data.ty_args, stmt.data.span)
        return tirx.DeclBuffer(view, data=data)

    def load(self, load: Any, mutator: Any) -> Any:
        if load.source not in self.views:
            return mutator.default_mutate(load)
        view, step = self.views[load.source]
        return tirx.BufferLoad(view, [plus(mutator.mutate(load.indices[0]), step)], load.span)

    def store(self, store: Any, mutator: Any) -> Any:
        if store.buffer not in self.views:
            return mutator.default_mutate(store)
        view, step = self.views[store.buffer]
        return tirx.BufferStore(
            view, mutator.mutate(store.value), [plus(mutator.mutate(store.indices[0]), step)], store.span
        )
