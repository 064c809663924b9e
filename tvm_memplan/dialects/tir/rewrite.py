"""Write planned offsets back into a PrimFunc: an arena per region, in pieces, each buffer a shifted view of one.

The idiom is a *typed view of the arena with a shifted index*: ``B[i]`` becomes ``arena_as_B[offset / size of an
element + i]``. It was chosen because the code generators see one allocation: LLVM's alias metadata is then computed
from byte positions in the arena, so that two tenants of the same bytes are never claimed to be apart, and vector
loads know their true alignment. Pointers into the middle (``let p = address_of(arena[k])``) would be new alias
classes of their own, and `elem_offset` is ignored by some generators; neither is used. An output that works in place
is no special case: it has its input's element type and offset, so both are accesses to the same elements of one and
the same view, and every later pass sees the order between them as it does in ``B[i] = B[i] + 1``.

Pointer variables that stand for planned storage are dissolved into views. Where an address leaves the function
(extern and packed calls) it becomes ``address_of(view[offset])``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.arenas import APART, Arena, Arenas, Layout, widest
from tvm_memplan.dialects.captured import Captured
from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.dialects.reader import is_dropped
from tvm_memplan.dialects.tir.barriers import with_barriers
from tvm_memplan.dialects.tir.expressions import call_name

_VISITED = [
    f"tir.{node}"
    for node in ("BufferLoad", "BufferStore", "Call", "Allocate", "DeclBuffer", "LetStmt", "AttrStmt", "For")
]


def rewrite(
    function: Any,
    captured: Captured,
    layouts: Mapping[str, Layout],
    barriers: Mapping[Any, Container[int]] | None = None,
) -> Any:
    """Return `function` with the planned buffers of `captured` moved into arenas.

    Parameters
    ----------
    function : PrimFunc
        The function that `captured` was read from; not changed.
    captured : Captured
        Its regions.
    layouts : mapping of str to Layout
        For each region's name, where its buffers lie.
    barriers : mapping of AttrStmt to container of int
        For each launch, the top statements that get a barrier in front of them.

    Returns
    -------
    PrimFunc
        A new function with the same parameters and attributes.
    """
    arenas = Arenas(captured, layouts)
    writer = _Writer(arenas, barriers or {})
    body = writer.allocate_all(arenas.body, writer.rewritten(function.body))
    for variable, bound, text in captured.checks():
        body = tir.AssertStmt(tir.And(variable >= 0, variable <= bound), tir.StringImm(text), body)
    return function.with_body(body)


class _Writer:
    """The node-by-node part of the rewrite; `after` is called with nodes whose children are done."""

    def __init__(self, arenas: Arenas, barriers: Mapping[Any, Container[int]]) -> None:
        self.arenas = arenas
        self.barriers = barriers
        self.loops = dict(arenas.of_loop)
        self.views: dict[tuple[Arena, str], Any] = {}
        # A small arena is put on the stack as an array of its type, and is aligned for all tenants when that type is
        # the widest among them.
        self.dtypes = {a: widest(v.type_annotation.element_type.dtype for v in a.offset_of) for a in arenas.all}
        self.variables = {
            arena: tir.Var(arena.name, tvm.ir.PointerType(tvm.ir.PrimType(dtype), arena.scope))
            for arena, dtype in self.dtypes.items()
        }

    def rewritten(self, body: Any) -> Any:
        """`body` with everything moved."""
        return tir.stmt_functor.ir_transform(body, self.before, self.after, _VISITED)

    def before(self, node: Any) -> Any | None:
        """Return a launch with its arenas in it, None for any other node; called before `node` is descended into."""
        if not isinstance(node, tir.AttrStmt) or node not in self.arenas.of_launch:
            return None
        body = self.rewritten(with_barriers(node.body, self.barriers.get(node, ())))
        body = self.allocate_all(self.arenas.of_launch[node], body)
        return tir.AttrStmt(node.node, node.attr_key, node.value, body, node.span)

    def allocate_all(self, arenas: Sequence[Arena], body: Any) -> Any:
        """`body` inside the allocations of `arenas`."""
        if len(arenas) > 1 and arenas[0].scope == "global":
            body = tir.AttrStmt(tir.const(0, "int32"), APART, 0, body)
        for arena in reversed(arenas):
            dtype = self.dtypes[arena]
            extent = _integer(arena.elements(dtype), arena.index_bits)
            body = tir.Allocate(self.variables[arena], dtype, [extent], tir.IntImm("bool", 1), body)
        return body

    def after(self, node: Any) -> Any | None:
        """Return what replaces `node`, None to keep it."""
        rewritten = getattr(self, f"_{type(node).__name__}", None)
        return rewritten(node) if rewritten is not None else None

    def _view(self, arena: Arena, dtype: str) -> Any:
        key = (arena, dtype)
        if key not in self.views:
            # As long as the allocation, whose size is rounded up to its own type.
            extent = arena.elements(self.dtypes[arena]) * (element_bytes(self.dtypes[arena]) or 1)
            shape = [_integer(extent // (element_bytes(dtype) or 1), arena.index_bits)]
            name, data = f"{arena.name}_{dtype}", self.variables[arena]
            self.views[key] = tir.decl_buffer(shape, dtype, name, data=data)
        return self.views[key]

    def _shifted(self, buffer: Any, indices: Any) -> tuple[Any, list[Any]] | None:
        place = self.arenas.locate(buffer.data)
        if place is None:
            return None
        (index,) = indices
        index = _widened(index, place.arena.index_bits)
        for step in (place.shift, place.elements(buffer.dtype)):
            if step is not None:
                index = _add(index, step)
        return self._view(place.arena, buffer.dtype), [index]

    def _BufferLoad(self, load: Any) -> Any | None:
        moved = self._shifted(load.buffer, load.indices)
        return tir.BufferLoad(*moved, load.predicate, load.span) if moved else None

    def _BufferStore(self, store: Any) -> Any | None:
        moved = self._shifted(store.buffer, store.indices)
        return tir.BufferStore(moved[0], store.value, moved[1], store.predicate, store.span) if moved else None

    def _Call(self, call: Any) -> Any | None:
        if not any(isinstance(arg, tir.Var) and self.arenas.locate(arg) for arg in call.args):
            return None
        args = list(call.args)
        if call_name(call) == "tir.tvm_access_ptr":
            # (type annotation, pointer, offset in elements, extent, access mask)
            args[1], args[2] = self._access_pointer(args[0].dtype, args[1], args[2])
        args = [self._address(arg) if isinstance(arg, tir.Var) else arg for arg in args]
        return tir.Call(call.dtype, call.op, args, call.span)

    def _access_pointer(self, dtype: str, pointer: Any, offset: Any) -> tuple[Any, Any]:
        place = self.arenas.locate(pointer)
        if place is None:
            return pointer, offset
        offset = _widened(offset, place.arena.index_bits)
        offset = offset if place.shift is None else _add(offset, place.shift)
        return self.variables[place.arena], _add(offset, place.elements(dtype))

    def _address(self, pointer: Any) -> Any:
        place = self.arenas.locate(pointer)
        if place is None:
            return pointer
        # On a device, what a pointer points to has a type; and offsets beside it count in that.
        typed = place.arena.scope != "global" and place.shift is None
        dtype = pointer.type_annotation.element_type.dtype if typed else place.dtype
        elements = place.elements(dtype)
        index = _integer(elements, place.arena.index_bits)
        index = index if place.shift is None else _add(index, place.shift)
        return tir.Call("handle", "tir.address_of", [tir.BufferLoad(self._view(place.arena, dtype), [index])])

    def _Allocate(self, stmt: Any) -> Any | None:
        return stmt.body if self.arenas.locate(stmt.buffer_var) else None

    def _DeclBuffer(self, stmt: Any) -> Any | None:
        return stmt.body if self.arenas.locate(stmt.buffer.data) else None

    def _LetStmt(self, stmt: Any) -> Any | None:
        return stmt.body if self.arenas.locate(stmt.var) else None

    def _AttrStmt(self, stmt: Any) -> Any | None:
        owner = stmt.node.data if isinstance(stmt.node, tir.Buffer) else stmt.node
        place = self.arenas.locate(owner) if isinstance(owner, tir.Var) else None
        return stmt.body if place is not None and is_dropped(str(stmt.attr_key), place.arena.scope) else None

    def _For(self, stmt: Any) -> Any | None:
        # Loops in sequence may count in one variable; the first parallel one is the region.
        parallel = stmt.kind == tir.ForKind.PARALLEL
        arenas = self.loops.pop(stmt.loop_var, ()) if parallel else ()
        if not arenas:
            return None
        body = self.allocate_all(arenas, stmt.body)
        return tir.For(
            stmt.loop_var,
            stmt.min,
            stmt.extent,
            stmt.kind,
            body,
            stmt.thread_binding,
            stmt.annotations,
            stmt.span,
        )


def _integer(value: Any, bits: int) -> Any:
    """`value` as an expression."""
    return tir.IntImm(f"int{bits}", value) if isinstance(value, int) else value


def _widened(index: Any, bits: int) -> Any:
    """`index` as an integer of at least `bits` bits: the loop that counts in it knows nothing of the arena."""
    kind = tvm.DataType(index.dtype)
    if kind.bits >= bits:
        return index
    if isinstance(index, tir.Ramp):
        return tir.Ramp(_widened(index.base, bits), _widened(index.stride, bits), index.lanes)
    return index.astype(f"int{bits}" if kind.lanes == 1 else f"int{bits}x{kind.lanes}")


def _add(index: Any, step: Any) -> Any:
    """``index + step`` with the step moved into the base of a ramp, where alignment analysis can see it."""
    if isinstance(step, int) and step == 0:
        return index
    if isinstance(index, tir.Ramp):
        return tir.Ramp(_add(index.base, step), index.stride, index.lanes)
    if isinstance(step, int):
        return index + tir.const(step, index.dtype)
    scalar = tvm.DataType(index.dtype)
    if scalar.lanes > 1:
        step = tir.Broadcast(step.astype(index.dtype.split("x")[0]), scalar.lanes)
    return index + step.astype(index.dtype)
