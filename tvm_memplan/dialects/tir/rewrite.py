"""Write planned offsets back into a PrimFunc: one arena per region, each buffer a shifted view of it.

The idiom is a *typed view of the arena with a shifted index*: ``B[i]`` becomes ``arena_as_B[offset / size of an
element + i]``. It was chosen because the code generators see one allocation: LLVM's alias metadata is then computed
from byte positions in the arena, so that two tenants of the same bytes are never claimed to be apart, and vector
loads know their true alignment. Pointers into the middle (``let p = address_of(arena[k])``) would be new alias
classes of their own, and `elem_offset` is ignored by some generators; neither is used.

Pointer variables that stand for planned storage are dissolved into views. Where an address leaves the function
(extern and packed calls) it becomes ``address_of(view[offset])``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.tir.allocations import element_bytes
from tvm_memplan.dialects.tir.capture import DROPPED_ATTRIBUTES
from tvm_memplan.dialects.tir.expressions import call_name
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.model import round_up

_INT32_MAX = 2**31 - 1
_VISITED = [
    f"tir.{node}"
    for node in ("BufferLoad", "BufferStore", "Call", "Allocate", "DeclBuffer", "LetStmt", "AttrStmt", "For")
]


def rewrite(
    function: Any, captured: Captured, offsets: Mapping[str, Mapping[str, int]], sizes: Mapping[str, int]
) -> Any:
    """Return `function` with the planned buffers of `captured` moved into arenas.

    Parameters
    ----------
    function : PrimFunc
        The function that `captured` was read from; not changed.
    captured : Captured
        Its regions.
    offsets : mapping of str to mapping of str to int
        For each region's name, each buffer's byte offset in the region's arena.
    sizes : mapping of str to int
        For each region's name, the bytes of its arena.

    Returns
    -------
    PrimFunc
        A new function with the same parameters and attributes.
    """
    arenas = [_Arena(region, offsets[region.name], sizes[region.name]) for region in captured.regions]
    moved = {var: arena for arena in arenas for var in arena.offset_of}
    writer = _Writer(moved, captured.aliases, {a.anchor: a for a in arenas if a.anchor is not None})
    body = tir.stmt_functor.ir_transform(function.body, None, writer.after, _VISITED)
    for arena in arenas:
        if arena.anchor is None:
            body = arena.allocate(body)
    return function.with_body(body)


class _Arena:
    """The allocation that serves one region."""

    def __init__(self, region: Region, offsets: Mapping[str, int], size: int) -> None:
        self.anchor = region.anchor
        self.offset_of = {var: offsets[name] for name, var in region.variables.items()}
        # The widest element type among the tenants makes a small arena, which code generators put on the
        # stack as an array of that type, aligned for all of them.
        self.dtype = max(
            (tvm.DataType(var.type_annotation.element_type.dtype) for var in self.offset_of),
            key=lambda kind: (kind.bits * kind.lanes, str(kind)),
        )
        unit = element_bytes(str(self.dtype)) or 1
        self.size = round_up(size, unit)
        self.extent = self.size // unit
        pointer = tvm.ir.PointerType(tvm.ir.PrimType(str(self.dtype)), "global")
        # Code generators that print names as they are need them to be identifiers.
        name = "arena" if region.anchor is None else "arena_" + re.sub(r"\W", "_", region.name)
        self.var = tir.Var(name, pointer)

    @property
    def index_bits(self) -> int:
        """Bits of an integer that can count its bytes."""
        return 64 if self.size > _INT32_MAX else 32

    def allocate(self, body: Any) -> Any:
        """`body` inside the arena's allocation."""
        always = tir.IntImm("bool", 1)
        return tir.Allocate(self.var, str(self.dtype), [tir.IntImm(f"int{self.index_bits}", self.extent)], always, body)


