"""Copies inside an operator that need not be stored: every load of one becomes the value that was stored.

::

    realize T:
      for i, j:  T[i, j] = if(1 <= i < 9, x[i - 1, j], 0)
      for h, d:  y[h] += T[h + d, 0] * w[d]
    becomes
      for h, d:  y[h] += if(1 <= h + d < 9, x[h + d - 1, 0], 0) * w[d]

A buffer goes when all of this is proved:

1. One statement stores to it, in loops of its own that hold nothing else and stand before every load; it is
   nowhere used but by loads and that store.
2. Each index of the store is a loop variable plus something fixed, or fixed; each loop variable is in one index, so
   each element is written once and the index of a load says in which round.
3. Every load lies in what was written, whatever the loops around it count (conditions around it are used).
4. What the stored value reads is not written between the store and the last load, by whatever name, and is still
   allocated there.
5. The value is the same bits wherever it is computed (`weights`), and computing it again is cheap: never more
   often than it was stored, or cheap arithmetic on a buffer that holds a whole tensor.

TIR here is as schedules leave it, before StorageFlatten, where indices have one number per dimension.
What is left alone: functions with threads, and every buffer for which one of these is not proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import arith, tir

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.elements import constant, element_bytes
from tvm_memplan.dialects.reader import NotUnderstood
from tvm_memplan.dialects.tir.expressions import children, has_load
from tvm_memplan.dialects.tir.sites import Site, Sites, is_thread_loop, says_global, sites_of, storage_in
from tvm_memplan.dialects.tir.weights import Weight, weight

# How often an element of a padded tensor may be worked out again. A window of 5x5 reads each 25 times and is worth
# it; a convolution that goes over its input for every output channel reads each hundreds of times.
_ROUNDS = 32


@dataclass(frozen=True)
class InlinedCopy:
    """A buffer that is gone.

    Parameters
    ----------
    name : str
        Of the buffer.
    size : int
        Bytes it held.
    stored, computed : int
        How many times its elements were computed before, and how many times they are now.
    """

    name: str
    size: int
    stored: int
    computed: int


def inline_copies(function: Any) -> tuple[Any, tuple[InlinedCopy, ...]]:
    """Remove the copies of a PrimFunc that need not be stored.

    Parameters
    ----------
    function : PrimFunc
        As a schedule leaves it: with `BufferRealize`, before StorageFlatten. Not changed.

    Returns
    -------
    (PrimFunc, tuple of InlinedCopy)
        The function without them, and what they were; the same function where there are none.
    """
    done: list[InlinedCopy] = []
    while (found := _first_copy(function)) is not None:
        copy, record = found
        function = function.with_body(copy.inlined(function.body))
        done.append(record)
    return function, tuple(done)


def _first_copy(function: Any) -> tuple[_Copy, InlinedCopy] | None:
    for realize, around in _realizations(function.body):
        try:
            sites = sites_of(realize.body)
        except NotUnderstood:
            continue
        stores = _stores(realize, sites)
        if len(stores) != 1:
            continue
        copy = _Copy(realize, stores[0], around, function)
        if all(rule(copy, sites) for rule in RULES):
            record = _record(copy, sites)
            if record is not None:
                return copy, record
    return None


def _realizations(body: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Every `BufferRealize` with the loops around it, in order; none of those that threads make."""
    found: list[tuple[Any, tuple[Any, ...]]] = []

    def visit(stmt: Any, loops: tuple[Any, ...]) -> None:
        if isinstance(stmt, tir.BufferRealize):
            found.append((stmt, loops))
        if isinstance(stmt, tir.SeqStmt):
            for part in stmt.seq:
                visit(part, loops)
        elif isinstance(stmt, tir.IfThenElse):
            visit(stmt.then_case, loops)
            if stmt.else_case is not None:
                visit(stmt.else_case, loops)
        elif isinstance(stmt, tir.For):
            visit(stmt.body, (*loops, stmt))
        elif hasattr(stmt, "body") and not is_thread_loop(stmt):
            visit(stmt.body, loops)

    visit(body, ())
    return found


