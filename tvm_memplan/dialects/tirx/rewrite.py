"""Write planned offsets back into a PrimFunc: an arena per region, in pieces, each buffer a shifted view of one.

The idiom is a *typed view on the arena's data with a shifted index*::

    arena = T.alloc_buffer((24,), "float32")
    arena_int8 = T.decl_buffer((96,), "int8", data=arena.data)
    B[i]    becomes    arena_int8[64 + i]

Where all accesses to a piece of an arena are of one type there is no view: the allocation has that type.

Why this one, and why it stays right further down:

- LLVM's alias metadata stays truthful. For each access `CodeGenLLVM::AddAliasInfo` makes a class from the *physical
  root* of the buffer, which it finds by following ``DeclBuffer`` over ``buffer_data``: every view of an arena gets
  the arena's class, whatever its element type, and under it a class for a range of bytes when the index is a
  constant, counted in bytes from the start of the arena. Two tenants of the same bytes are therefore never
  claimed to be apart. A pointer into the middle (``p = address_of(arena[k])``) has no such root: it would be a class
  of its own beside the arena's, and LLVM could move a load over the store of another tenant.
- An output that works in place is no special case: it has its input's element type and offset, so both are accesses to
  the same elements of one and the same view, and whatever runs later sees the order between them as it does in
  ``B[i] = B[i] + 1``.
- ``elem_offset`` on the view is dropped without a word after FlattenBuffer, so the offset is in the index.
- StorageRewrite may run later: it counts accesses through a view for its root, so the arena's life is known, and it
  only changes the type of memory that is accessed with one type, to just that type, taking for granted that the
  allocation had it already. So the arena has the type of a view that exists, the widest of them, which also aligns
  a small arena on the stack for all tenants. Its own reuse would put pieces together where one dies as another is born
  (in place even where an element is written twice), so they are used in a scope that it does not look into.

Aliases of planned buffers (views and pointer variables) are dissolved into the arena's views. Where an address leaves
the function it becomes ``address_of(view[offset])``.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.buffer import decl_buffer

from tvm_memplan.dialects.arenas import APART, Arena, Arenas, Layout, Place, widest
from tvm_memplan.dialects.captured import Captured
from tvm_memplan.dialects.reader import is_dropped
from tvm_memplan.dialects.tirx.barriers import with_barriers
from tvm_memplan.dialects.tirx.expressions import access_type, call_name, element_type, is_pointer, pointee
from tvm_memplan.dialects.tirx.indices import shifted, start


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
    writer = _Writer(Arenas(captured, layouts), barriers or {})
    body = tvm_ffi.structural_mutate(function.body, writer.callbacks())
    body = writer.allocate_all(writer.arenas.body, body)
    return function.with_body(_checked(body, captured))


class _Writer:
    """The node-by-node part of the rewrite. Each method owns the descent into its node."""

    def __init__(self, arenas: Arenas, barriers: Mapping[Any, Container[int]]) -> None:
        self.arenas = arenas
        self.barriers = barriers
        self.loops = dict(arenas.of_loop)
        self.views: dict[Arena, dict[str, Any]] = {arena: {} for arena in arenas.all}
        self.nothing = tirx.Evaluate(tirx.const(0, "int32"))  # where a statement was

    def callbacks(self) -> list[tuple[Any, Any]]:
        """What `structural_mutate` calls for which node."""
        return [
            (ir.TensorLoad, self.load),
            (ir.Call, self.call),
            (ir.Var, self.variable),
            (tirx.BufferStore, self.store),
            (tirx.AllocBuffer, lambda stmt, mutator: self.definition(stmt.buffer, stmt, mutator)),
            (tirx.DeclBuffer, lambda stmt, mutator: self.definition(stmt.buffer, stmt, mutator)),
            (tirx.Bind, lambda stmt, mutator: self.definition(stmt.var, stmt, mutator)),
            (tirx.AttrStmt, self.attribute),
            (tirx.For, self.loop),
            (tirx.SeqStmt, self.sequence),
        ]

    # -- arenas ----------------------------------------------------------------------------------------------------

    def allocate_all(self, arenas: Sequence[Arena], body: Any) -> Any:
        """`body` behind the allocations of `arenas` and the views that they turned out to need."""
        used = [arena for arena in arenas if self.views[arena]]  # nothing may touch what was planned
        if not used:
            return body
        if len(used) > 1 and used[0].scope == "global":
            body = tirx.AttrStmt(tirx.const(0, "int32"), APART, tirx.const(0, "int32"), body)
        rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
        return tirx.SeqStmt([*(stmt for arena in used for stmt in self.allocation(arena)), *rest])

    def allocation(self, arena: Arena) -> list[Any]:
        """The statements that allocate `arena` and declare its views."""
        views = self.views[arena]
        if len(views) == 1:
            return [tirx.AllocBuffer(view) for view in views.values()]
        whole = _buffer(arena, widest(views), arena.name)
        declared = [tirx.DeclBuffer(view, data=whole.data) for _, view in sorted(views.items())]
        return [tirx.AllocBuffer(whole), *declared]

    def view(self, arena: Arena, dtype: str) -> Any:
        """The view of `arena` with elements of `dtype`."""
        views = self.views[arena]
        if dtype not in views:
            alone = all(element_type(var) == dtype for var in arena.offset_of)
            views[dtype] = _buffer(arena, dtype, arena.name if alone else f"{arena.name}_{dtype}")
        return views[dtype]

    def address(self, place: Place, pointer: Any, dtype: str) -> Any:
        """``address_of`` the element at `place`, with the type of `pointer`."""
        dtype = dtype if place.shift is None else place.dtype
        index = start(place, dtype)
        load = tirx.BufferLoad(self.view(place.arena, dtype), [index])
        return ir.Call("tirx.address_of", [load], ret_ty=pointer.ty)

    # -- accesses --------------------------------------------------------------------------------------------------

    def load(self, load: Any, mutator: Any) -> Any:
        place = self.arenas.locate(load.source)
        if place is None:
            return mutator.default_mutate(load)
        dtype = element_type(load.source)
        (index,) = (mutator.mutate(index) for index in load.indices)
        return tirx.BufferLoad(self.view(place.arena, dtype), [shifted(place, dtype, index)], load.span)

    def store(self, store: Any, mutator: Any) -> Any:
        place = self.arenas.locate(store.buffer)
        if place is None:
            return mutator.default_mutate(store)
        dtype = element_type(store.buffer)
        (index,) = (mutator.mutate(index) for index in store.indices)
        value, view = mutator.mutate(store.value), self.view(place.arena, dtype)
        return tirx.BufferStore(view, value, [shifted(place, dtype, index)], store.span)

    def call(self, call: Any, mutator: Any) -> Any:
        name = call_name(call)
        if name == "tirx.buffer_data":
            place = self.arenas.locate(call.args[0])
            return call if place is None else self.address(place, call, element_type(call.args[0]))
        if name == "tirx.tvm_access_ptr":
            return self.access_pointer(call, mutator)
        if name in ("tirx.masked_load", "tirx.masked_store"):
            return self.masked(call, mutator, 1 if name == "tirx.masked_load" else 2)
        return mutator.default_mutate(call)

    def access_pointer(self, call: Any, mutator: Any) -> Any:
        """(type annotation, pointer, offset in elements, extent, access mask); the pointer has to be a buffer's."""
        var = pointee(call.args[1])
        place = None if var is None else self.arenas.locate(var)
        if place is None:
            return mutator.default_mutate(call)
        dtype = access_type(call)
        annotation, _, offset, *others = call.args
        offset, others = shifted(place, dtype, mutator.mutate(offset)), [mutator.mutate(arg) for arg in others]
        args = [annotation, self.view(place.arena, dtype).data, offset, *others]
        return ir.Call(call.op, args, call.attrs, call.ty_args, call.span, ret_ty=call.ty)

    def masked(self, call: Any, mutator: Any, at: int) -> Any:
        """(buffer, index, mask), or (buffer, value, index, mask); the index is argument `at`."""
        buffer, place = call.args[0], self.arenas.locate(call.args[0])
        if place is None:
            return mutator.default_mutate(call)
        dtype = element_type(buffer)
        args = [self.view(place.arena, dtype), *(mutator.mutate(arg) for arg in call.args[1:])]
        args[at] = shifted(place, dtype, args[at])
        return ir.Call(call.op, args, call.attrs, call.ty_args, call.span, ret_ty=call.ty)

    def variable(self, var: Any, mutator: Any) -> Any:
        # Definitions of aliases are gone before anything descends into them: this is a use.
        place = self.arenas.locate(var) if is_pointer(var) else None
        if place is None:
            return mutator.default_mutate(var)
        kind = var.ty.element_type
        typed = isinstance(kind, ir.PrimType) and str(kind.dtype) != "void"
        return self.address(place, var, str(kind.dtype) if typed else "uint8")

    # -- statements ------------------------------------------------------------------------------------------------

    def definition(self, var: Any, stmt: Any, mutator: Any) -> Any:
        return self.nothing if self.arenas.locate(var) is not None else mutator.default_mutate(stmt)

    def attribute(self, stmt: Any, mutator: Any) -> Any:
        if stmt in self.arenas.of_launch:
            body = mutator.mutate(with_barriers(stmt.body, self.barriers.get(stmt, ())))
            body = self.allocate_all(self.arenas.of_launch[stmt], body)
            return tirx.AttrStmt(stmt.node, stmt.attr_key, stmt.value, body, stmt.span)
        place = self.arenas.locate(stmt.node) if isinstance(stmt.node, ir.Var) else None
        if place is not None and is_dropped(str(stmt.attr_key), place.arena.scope):
            return mutator.mutate(stmt.body)
        return mutator.default_mutate(stmt)

    def loop(self, loop: Any, mutator: Any) -> Any:
        # Loops in sequence may count in one variable; the first parallel one is the region.
        arenas = self.loops.pop(loop.loop_var, ()) if loop.kind == tirx.ForKind.PARALLEL else ()
        made = mutator.default_mutate(loop)
        if not arenas:
            return made
        body = self.allocate_all(arenas, made.body)
        return tirx.For(
            made.loop_var, made.min, made.extent, made.kind, body, made.thread_binding, made.annotations, made.step,
            made.span,
        )  # fmt: skip

    def sequence(self, seq: Any, mutator: Any) -> Any:
        made = [mutator.mutate(stmt) for stmt in seq.seq]
        if all(new.same_as(old) for new, old in zip(made, seq.seq)):
            return seq
        kept = [stmt for stmt in made if not stmt.same_as(self.nothing)]
        return tirx.SeqStmt(kept, seq.span) if len(kept) > 1 else kept[0] if kept else self.nothing


def _checked(body: Any, captured: Captured) -> Any:
    """`body` behind a check of the upper bounds that its arenas rest on."""
    checks = [
        tirx.AssertStmt(tirx.And(variable >= 0, variable <= bound), ir.StringImm("ValueError"), [ir.StringImm(text)])
        for variable, bound, text in captured.checks()
    ]
    rest = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    return tirx.SeqStmt([*checks, *rest]) if checks else body


def _buffer(arena: Arena, dtype: str, name: str) -> Any:
    """A flat buffer of `dtype` that covers `arena`, as FlattenBuffer would have made it."""
    extent = arena.elements(dtype)
    if isinstance(extent, int):
        extent = tirx.IntImm(f"int{arena.index_bits}", extent)
    return decl_buffer([extent], dtype, name, scope=arena.scope, layout=None, data_alignment=max(64, arena.alignment))
