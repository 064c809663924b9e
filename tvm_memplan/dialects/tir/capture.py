"""Read a lowered PrimFunc into traces, one per region.

Every `Allocate` becomes an `Alloc` in the loop or branch that holds it, every store, call and condition becomes a
`Step` that reads and writes roots. A root is left alone, with a reason, as soon as something happens to it that is
not understood; the rest of the function is planned all the same. What is left alone keeps its own `Allocate`.

Left alone on purpose: scopes other than global, allocations inside device launches, vectorised loops and virtual
threads (later passes give those one copy per thread or lane), sizes that are not constants, pointers that are
stored or computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tvm import tir

from tvm_memplan.dialects.captured import Captured, Region
from tvm_memplan.dialects.tir.accesses import Accesses
from tvm_memplan.dialects.tir.allocations import BASE_ALIGNMENT, element_bytes, scope_of, size_of, why_not_planned
from tvm_memplan.dialects.tir.expressions import NotUnderstood, call_name, is_address_of
from tvm_memplan.dialects.tir.roots import Roots, Storage
from tvm_memplan.planning.trace import Alloc, Branch, Loop, Node, Trace, restricted
from tvm_memplan.report.memory import LeftAlone

# Attributes on a storage variable that a planned buffer satisfies by itself, so that the rewriter may drop them.
DROPPED_ATTRIBUTES = frozenset({"storage_alignment"})


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
        nodes = reader.statement(function.body)
    except NotUnderstood as problem:
        return Captured(name, (), tuple(_all_left_alone(function, name, str(problem))), {})
    return reader.captured(nodes)


def _all_left_alone(function: Any, name: str, reason: str) -> Iterable[LeftAlone]:
    found: list[LeftAlone] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Allocate):
            found.append(LeftAlone(node.buffer_var.name, name, scope_of(node.buffer_var), size_of(node), reason))

    tir.stmt_functor.post_order_visit(function.body, visit)
    return found


@dataclass(frozen=True)
class _Allocation:
    """Stands in a list of nodes for an `Alloc` that is made when the body has been read."""

    var: Any


class _Reader:
    """One pass over one function; the names of roots are unique in the function."""

    def __init__(self, function: str, alignment: int) -> None:
        self.function = function
        self.alignment = alignment
        self.roots = Roots()
        self.attributes: dict[Any, list[tuple[str, Any]]] = {}  # seen on a variable before its allocation
        self.outside: list[str] = []  # why an allocation here cannot be planned, innermost last
        self.region = [0]
        self.regions: list[tuple[str, Any, tuple[Node, ...]]] = [("body", None, ())]

    # -- results ---------------------------------------------------------------------------------------------------

    def captured(self, nodes: tuple[Node, ...]) -> Captured:
        """Cut what was read into regions, without the storages that are left alone."""
        self.regions[0] = ("body", None, nodes)
        regions = []
        for index, (name, anchor, body) in enumerate(self.regions):
            mine = {s.name: s.var for s in self.roots.storages.values() if s.region == index and not s.reason}
            if mine:
                regions.append(Region(name, Trace(restricted(body, mine)), anchor, mine))
        left = (s for s in self.roots.storages.values() if s.reason)
        alone = tuple(LeftAlone(s.name, self.function, s.scope, s.size, s.reason) for s in left)
        return Captured(self.function, tuple(regions), alone, dict(self.roots.aliases))

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self, stmt: Any) -> tuple[Node, ...]:
        """The nodes of one statement, its body included."""
        nodes: list[Node | _Allocation] = []
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
                nodes.extend(self._whole(stmt))
        # Views and attributes met in its body may have asked for more alignment, hence only now.
        return tuple(self._alloc(node) if isinstance(node, _Allocation) else node for node in nodes)

    def _whole(self, stmt: Any) -> tuple[Node, ...]:
        read = getattr(self, f"_{type(stmt).__name__}", None)
        if read is None:
            raise NotUnderstood(
                f"statement {type(stmt).__name__} is not lowered far enough: run after StorageFlatten and FlattenBuffer"
            )
        result: tuple[Node, ...] = read(stmt)
        return result

    def _BufferStore(self, stmt: Any) -> tuple[Node, ...]:
        accesses = Accesses(self.roots)
        accesses.expression(stmt.value, keeps="it is stored in memory")
        for index in stmt.indices:
            accesses.expression(index)
        if stmt.predicate is not None:
            accesses.expression(stmt.predicate)
        accesses.store(stmt.buffer, len(stmt.indices))
        return accesses.steps(f"{stmt.buffer.name} = ...")

    def _Evaluate(self, stmt: Any) -> tuple[Node, ...]:
        label = call_name(stmt.value) if isinstance(stmt.value, tir.Call) else "evaluate"
        if label in ("tir.call_extern", "tir.tvm_call_packed", "tir.tvm_call_cpacked"):
            label = f"call {getattr(stmt.value.args[0], 'value', label)}"
        return self._use(label, stmt.value)

    def _let(self, stmt: Any) -> tuple[Node, ...]:
        if stmt.var.dtype != "handle":
            return self._use(f"let {stmt.var.name}", stmt.value)
        accesses = Accesses(self.roots)
        if self.roots.bind(stmt.var, stmt.value):
            if is_address_of(stmt.value):
                accesses.view(stmt.value.args[0].buffer, len(stmt.value.args[0].indices))
            return ()
        accesses.expression(stmt.value, keeps=f"pointer {stmt.var.name!r} is computed from it")
        return accesses.steps(f"let {stmt.var.name}")

    def _IfThenElse(self, stmt: Any) -> tuple[Node, ...]:
        then = self.statement(stmt.then_case)
        orelse = self.statement(stmt.else_case) if stmt.else_case is not None else ()
        return (*self._use("if", stmt.condition), Branch(then, orelse))

    def _While(self, stmt: Any) -> tuple[Node, ...]:
        return (Loop(self._use("while", stmt.condition) + self.statement(stmt.body)),)

    def _For(self, stmt: Any) -> tuple[Node, ...]:
        head = self._use(f"for {stmt.loop_var.name}", stmt.min, stmt.extent)
        runs = isinstance(stmt.extent, tir.IntImm) and stmt.extent.value > 0
        if stmt.kind == tir.ForKind.PARALLEL and not self.outside:
            return (*head, Loop(self._parallel(stmt), at_least_once=runs))
        reason = {
            tir.ForKind.VECTORIZED: "it is allocated inside a vectorised loop",
            tir.ForKind.THREAD_BINDING: "it is allocated inside a device launch",
            tir.ForKind.PARALLEL: "it is allocated inside a parallel loop of a device launch",
        }.get(stmt.kind)
        return (*head, Loop(self._inside(reason, stmt.body), at_least_once=runs))

    def _parallel(self, stmt: Any) -> tuple[Node, ...]:
        if any(anchor is not None and anchor.same_as(stmt.loop_var) for _, anchor, _ in self.regions):
            return self._inside("two parallel loops share the variable of its loop", stmt.body)
        index = len(self.regions)
        self.regions.append((_unique(stmt.loop_var.name, {name for name, _, _ in self.regions}), stmt.loop_var, ()))
        self.region.append(index)
        body = self.statement(stmt.body)
        self.region.pop()
        name, anchor, _ = self.regions[index]
        self.regions[index] = (name, anchor, body)
        return body

    def _inside(self, reason: str | None, body: Any) -> tuple[Node, ...]:
        if reason is None:
            return self.statement(body)
        self.outside.append(reason)
        nodes = self.statement(body)
        self.outside.pop()
        return nodes

    def _allocate(self, stmt: Any) -> tuple[Node | _Allocation, ...]:
        size = size_of(stmt)
        reason = why_not_planned(stmt, size) or (self.outside[-1] if self.outside else "")
        var = stmt.buffer_var
        if var in self.roots.storages:
            self.roots.leave(var, "the same variable is allocated at two places")
        else:
            unit = element_bytes(stmt.dtype) or 1
            name = _unique(var.name, {storage.name for storage in self.roots.storages.values()})
            alignment = max(unit, self.alignment)
            self.roots.storages[var] = Storage(name, var, scope_of(var), size, alignment, reason, self.region[-1])
        for key, value in self.attributes.pop(var, ()):
            self._attribute(var, key, value)
        return (*self._use(f"allocate {var.name}", *stmt.extents, stmt.condition), _Allocation(var))

    def _alloc(self, allocation: _Allocation) -> Alloc:
        storage = self.roots.storages[allocation.var]
        size = storage.size or 0  # a size that is not known is a reason to leave it alone, which drops the node
        return Alloc(storage.name, size, storage.alignment, storage.scope, fresh=True)

    def _declared(self, stmt: Any) -> tuple[Node, ...]:
        return ()  # a view, or constant data, which is not working memory

    def _assert(self, stmt: Any) -> tuple[Node, ...]:
        return self._use("assert", stmt.condition, stmt.message)

    def _AttrStmt(self, stmt: Any) -> tuple[Node, ...]:
        key, reason = str(stmt.attr_key), None
        owner = stmt.node.data if isinstance(stmt.node, tir.Buffer) else stmt.node
        if isinstance(owner, tir.Var):
            if self.roots.of(owner) is None:
                self.attributes.setdefault(owner, []).append((key, stmt.value))
            else:
                self._attribute(owner, key, stmt.value)
        if key == "thread_extent":
            reason = "it is allocated inside a device launch"
        elif key == "virtual_thread":
            reason = "it is allocated inside a virtual thread"
        elif key == "pragma_parallel_launch_point":
            reason = "it is allocated inside a parallel launch point"
        elif key.startswith("async_"):
            raise NotUnderstood(f"attribute {key}: asynchronous copies are not followed yet")
        head = self._use(key, stmt.value)
        body = self._inside(reason, stmt.body)
        return (*head, Loop(body)) if reason else head + body

    def _attribute(self, var: Any, key: str, value: Any) -> None:
        storage = self.roots.of(var)
        if storage is None or key != "storage_alignment" or not isinstance(value, tir.IntImm):
            self.roots.leave(var, f"it carries the attribute {key}")
        elif value.value > BASE_ALIGNMENT:
            self.roots.leave(var, f"it asks for an alignment of {value.value} bytes, which no arena is sure to have")
        else:
            storage.alignment = max(storage.alignment, int(value.value))

    def _use(self, label: str, *expressions: Any) -> tuple[Node, ...]:
        accesses = Accesses(self.roots)
        for expression in expressions:
            accesses.expression(expression)
        return accesses.steps(label)


# Statements that are a head and a body; the head alone is read here.
_HEADS: dict[type, Callable[[_Reader, Any], Iterable[Node | _Allocation]]] = {
    tir.LetStmt: _Reader._let,
    tir.Allocate: _Reader._allocate,
    tir.AllocateConst: _Reader._declared,
    tir.DeclBuffer: _Reader._declared,
    tir.AssertStmt: _Reader._assert,
}


def _unique(name: str, taken: set[str]) -> str:
    """`name`, or the first of ``name#2``, ``name#3``, ... that is not taken."""
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}#{count}"
    return unique
