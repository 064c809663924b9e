"""What kernels with open dimensions do to their arguments, as far as they go through them element by element.

::

    for i (n), j (32):  y[i * 32 + j] = exp(x[i * 32 + j])       one loop: reads x[w], writes y[w], w = 0, 1, 2, ...

A nest of loops *walks* through a buffer where the index is that of the rounds counted through, last loop fastest: then
each round has an element of its own, however many there are. Such a nest becomes one loop over these rounds. What it
accesses in any other way, and any other statement, may touch all of a buffer.

For kernels whose sizes are constants `tvm_memplan.dialects.tirx.capture` knows more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm_ffi
from tvm import ir, tirx

from tvm_memplan.dialects.tirx.arithmetic import variables
from tvm_memplan.planning.trace import Elements, Loop, Node, Step

_ROUNDS = (tirx.ForKind.SERIAL, tirx.ForKind.PARALLEL)

#: A sum of products of variables: for each product its factor.
Polynomial = dict[tuple[Any, ...], int]


def walked(body: Any, buffers: Mapping[Any, str]) -> tuple[tuple[Node, ...], frozenset[str]]:
    """Read a kernel's body.

    Parameters
    ----------
    body : Stmt
        Flattened, right before StorageRewrite.
    buffers : mapping of Var to str
        The buffers that stand for parameters, and what to call them.

    Returns
    -------
    tuple of Node, frozenset of str
        What is done to them, and which of them are used in no other way than by loads and stores: only of those that is
        all.
    """
    nodes: list[Node] = []
    for number, stmt in enumerate(_flat(body)):
        nest, inner = _nest(stmt)
        polynomial = _count(nest)
        if not nest or polynomial is None:
            nodes += _step(stmt, buffers, None, "")
            continue
        name = f"walk{number}"
        steps = tuple(step for part in _flat(inner) for step in _step(part, buffers, polynomial, name))
        parallel = any(loop.kind == tirx.ForKind.PARALLEL for loop in nest)
        # Where there is not even one round there is not one element, either.
        nodes.append(Loop(steps, at_least_once=True, name=name, parallel=parallel))
    return tuple(nodes), _plain(body, buffers)


def _flat(stmt: Any) -> Sequence[Any]:
    if isinstance(stmt, tirx.SeqStmt):
        return [part for inner in stmt.seq for part in _flat(inner)]
    return [stmt]


def _nest(stmt: Any) -> tuple[list[Any], Any]:
    """The loops that stand in each other with nothing between, and the body of the innermost."""
    loops: list[Any] = []
    while isinstance(stmt, tirx.For) and stmt.kind in _ROUNDS:
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def _count(nest: Sequence[Any]) -> Polynomial | None:
    """The number of a round of a nest, None where that cannot be told."""
    made: Polynomial = {}
    scale: Polynomial = {(): 1}
    counted = {loop.loop_var for loop in nest}
    for loop in reversed(nest):
        extent = _polynomial(loop.extent)
        plain = isinstance(loop.min, tirx.IntImm) and int(loop.min) == 0 and getattr(loop, "step", None) is None
        if extent is None or not plain or counted.intersection(variables(loop.extent)):
            return None
        made = _sum(made, _product({(loop.loop_var,): 1}, scale))
        scale = _product(scale, extent)
    return made


def _step(stmt: Any, buffers: Mapping[Any, str], walk: Polynomial | None, name: str) -> list[Step]:
    """One statement as a step; `walk` is the number of the round that it is done in, of the loop `name`."""
    seen = _Seen(buffers)
    seen.look(stmt)
    if not seen.loads and not seen.stores:
        return []
    elements: list[Elements] = []
    # Of a statement that holds others, it is not known in which order these come.
    simple = isinstance(stmt, (tirx.BufferStore, tirx.Bind)) and walk is not None
    for accesses, write in ((seen.loads, False), (seen.stores, True)):
        for buffer, indices in accesses.items() if simple else ():
            if all(len(index) == 1 and _polynomial(index[0]) == walk for index in indices):
                dtype = str(buffer.ty.dtype.dtype)
                elements.append(Elements(buffers[buffer], write, dtype, 0, ((name, 1),)))
    reads, writes = (tuple(buffers[buffer] for buffer in found) for found in (seen.loads, seen.stores))
    if not simple:
        # Perhaps it leaves some of it as it was.
        reads = tuple(dict.fromkeys((*reads, *writes)))
    return [Step("", reads, writes, tuple(elements))]


@dataclass
class _Seen:
    """The loads and stores of buffers, with their indices."""

    buffers: Mapping[Any, str]

    def __post_init__(self) -> None:
        self.loads: dict[Any, list[Any]] = {}
        self.stores: dict[Any, list[Any]] = {}

    def look(self, stmt: Any) -> None:
        tvm_ffi.structural_walk(
            stmt,
            [
                (ir.TensorLoad, lambda load: self._note(self.loads, load.source, load.indices)),
                (tirx.BufferStore, lambda store: self._note(self.stores, store.buffer, store.indices)),
            ],
        )

    def _note(self, where: dict[Any, list[Any]], buffer: Any, indices: Any) -> None:
        if buffer in self.buffers:
            where.setdefault(buffer, []).append(tuple(indices))


def _plain(body: Any, buffers: Mapping[Any, str]) -> frozenset[str]:
    """The buffers that are used in no other way than by loads and stores."""
    uses = dict.fromkeys(buffers, 0)

    def use(var: Any) -> None:
        if var in uses:
            uses[var] += 1

    tvm_ffi.structural_walk(body, (ir.Var, use))
    seen = _Seen(buffers)
    seen.look(body)
    return frozenset(
        name
        for buffer, name in buffers.items()
        if uses[buffer] == len(seen.loads.get(buffer, ())) + len(seen.stores.get(buffer, ()))
    )


# -- polynomials ------------------------------------------------------------------------------------------------------


def _polynomial(expr: Any) -> Polynomial | None:
    """An integer expression as a polynomial, None where it is none."""
    if isinstance(expr, tirx.IntImm):
        return {(): int(expr)} if int(expr) else {}
    if isinstance(expr, ir.Var):
        return {(expr,): 1}
    if not isinstance(expr, (tirx.Add, tirx.Sub, tirx.Mul)):
        return None
    one, other = _polynomial(expr.a), _polynomial(expr.b)
    if one is None or other is None:
        return None
    if isinstance(expr, tirx.Mul):
        return _product(one, other)
    return _sum(one, other if isinstance(expr, tirx.Add) else _product({(): -1}, other))


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    made = dict(one)
    for product, factor in other.items():
        made[product] = made.get(product, 0) + factor
    return {product: factor for product, factor in made.items() if factor}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for a, x in one.items():
        for b, y in other.items():
            key = tuple(sorted((*a, *b), key=hash))
            made[key] = made.get(key, 0) + x * y
    return {product: factor for product, factor in made.items() if factor}
