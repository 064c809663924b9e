"""Read a lowered PrimFunc into traces, one per region.

Global memory that device launches use is planned by the type of its elements: SplitHostDevice hands every view of an
allocation to the kernel as a pointer of its own, and promises that they do not overlap. So what is accessed with one
type only, and by its name, shares with its like, and an allocation without views serves it; the rest is left alone.

Left alone on purpose, each by name and with the reason: scopes that were not asked for, and registers; whatever of
global memory is allocated inside a device launch; allocations inside vectorised loops and virtual threads; sizes that
are loaded from memory; volatile or annotated buffers; element types that a later pass widens; vectors as elements;
pointers that are stored or computed with. What is left alone keeps its own `AllocBuffer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import is_buffer_var

from tvm_memplan.dialects.accesses import Accesses, View, Visits
from tvm_memplan.dialects.captured import Captured
from tvm_memplan.dialects.elements import Allocation, constants
from tvm_memplan.dialects.extents import Extents, declared_bounds
from tvm_memplan.dialects.launches import LAUNCH
from tvm_memplan.dialects.reader import NotUnderstood, Placed, Reader
from tvm_memplan.dialects.roots import PointerAlias, Roots
from tvm_memplan.dialects.tirx.arithmetic import ARITHMETIC, parameters
from tvm_memplan.dialects.tirx.expressions import (
    call_name,
    children,
    element_type,
    has_load,
    is_pointer,
    view,
    walk,
)
from tvm_memplan.dialects.tirx.textures import texture_limits, texture_of
from tvm_memplan.planning.trace import Node
from tvm_memplan.report.memory import LeftAlone

# Annotations that say again what the buffer's type says, or, for dim_align, what its shape has in it by now.
_KNOWN_ANNOTATIONS = frozenset({"buffer_data_alignment", "buffer_allocated_addr", "buffer_dim_align"})
# What buffers get when nobody asks; it is TVM's wish for whole allocations, not a need of the accesses.
_DEFAULT_ALIGNMENTS = (-1, 0, 64)


def capture(
    function: Any,
    name: str,
    alignment: int = 1,
    scopes: Sequence[str] = ("global",),
    upper_bounds: Mapping[str, int] | None = None,
) -> Captured:
    """Read `function` (a PrimFunc after FlattenBuffer).

    Parameters
    ----------
    function : PrimFunc
        Not changed.
    name : str
        The function's name, for messages and reports.
    alignment : int
        Bytes, as for `tvm_memplan.transform.PlanMemory`.
    scopes : sequence of str
        Whose buffers are captured.
    upper_bounds : mapping of str to int, optional
        By the name of a parameter, the most that it will be; the function's own attribute ``tir_var_upper_bound``
        says the same for the rest.

    Returns
    -------
    Captured
        Its regions and what has to be left alone.

    Raises
    ------
    UnsupportedIR
        When an allocation is larger than any address space.
    """
    bounds = declared_bounds(function, name, upper_bounds)
    reader = _Reader(name, alignment, Extents(ARITHMETIC, parameters(function), bounds), scopes)
    reader.texture_limits = texture_limits(function)
    try:
        return reader.captured(function.body)
    except NotUnderstood as problem:
        return Captured(name, (), tuple(_all_left_alone(function, name, str(problem))), {})


def _allocation(buffer: Any, extents: Extents | None = None) -> Allocation:
    shape, dtype, scope = buffer.ty.shape, element_type(buffer), buffer.ty.storage_scope or "global"
    if extents is None or len(shape) != 1:
        return Allocation(buffer.name, dtype, scope, constants(shape), str(shape))
    extent = extents.of(shape[0])
    return Allocation(buffer.name, dtype, scope, (extent.count,), str(shape[0]), extent.unit, extent.bounds)


def _all_left_alone(function: Any, name: str, reason: str) -> Iterable[LeftAlone]:
    found: list[LeftAlone] = []

    def visit(stmt: Any) -> None:
        what = _allocation(stmt.buffer)
        found.append(LeftAlone(what.name, name, what.scope, what.size(), reason))

    def declared(stmt: Any) -> None:
        what = texture_of(stmt)
        if what is not None:
            found.append(LeftAlone(what.name, name, what.scope, what.size(), reason))

    tvm_ffi.structural_walk(function.body, (tirx.AllocBuffer, visit), (tirx.DeclBuffer, declared))
    return found


class _Reader(Reader):
    def statement(self, stmt: Any) -> tuple[Node, ...]:
        nodes: list[Node | Placed] = []
        # A sequence in a sequence does not end what it allocates: being alive for longer is never wrong.
        waiting = [stmt]
        while waiting:
            stmt = waiting.pop()
            if isinstance(stmt, tirx.SeqStmt):
                waiting.extend(reversed(stmt.seq))
            else:
                nodes.extend(self.whole(stmt))
        return self.placed(nodes)

    def expression(self, accesses: Accesses, expr: Any, keeps: str = "") -> None:
        visits = Visits(
            accesses.load,
            accesses.store,
            accesses.place,
            lambda var, receiver: accesses.pointer(var, receiver, keeps, is_pointer(expr)),
        )
        walk(expr, visits, type(expr).__name__)

    def view(self, buffer: Any, indices: Any) -> View:
        return view(buffer, indices)

    def type_of(self, expr: Any) -> str:
        return str(expr.ty.dtype)

    def storage_of(self, node: Any) -> Any | None:
        return node if isinstance(node, ir.Var) and (is_buffer_var(node) or is_pointer(node)) else None

    def barred(self) -> str:
        return "it is used inside a device launch" if LAUNCH in self.outside else ""

    def call_of(self, expr: Any) -> tuple[str, tuple[Any, ...]]:
        return call_name(expr), tuple(expr.args)

    def parts(self, expr: Any) -> tuple[Any, ...]:
        return children(expr)

    def _AttrStmt(self, stmt: Any) -> tuple[Node, ...]:
        if isinstance(stmt.node, tvm_ffi.Object) and not isinstance(stmt.node, ir.Var):
            # A list of buffers, say: whoever reads the attribute expects to find them by these names.
            reason = f"it carries the attribute {stmt.attr_key}"
            tvm_ffi.structural_walk(stmt.node, (ir.Var, lambda var: self.roots.leave(var, reason)))
        return super()._AttrStmt(stmt)

    def _AllocBuffer(self, stmt: Any) -> tuple[Node | Placed, ...]:
        kind = stmt.buffer.ty
        alignment = 1 if kind.data_alignment in _DEFAULT_ALIGNMENTS else int(kind.data_alignment)
        placed = self.allocated(stmt.buffer, _allocation(stmt.buffer, self.extents), _why_not(stmt), alignment)
        return (*self.use(f"allocate {stmt.buffer.name}", *kind.shape), placed)

    def _DeclBuffer(self, stmt: Any) -> tuple[Node | Placed, ...]:
        texture = texture_of(stmt, self.texture_limits)
        if texture is not None:
            return (
                *self.use(f"allocate {stmt.buffer.name}", *stmt.data.args[2].args),
                self.texture(stmt.buffer, texture),
            )
        head = self.use(f"view {stmt.buffer.name}", *stmt.buffer.ty.shape)
        return (*head, *self._named(stmt.buffer, stmt.data, f"view {stmt.buffer.name!r}"))

    def _Bind(self, stmt: Any) -> tuple[Node, ...]:
        if is_pointer(stmt.var):
            return self._named(stmt.var, stmt.value, f"pointer {stmt.var.name!r}")
        self.positions.bind(stmt.var, stmt.value)
        if self.launch is not None:
            self.launch.bound(stmt.var, stmt.value)
        return self.use(f"let {stmt.var.name}", stmt.value)

    def _named(self, var: Any, pointer: Any, what: str) -> tuple[Node, ...]:
        """`var` is another name for what `pointer` points to."""
        alias = _resolve(self.roots, pointer)
        if alias is not None:
            self.roots.name(var, alias)
            if call_name(pointer) == "tirx.address_of":
                load = pointer.args[0]
                self.accesses().place(view(load.source, load.indices))
            return ()
        return self.use(f"let {var.name}", pointer, keeps=f"{what} is computed from it")

    def _Evaluate(self, stmt: Any) -> tuple[Node, ...]:
        name = call_name(stmt.value)
        if name in ("tirx.break_loop", "tirx.continue_loop"):
            self.jump()
        label = name or "evaluate"
        if name in ("tirx.call_extern", "tirx.tvm_call_packed", "tirx.tvm_call_cpacked"):
            label = f"call {getattr(stmt.value.args[0], 'value', label)}"
        return self.use(label, stmt.value)

    def _Break(self, _stmt: Any) -> tuple[Node, ...]:
        self.jump()
        return ()

    _Continue = _Break

    def _Return(self, stmt: Any) -> tuple[Node, ...]:
        # What follows does not run; taking it to run keeps buffers alive for longer, never for less.
        self.extents.unsure += 1
        return self.use("return", stmt.value, keeps="it is returned")

    def _AssertStmt(self, stmt: Any) -> tuple[Node, ...]:
        return self.use("assert", stmt.condition)


def _why_not(stmt: Any) -> str:
    kind, dtype = stmt.buffer.ty, element_type(stmt.buffer)
    unknown = sorted(str(key) for key in stmt.annotations if key not in _KNOWN_ANNOTATIONS)
    if unknown:
        return f"it carries the annotation {unknown[0]}"
    if len(kind.allocated_addr):
        return "its address is given"
    if kind.strides or kind.layout is not None:
        return "it is not flat: run FlattenBuffer first"
    if dtype.startswith(("bfloat", "float8")):
        # BF16ComputeLegalize and FP8ComputeLegalize turn a buffer of its own into float32 without rounding.
        return f"a later pass may widen elements of type {dtype}"
    if kind.dtype.dtype.lanes != 1:
        # StorageRewrite stops at memory that is seen as scalars here and as vectors there.
        return f"its elements are vectors ({dtype})"
    return ""


def _resolve(roots: Roots, pointer: Any) -> PointerAlias | None:
    """What a pointer expression points to, None when that cannot be told or is not one of the function's."""
    if isinstance(pointer, ir.Var):
        return roots.alias_of(pointer)
    name = call_name(pointer)
    if name == "tirx.buffer_data":
        return roots.alias_of(pointer.args[0])
    if name != "tirx.address_of" or not isinstance(pointer.args[0], ir.TensorLoad):
        return None
    load = pointer.args[0]
    # The index is moved to where the pointer is used; its value must be the same there.
    if len(load.indices) != 1 or has_load(load.indices[0]) or not str(load.indices[0].ty.dtype).startswith("int"):
        return None
    base = roots.alias_of(load.source)
    return roots.moved(base, load.indices[0], element_type(load.source)) if base is not None else None