class _Writer:
    """The node-by-node part of the rewrite; `after` is called with nodes whose children are done."""

    def __init__(self, moved: dict[Any, _Arena], aliases: Mapping[Any, Any], anchors: Mapping[Any, _Arena]) -> None:
        self.moved = moved
        self.aliases = aliases
        self.anchors = anchors
        self.views: dict[tuple[Any, str], Any] = {}

    def after(self, node: Any) -> Any | None:
        """Return what replaces `node`, None to keep it."""
        rewritten = getattr(self, f"_{type(node).__name__}", None)
        return rewritten(node) if rewritten is not None else None

    def _locate(self, var: Any) -> tuple[_Arena, int, Any] | None:
        """Arena, byte offset and further shift (in elements, an expression) of a planned pointer."""
        alias = self.aliases.get(var)
        root = alias.root if alias is not None else var
        arena = self.moved.get(root)
        if arena is None:
            return None
        return arena, arena.offset_of[root], None if alias is None or alias.starts_at_root else alias.shift

    def _view(self, arena: _Arena, dtype: str, name: str) -> Any:
        key = (arena.var, dtype)
        if key not in self.views:
            extent = arena.size // (element_bytes(dtype) or 1)
            self.views[key] = tir.decl_buffer([extent], dtype, name, data=arena.var)
        return self.views[key]

    def _shifted(self, buffer: Any, indices: Any) -> tuple[Any, list[Any]] | None:
        place = self._locate(buffer.data)
        if place is None:
            return None
        arena, offset, shift = place
        elements, rest = divmod(offset, element_bytes(buffer.dtype) or 1)
        if rest:
            raise UnsupportedIR(
                f"buffer {buffer.name!r} of {buffer.dtype} was planned at byte {offset}, not at an element"
            )
        (index,) = indices
        view = self._view(arena, buffer.dtype, f"{arena.var.name}_{buffer.dtype}")
        index = _widened(index, arena.index_bits)
        for step in (shift, elements):
            if step is not None:
                index = _add(index, step)
        return view, [index]

    def _BufferLoad(self, load: Any) -> Any | None:
        moved = self._shifted(load.buffer, load.indices)
        return tir.BufferLoad(*moved, load.predicate, load.span) if moved else None

    def _BufferStore(self, store: Any) -> Any | None:
        moved = self._shifted(store.buffer, store.indices)
        return tir.BufferStore(moved[0], store.value, moved[1], store.predicate, store.span) if moved else None

    def _Call(self, call: Any) -> Any | None:
        if not any(isinstance(arg, tir.Var) and self._locate(arg) for arg in call.args):
            return None
        args = list(call.args)
        if call_name(call) == "tir.tvm_access_ptr":
            # (type annotation, pointer, offset in elements, extent, access mask)
            args[1], args[2] = self._access_pointer(args[0].dtype, args[1], args[2])
        args = [self._address(arg) if isinstance(arg, tir.Var) and self._locate(arg) else arg for arg in args]
        return tir.Call(call.dtype, call.op, args, call.span)

    def _access_pointer(self, dtype: str, pointer: Any, offset: Any) -> tuple[Any, Any]:
        place = self._locate(pointer)
        if place is None:
            return pointer, offset
        arena, start, shift = place
        elements, rest = divmod(start, element_bytes(dtype) or 1)
        if rest:
            raise UnsupportedIR(f"pointer {pointer.name!r} was planned at byte {start}, not at an element of {dtype}")
        offset = _widened(offset, arena.index_bits)
        return arena.var, _add(offset if shift is None else _add(offset, shift), elements)

    def _address(self, pointer: Any) -> Any:
        place = self._locate(pointer)
        assert place is not None
        arena, start, shift = place
        dtype = self.aliases[pointer].dtype if pointer in self.aliases else "uint8"
        unit = element_bytes(dtype) or 1
        index: Any = tir.IntImm(f"int{arena.index_bits}", start // unit)
        index = index if shift is None else _add(index, shift)
        view = self._view(arena, dtype, f"{arena.var.name}_{dtype}")
        return tir.Call("handle", "tir.address_of", [tir.BufferLoad(view, [index])])

    def _Allocate(self, stmt: Any) -> Any | None:
        return stmt.body if stmt.buffer_var in self.moved else None

    def _DeclBuffer(self, stmt: Any) -> Any | None:
        return stmt.body if self._locate(stmt.buffer.data) else None

    def _LetStmt(self, stmt: Any) -> Any | None:
        return stmt.body if stmt.var in self.aliases and self._locate(stmt.var) else None

    def _AttrStmt(self, stmt: Any) -> Any | None:
        owner = stmt.node.data if isinstance(stmt.node, tir.Buffer) else stmt.node
        if isinstance(owner, tir.Var) and str(stmt.attr_key) in DROPPED_ATTRIBUTES and self._locate(owner):
            return stmt.body
        return None

    def _For(self, stmt: Any) -> Any | None:
        arena = self.anchors.get(stmt.loop_var)
        # Loops in sequence may count in one variable; the arena belongs to the parallel one.
        if arena is None or stmt.kind != tir.ForKind.PARALLEL:
            return None
        return tir.For(
            stmt.loop_var,
            stmt.min,
            stmt.extent,
            stmt.kind,
            arena.allocate(stmt.body),
            stmt.thread_binding,
            stmt.annotations,
            stmt.span,
        )


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
