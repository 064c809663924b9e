"""Read a lowered PrimFunc into traces, one per region.

Left alone on purpose: scopes other than global, allocations inside device launches, vectorised loops and virtual
threads (later passes give those one copy per thread or lane), sizes that are not constants, pointers that are
stored or computed with. What is left alone keeps its own `Allocate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tvm import tir

from tvm_memplan.dialects.accesses import Accesses, View
from tvm_memplan.dialects.captured import Captured
from tvm_memplan.dialects.elements import Allocation, constants
from tvm_memplan.dialects.reader import NotUnderstood, Placed, Reader
from tvm_memplan.dialects.roots import PointerAlias, Roots
from tvm_memplan.dialects.tir.expressions import call_name, has_load, is_address_of, walk
from tvm_memplan.planning.trace import Node
from tvm_memplan.report.memory import LeftAlone


def capture(function: Any, name: str, alignment: int = 1) -> Captured:
    """Read `function` (a PrimFunc after StorageFlatten and FlattenBuffer).

    Parameters
    ----------
    function : PrimFunc
        Not changed.
    name : str
        The function's name, for messages and reports.
    alignment : int
        Bytes; every buffer is aligned to at least this.

    Returns
    -------
    Captured
        Its regions and what has to be left alone.

    Raises
    ------
    UnsupportedIR
        When an allocation is larger than any address space.
    """
    reader = _Reader(name, alignment)
    try:
        return reader.captured(function.body)
    except NotUnderstood as problem:
        return Captured(name, (), tuple(_all_left_alone(function, name, str(problem))), {})


def _allocation(stmt: Any) -> Allocation:
    annotation = stmt.buffer_var.type_annotation
    scope = str(getattr(annotation, "storage_scope", "")) or "global"
    return Allocation(stmt.buffer_var.name, stmt.dtype, scope, constants(stmt.extents), str(stmt.extents[0]))


def _all_left_alone(function: Any, name: str, reason: str) -> Iterable[LeftAlone]:
    found: list[LeftAlone] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Allocate):
            what = _allocation(node)
            found.append(LeftAlone(what.name, name, what.scope, what.size(), reason))

    tir.stmt_functor.post_order_visit(function.body, visit)
    return found


class _Reader(Reader):
    def statement(self, stmt: Any) -> tuple[Node, ...]:
        nodes: list[Node | Placed] = []
        # Lowered functions nest hundreds of allocations and lets; a worklist follows them without recursion.
        waiting = [stmt]
        while waiting:
            stmt = waiting.pop()
            if isinstance(stmt, tir.SeqStmt):
                waiting.extend(reversed(stmt.seq))
            elif type(stmt) in _HEADS:
                nodes.extend(_HEADS[type(stmt)](self, stmt))
                waiting.append(stmt.body)
            else:
                nodes.extend(self.whole(stmt))
        return self.placed(nodes)

    def expression(self, accesses: Accesses, expr: Any, keeps: str = "") -> None:
        walk(
            expr,
            lambda load: accesses.load(self.view(load.buffer, len(load.indices))),
            lambda var, receiver: accesses.pointer(var, receiver, keeps, expr.dtype == "handle"),
        )

    def view(self, buffer: Any, rank: int) -> View:
        offset = buffer.elem_offset
        starts = isinstance(offset, tir.IntImm) and offset.value == 0
        return View(buffer.data, buffer.name, buffer.dtype, rank == 1 and len(buffer.shape) == 1, not starts)

    def storage_of(self, node: Any) -> Any | None:
        owner = node.data if isinstance(node, tir.Buffer) else node
        return owner if isinstance(owner, tir.Var) else None

    def _Evaluate(self, stmt: Any) -> tuple[Node, ...]:
        label = call_name(stmt.value) if isinstance(stmt.value, tir.Call) else "evaluate"
        if label in ("tir.call_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked"):
            label = f"call {getattr(stmt.value.args[0], 'value', label)}"
        return self.use(label, stmt.value)

    def _let(self, stmt: Any) -> tuple[Node, ...]:
        if stmt.var.dtype != "handle":
            return self.use(f"let {stmt.var.name}", stmt.value)
        alias = _resolve(self.roots, stmt.value)
        if alias is not None:
            self.roots.name(stmt.var, alias)
            return ()
        return self.use(f"let {stmt.var.name}", stmt.value, keeps=f"pointer {stmt.var.name!r} is computed from it")

    def _allocate(self, stmt: Any) -> tuple[Node | Placed, ...]:
        always = isinstance(stmt.condition, tir.IntImm) and stmt.condition.value == 1
        reason = "" if always else "it is allocated under a condition of its own"
        placed = self.allocated(stmt.buffer_var, _allocation(stmt), reason)
        return (*self.use(f"allocate {stmt.buffer_var.name}", *stmt.extents, stmt.condition), placed)

    def _declared(self, stmt: Any) -> tuple[Node, ...]:
        return ()  # a view, or constant data, which is not working memory

    def _assert(self, stmt: Any) -> tuple[Node, ...]:
        return self.use("assert", stmt.condition, stmt.message)


# Statements that are a head and a body; the head alone is read here.
_HEADS: dict[type, Callable[[_Reader, Any], Iterable[Node | Placed]]] = {
    tir.LetStmt: _Reader._let,
    tir.Allocate: _Reader._allocate,
    tir.AllocateConst: _Reader._declared,
    tir.DeclBuffer: _Reader._declared,
    tir.AssertStmt: _Reader._assert,
}


def _resolve(roots: Roots, value: Any) -> PointerAlias | None:
    """What a pointer expression points to, None when that cannot be told or is not one of the function's."""
    if isinstance(value, tir.Var):
        return roots.alias_of(value)
    if not is_address_of(value) or not isinstance(value.args[0], tir.BufferLoad):
        return None
    load = value.args[0]
    # The index is moved to where the pointer is used; its value must be the same there.
    if len(load.indices) != 1 or has_load(load.indices[0]) or not load.indices[0].dtype.startswith("int"):
        return None
    base = roots.alias_of(load.buffer.data)
    return roots.moved(base, load.indices[0], load.buffer.dtype) if base is not None else None