def _named(body: Any) -> list[Any]:
    """The storage that attributes say something about; whatever it is, it has to stay."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.AttrStmt) and not says_global(node):
            found.extend(storage_in(node.node))

    tir.stmt_functor.post_order_visit(body, visit)
    return found


@dataclass(frozen=True)
class _Copy:
    """A buffer that one nest of loops fills."""

    realize: Any
    site: Site  # of the store
    around: tuple[Any, ...]  # the loops that the realization stands in
    function: Any

    @property
    def data(self) -> Any:
        return self.realize.buffer.data

    @property
    def store(self) -> Any:
        return self.site.node

    @property
    def loops(self) -> dict[Any, Any]:
        """The loops of the nest by their variables."""
        return {loop.loop_var: loop for loop in self.site.loops}

    @property
    def outside(self) -> tuple[Any, ...]:
        """The statements around the nest."""
        return self.site.path[: len(self.site.path) - len(self.site.loops) - 1]

    @property
    def nest(self) -> Any:
        """The statement that fills the buffer and does nothing else, if `_stands_alone`."""
        return self.site.path[len(self.outside)]

    def reads(self, sites: Sites) -> list[Site]:
        """Its loads."""
        return [site for site in sites.reads if site.node.buffer.data.same_as(self.data)]

    def rounds(self, indices: Any) -> dict[Any, Any]:
        """The round in which the element at `indices` was stored, as a value for each loop variable."""
        found = {}
        for index, stored in zip(indices, self.store.indices):
            split = _variable_and_rest(stored, self.loops)
            if split is not None:
                found[split[0]] = index - split[1]
        return found

    def inlined(self, body: Any) -> Any:
        """`body` without the buffer."""

        def before(node: Any) -> Any | None:
            return _NOTHING if node.same_as(self.nest) else None

        def after(node: Any) -> Any | None:
            if isinstance(node, tir.BufferLoad) and node.buffer.data.same_as(self.data):
                return tir.stmt_functor.substitute(self.store.value, self.rounds(node.indices))
            if isinstance(node, tir.BufferRealize) and node.buffer.data.same_as(self.data):
                return node.body
            if isinstance(node, tir.AttrStmt) and says_global(node) and _among(self.data, storage_in(node.node)):
                return node.body
            if isinstance(node, tir.SeqStmt):
                kept = [part for part in node.seq if not part.same_as(_NOTHING)]
                return tir.stmt_seq(*kept) if 0 < len(kept) < len(node.seq) else None
            return None

        visited = ["BufferLoad", "BufferRealize", "AttrStmt", "SeqStmt", "For", "BufferStore"]
        return tir.stmt_functor.ir_transform(body, before, after, [f"tir.{node}" for node in visited])


_NOTHING = tir.Evaluate(tir.const(0, "int32"))


def _stores(realize: Any, sites: Sites) -> list[Site]:
    return [site for site in sites.writes if site.node.buffer.data.same_as(realize.buffer.data)]


def _only_loaded(copy: _Copy, sites: Sites) -> bool:
    """Rule 1: nothing but loads and the store use it, and they see it as it was realized."""
    buffer = copy.realize.buffer
    used = [copy.site, *copy.reads(sites)]
    seen = all(site.node.buffer.same_as(buffer) for site in used)
    opaque = sites.is_opaque(buffer.data) or _among(buffer.data, _named(copy.function.body))
    return seen and len(used) > 1 and not opaque and buffer.scope() == "global"


def _stands_alone(copy: _Copy, sites: Sites) -> bool:
    """Rule 1: the loops around the store hold nothing else."""
    return all(
        isinstance(stmt, (tir.SeqStmt, tir.BufferRealize)) or (isinstance(stmt, tir.AttrStmt) and says_global(stmt))
        for stmt in copy.outside
    )


def _stands_before(copy: _Copy, sites: Sites) -> bool:
    """Rule 1: the store comes before every load."""
    return all(read.at > copy.site.at for read in copy.reads(sites))


def _writes_each_once(copy: _Copy, sites: Sites) -> bool:
    """Rule 2."""
    seen = []
    for index in copy.store.indices:
        if has_load(index):
            return False
        if _uses(index, copy.loops):
            split = _variable_and_rest(index, copy.loops)
            if split is None:
                return False
            seen.append(split[0])
    return len(seen) == len(copy.loops) == len(set(seen))


def _sources_stay(copy: _Copy, sites: Sites) -> bool:
    """Rule 4: what the value reads is not written later and is allocated outside of where the copy is."""
    inside = [stmt.buffer.data for stmt in copy.site.path if isinstance(stmt, tir.BufferRealize)]
    later = [site.node.buffer.data for site in sites.writes if site.at > copy.site.at]
    return not any(
        sites.is_opaque(source) or _among(source, inside) or _among(source, later) for source in _sources(copy, sites)
    )


def _sources_are_apart(copy: _Copy, sites: Sites) -> bool:
    """Rule 4: no other parameter of the function that is written later may be one of the sources."""
    if attribute(copy.function, "tir.noalias"):
        return True
    params = [buffer.data for buffer in copy.function.buffer_map.values()]
    later = [site.node.buffer.data for site in sites.writes if site.at > copy.site.at]
    return not (
        any(_among(source, params) for source in _sources(copy, sites)) and any(_among(data, params) for data in later)
    )


def _sources(copy: _Copy, sites: Sites) -> list[Any]:
    return [site.node.buffer.data for site in sites.reads if site.at == copy.site.at]


def _within(copy: _Copy, sites: Sites) -> bool:
    """Rule 3; and what the store names besides its own loops is the same at the loads."""
    for site in copy.reads(sites):
        loops = (*copy.around, *site.loops)
        if len({loop.loop_var for loop in loops}) < len(loops) or any(has_load(index) for index in site.node.indices):
            return False
        foreign = [loop.loop_var for loop in site.loops if loop.loop_var not in copy.loops]
        if any(_uses(part, foreign) for part in (copy.store.value, *copy.store.indices)):
            return False
        wanted = [
            tir.EQ(index, stored)
            for index, stored in zip(site.node.indices, copy.store.indices)
            if not _uses(stored, copy.loops)
        ]
        for variable, value in copy.rounds(site.node.indices).items():
            loop = copy.loops[variable]
            wanted += [value >= loop.min, value < loop.min + loop.extent]
        analyzer = arith.Analyzer()
        for loop in loops:
            analyzer.bind(loop.loop_var, tvm.ir.Range.from_min_extent(loop.min, loop.extent))
        with ExitStack() as stack:
            for condition in site.conditions:
                stack.enter_context(analyzer.constraint_scope(condition))
            if not all(analyzer.can_prove(each) for each in wanted):
                return False
    return True


#: All must hold; `_record` sees to the rest.
RULES = (
    _only_loaded,
    _stands_alone,
    _stands_before,
    _writes_each_once,
    _sources_stay,
    _sources_are_apart,
    _within,
)


def _record(copy: _Copy, sites: Sites) -> InlinedCopy | None:
    """Rule 5; what is known of the copy if it holds."""
    cost = weight(copy.store.value)
    stored = _executions(copy.site)
    loads = [_executions(site) for site in copy.reads(sites)]
    if cost is None or stored is None or any(count is None for count in loads):
        return None
    computed = sum(count for count in loads if count is not None)
    rounds = {Weight.FREE: computed, Weight.LIGHT: _ROUNDS * stored, Weight.HEAVY: stored}[cost]
    if computed > (stored if copy.around else rounds):
        return None
    size = (element_bytes(copy.realize.buffer.dtype) or 1) * stored
    return InlinedCopy(str(copy.realize.buffer.name), size, stored, computed)


def _executions(site: Site) -> int | None:
    """How often it happens in one realization, None where that is not constant; branches count as taken."""
    extents = [constant(loop.extent) for loop in site.loops]
    return None if None in extents else math.prod(extent for extent in extents if extent is not None)


def _among(data: Any, others: Iterable[Any]) -> bool:
    return any(data.same_as(other) for other in others)


def _uses(expr: Any, variables: Iterable[Any]) -> bool:
    """Whether one of `variables` is in `expr`."""
    return any(isinstance(expr, tir.Var) and expr.same_as(v) for v in variables) or any(
        _uses(child, variables) for child in children(expr)
    )


def _variable_and_rest(index: Any, variables: Iterable[Any]) -> tuple[Any, Any] | None:
    """`index` as one of `variables` plus what uses none of them; None where it is not that."""
    used = [variable for variable in variables if _uses(index, (variable,))]
    if len(used) != 1:
        return None
    parts = arith.detect_linear_equation(index, used)
    if len(parts) != 2 or constant(parts[0]) != 1:
        return None
    return used[0], parts[1]
