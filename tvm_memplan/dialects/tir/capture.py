"""Read a lowered PrimFunc into traces, one per region.

Textures are read as well (`tvm_memplan.dialects.tir.textures`). Left alone on purpose: scopes that were not asked for,
and registers; global memory that is allocated inside device launches, and anything in vectorised loops and virtual
threads (later passes give those one copy per thread or lane); sizes that are loaded from memory; pointers that are
stored or computed with. What is left alone keeps its own `Allocate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tvm import tir

from tvm_memplan.dialects.accesses import Accesses, View, Visits
from tvm_memplan.dialects.captured import Captured
from tvm_memplan.dialects.elements import Allocation, constants
from tvm_memplan.dialects.extents import Extents, declared_bounds
from tvm_memplan.dialects.reader import NotUnderstood, Placed, Reader
from tvm_memplan.dialects.roots import PointerAlias, Roots
from tvm_memplan.dialects.tir.arithmetic import ARITHMETIC, parameters
from tvm_memplan.dialects.tir.expressions import call_name, children, has_load, is_address_of, view, walk
from tvm_memplan.dialects.tir.textures import texture_limits, texture_of
from tvm_memplan.planning.trace import Node
from tvm_memplan.report.memory import LeftAlone

# What storage_align leaves behind, which the size of a flat buffer has in it by now.
_KNOWN_ANNOTATIONS = frozenset({"buffer_dim_align"})


def capture(
    function: Any,
    name: str,
    alignment: int = 1,
    scopes: Sequence[str] = ("global",),
    upper_bounds: Mapping[str, int] | None = None,
) -> Captured:
    """Read `function` (a PrimFunc after StorageFlatten and FlattenBuffer).

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


def _allocation(stmt: Any, extents: Extents | None = None) -> Allocation:
    annotation = stmt.buffer_var.type_annotation
    scope = str(getattr(annotation, "storage_scope", "")) or "global"
    text = str(stmt.extents[0])
    if extents is None or len(stmt.extents) != 1:
        return Allocation(stmt.buffer_var.name, stmt.dtype, scope, constants(stmt.extents), text)
    extent = extents.of(stmt.extents[0])
    return Allocation(stmt.buffer_var.name, stmt.dtype, scope, (extent.count,), text, extent.unit, extent.bounds)


def _all_left_alone(function: Any, name: str, reason: str) -> Iterable[LeftAlone]:
    found: list[LeftAlone] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Allocate):
            what = _allocation(node)
            found.append(LeftAlone(what.name, name, what.scope, what.size(), reason))
        texture = texture_of(node) if isinstance(node, tir.LetStmt) else None
        if texture is not None:
            found.append(LeftAlone(texture.name, name, texture.scope, texture.size(), reason))

    tir.stmt_functor.post_order_visit(function.body, visit)
    return found


class _Reader(Reader):
    # What TVM's allocators promise; an `Allocate` cannot ask for more, and an offset cannot give more.
    base_alignment = 64

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
        def pointer(var: Any, receiver: str) -> None:
            accesses.pointer(var, receiver, keeps, expr.dtype == "handle")

        walk(expr, Visits(accesses.load, accesses.store, accesses.place, pointer))

    def view(self, buffer: Any, indices: Any) -> View:
        return view(buffer, indices)

    def type_of(self, expr: Any) -> str:
        return str(expr.dtype)

    def storage_of(self, node: Any) -> Any | None:
        owner = node.data if isinstance(node, tir.Buffer) else node
        return owner if isinstance(owner, tir.Var) else None

    def call_of(self, expr: Any) -> tuple[str, tuple[Any, ...]]:
        return call_name(expr), tuple(expr.args)

    def parts(self, expr: Any) -> tuple[Any, ...]:
        return children(expr)

    def _Evaluate(self, stmt: Any) -> tuple[Node, ...]:
        label = call_name(stmt.value) if isinstance(stmt.value, tir.Call) else "evaluate"
        self.extents.unsure += label == "tir.ret"
        if label in ("tir.call_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked"):
            label = f"call {getattr(stmt.value.args[0], 'value', label)}"
        return self.use(label, stmt.value)

    def _let(self, stmt: Any) -> tuple[Node | Placed, ...]:
        texture = texture_of(stmt, self.texture_limits)
        if texture is not None:
            placed = self.texture(stmt.var, texture)
            return (*self.use(f"allocate {stmt.var.name}", *stmt.value.args[2].args), placed)
        if stmt.var.dtype != "handle":
            self.positions.bind(stmt.var, stmt.value)
            if self.launch is not None:
                self.launch.bound(stmt.var, stmt.value)
            return self.use(f"let {stmt.var.name}", stmt.value)
        alias = _resolve(self.roots, stmt.value)
        if alias is not None:
            self.roots.name(stmt.var, alias)
            if is_address_of(stmt.value):
                load = stmt.value.args[0]
                self.accesses().place(view(load.buffer, load.indices))
            return ()
        return self.use(f"let {stmt.var.name}", stmt.value, keeps=f"pointer {stmt.var.name!r} is computed from it")

    def _allocate(self, stmt: Any) -> tuple[Node | Placed, ...]:
        always = isinstance(stmt.condition, tir.IntImm) and stmt.condition.value == 1
        reason = "" if always else "it is allocated under a condition of its own"
        unknown = sorted(str(key) for key in stmt.annotations or () if key not in _KNOWN_ANNOTATIONS)
        if unknown:
            reason = f"it carries the annotation {unknown[0]}"
        placed = self.allocated(stmt.buffer_var, _allocation(stmt, self.extents), reason)
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
    if len(load.indices) != 1 or has_load(load.indices[0]) or load.indices[0].dtype not in ("int32", "int64"):
        return None
    base = roots.alias_of(load.buffer.data)
    return roots.moved(base, load.indices[0], load.buffer.dtype) if base is not None else None
