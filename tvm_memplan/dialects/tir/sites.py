"""Everything that happens to buffers inside one realization, in order, each with what holds where it happens.

::

    realize T:
      for i, j:  T[i, j] = f(x[i - 1, j])          a Write, inside loops i and j
      for h:     y[h] = if h < 8: T[h, 0] ...      a Read under the condition h < 8, and a Write

Buffers have several dimensions here: this is TIR as schedules leave it, before StorageFlatten.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import tir

from tvm_memplan.dialects.reader import NotUnderstood
from tvm_memplan.dialects.tir.expressions import call_name, children, is_address_of


@dataclass(frozen=True)
class Site:
    """A load or a store: where it stands, inside which loops, under which conditions.

    Parameters
    ----------
    node : tvm.tir.BufferLoad or tvm.tir.BufferStore
        The access.
    at : int
        Its place in the order of statements.
    loops : tuple of tvm.tir.For
        The loops between it and the realization, outermost first.
    conditions : tuple of tvm.ir.PrimExpr
        What is true wherever it is executed.
    path : tuple of tvm.tir.Stmt
        The statements between it and the realization, outermost first, its own included.
    """

    node: Any
    at: int
    loops: tuple[Any, ...]
    conditions: tuple[Any, ...]
    path: tuple[Any, ...]


@dataclass
class Sites:
    """What a statement does to buffers.

    `opaque` holds the variables of storage that is used in a way other than loading and storing elements, so that
    nothing can be said about it.
    """

    reads: list[Site] = field(default_factory=list)
    writes: list[Site] = field(default_factory=list)
    opaque: list[Any] = field(default_factory=list)

    def is_opaque(self, data: Any) -> bool:
        """Whether the storage behind the variable `data` is used in an unknown way."""
        return any(data.same_as(other) for other in self.opaque)


def sites_of(stmt: Any) -> Sites:
    """Read a statement.

    Raises
    ------
    NotUnderstood
        When it holds a node that is not known here.
    """
    walk = _Walk()
    walk.statement(stmt)
    return walk.sites


class _Walk:
    def __init__(self) -> None:
        self.sites = Sites()
        self.at = 0
        self.loops: list[Any] = []
        self.conditions: list[Any] = []
        self.path: list[Any] = []

    def statement(self, stmt: Any) -> None:
        self.path.append(stmt)
        self.at += 1
        self._statement(stmt)
        self.path.pop()

    def _statement(self, stmt: Any) -> None:
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                self.statement(part)
        elif isinstance(stmt, tir.For):
            if stmt.kind == tir.ForKind.THREAD_BINDING:
                raise NotUnderstood("a loop over threads")
            self.expression(stmt.min)
            self.expression(stmt.extent)
            self.loops.append(stmt)
            self.statement(stmt.body)
            self.loops.pop()
        elif isinstance(stmt, tir.BufferStore):
            for part in (stmt.value, *stmt.indices):
                self.expression(part)
            if stmt.predicate is not None:
                raise NotUnderstood("a store with a predicate")
            self.sites.writes.append(self._site(stmt))
        elif isinstance(stmt, tir.IfThenElse):
            self.expression(stmt.condition)
            self._under(stmt.condition, lambda: self.statement(stmt.then_case))
            if stmt.else_case is not None:
                self._under(_not(stmt.condition), lambda: self.statement(stmt.else_case))
        elif isinstance(stmt, tir.BufferRealize):
            self.expression(stmt.condition)
            self.statement(stmt.body)
        elif isinstance(stmt, tir.AttrStmt):
            if is_thread_loop(stmt):
                raise NotUnderstood("a loop over threads")
            if not says_global(stmt):
                self.sites.opaque.extend(storage_in(stmt.node))
            self.expression(stmt.value)
            self.statement(stmt.body)
        elif isinstance(stmt, tir.Evaluate):
            self.expression(stmt.value)
        elif isinstance(stmt, tir.AssertStmt):
            self.expression(stmt.condition)
            self.statement(stmt.body)
        else:
            raise NotUnderstood(f"statement node {type(stmt).__name__}")

    def expression(self, expr: Any) -> None:
        if isinstance(expr, tir.Var):
            if expr.dtype == "handle":
                self.sites.opaque.append(expr)
            return
        if is_address_of(expr):
            self.sites.opaque.append(expr.args[0].buffer.data)
        elif isinstance(expr, tir.BufferLoad):
            if expr.predicate is not None:
                raise NotUnderstood("a load with a predicate")
            self.sites.reads.append(self._site(expr))
        if isinstance(expr, tir.Call) and call_name(expr) == "tir.if_then_else":
            condition, then, orelse = expr.args
            self.expression(condition)
            self._under(condition, lambda: self.expression(then))
            self._under(_not(condition), lambda: self.expression(orelse))
            return
        for child in children(expr):
            self.expression(child)

    def _under(self, condition: Any, visit: Any) -> None:
        """Visit what is executed only where `condition` is true, if that can be told apart from memory."""
        known = condition.dtype == "bool" and not _loads(condition)
        if known:
            self.conditions.append(condition)
        visit()
        if known:
            self.conditions.pop()

    def _site(self, node: Any) -> Site:
        return Site(node, self.at, tuple(self.loops), tuple(self.conditions), tuple(self.path))


def is_thread_loop(stmt: Any) -> bool:
    """Whether the body of a statement is executed by each of several threads."""
    return isinstance(stmt, tir.AttrStmt) and str(stmt.attr_key) in ("thread_extent", "virtual_thread")


def says_global(stmt: Any) -> bool:
    """Whether a statement only says that a buffer lies where all do."""
    return str(stmt.attr_key) == "realize_scope" and str(stmt.value.value) in ("", "global")


def storage_in(node: Any) -> list[Any]:
    """The variables of the storage that an attribute is about."""
    if isinstance(node, tir.Buffer):
        return [node.data]
    if isinstance(node, tir.Var):
        return [node]
    return [data for part in node for data in storage_in(part)] if isinstance(node, tvm.ir.Array) else []


def _not(condition: Any) -> Any:
    return tir.Not(condition) if condition.dtype == "bool" else condition


def _loads(expr: Any) -> bool:
    return isinstance(expr, tir.BufferLoad) or any(_loads(child) for child in children(expr))
