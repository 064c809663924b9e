"""Arenas for tensors whose sizes are not known: everything in them is a multiple of one unknown factor.

::

    f32[n, 64], f32[n, 256]    256 * n and 1024 * n bytes: planned like 256 and 1024 bytes, and multiplied by n
    f32[n, 3]                  12 * n bytes: shares only with what has the very same size, in slots of 12 * n bytes
                               rounded up to 64, since offsets have to be multiples of 64 whatever n is

A tensor gains from an arena only by sharing. Where none of those with a common factor share, they stay at the run
time's, which holds each for no longer than it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.planning import planners
from tvm_memplan.planning.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Pool, Problem
from tvm_memplan.planning.trace import Alloc, Branch, Node, Step, Trace
from tvm_memplan.report.memory import LeftAlone

_ALIGNMENT = 64


@dataclass(frozen=True)
class SymbolicArena:
    """Tensors that share one storage of a size that is known at run time.

    Parameters
    ----------
    device, scope :
        Where it is.
    factor : PrimExpr
        The common factor.
    units : int
        How many units the storage has.
    unit : int
        Bytes of one unit at a factor of 1.
    rounded : bool
        Whether a unit (with its factor) is rounded up to a multiple of 64 bytes.
    tensors : mapping of str to int
        For each tensor, its offset in units.
    naive : int
        The units that the tensors would take side by side.
    """

    device: int
    scope: str
    factor: Any
    units: int
    unit: int
    rounded: bool
    tensors: Mapping[str, int]
    naive: int

    @property
    def note(self) -> str:
        """What it is, in a sentence."""
        each = f"{self.unit} B * ({self.factor})" if self.unit != 1 else f"1 B * ({self.factor})"
        each = f"({each}, rounded up to 64 B)" if self.rounded else each
        return (
            f"unbounded: {len(self.tensors)} tensors share {self.units} * {each} instead of {self.naive} times that, "
            f"first {next(iter(self.tensors))!r}; in no figure here"
        )


def symbolic_arenas(graph: Any, slots: bool) -> tuple[tuple[SymbolicArena, ...], tuple[LeftAlone, ...]]:
    """Plan the tensors of unknown sizes; returns their arenas, and what stays at the run time's.

    Parameters
    ----------
    graph : Graph
        A function as `tvm_memplan.dialects.relax.capture` reads it.
    slots : bool
        Whether every tensor has to start at offset 0 of a storage: then only tensors of the very same size share.
    """
    arenas: list[SymbolicArena] = []
    left: list[LeftAlone] = []
    groups: list[list[Any]] = []
    for tensor in graph.tensors.values():
        if tensor.size.bytes is not None:
            continue
        names = ", ".join(sorted(str(v.name) for v in tensor.size.free))
        if not graph.parameters.issuperset(tensor.size.free):
            reason = f"unbounded in {names}, which is not known when the function starts: allocated when needed"
            left.append(_left(graph, tensor, reason))
            continue
        for group in groups:
            if _together(group[0], tensor, slots):
                group.append(tensor)
                break
        else:
            groups.append([tensor])
    for group in groups:
        made = _arena(graph, group)
        shared = made.units < made.naive
        # What has offset 0 in a storage of its own is a storage per slot, of which nobody else has a part.
        if shared and not slots:
            arenas.append(made)
        elif shared:
            arenas.extend(_per_slot(made))
        else:
            for tensor in group:
                names = ", ".join(sorted(str(v.name) for v in tensor.size.free))
                reason = (
                    f"unbounded in {names} and nothing to share with: allocated when needed, freed after its last use"
                )
                left.append(_left(graph, tensor, reason))
    return tuple(arenas), tuple(left)


def _left(graph: Any, tensor: Any, reason: str) -> LeftAlone:
    return LeftAlone(tensor.name, graph.function, tensor.scope, None, reason)


def _aligned(tensor: Any) -> bool:
    return bool(tensor.size.coefficient % _ALIGNMENT == 0)


def _together(one: Any, other: Any, slots: bool) -> bool:
    if (one.device, one.scope) != (other.device, other.scope) or not one.size.multiple_of(other.size):
        return False
    if one.size.coefficient == other.size.coefficient:
        return True
    return not slots and _aligned(one) and _aligned(other)


def _arena(graph: Any, group: list[Any]) -> SymbolicArena:
    first = group[0]
    rounded = not _aligned(first)
    same = all(tensor.size.coefficient == first.size.coefficient for tensor in group)
    unit = first.size.coefficient if same else _ALIGNMENT
    held = {t.name: Alloc(t.name, t.size.coefficient // unit, kind=Kind.ACTIVATION) for t in group}
    liveness = live_ranges(Trace((*held.values(), *_only(graph.body, held))))
    problem = Problem(liveness.buffers, (Pool("units"),))
    plan = planners.plan(problem)
    places = {b.name: p.offset for b, p in zip(problem.buffers, plan.placements)}
    return SymbolicArena(
        first.device,
        first.scope,
        first.size.expression,
        plan.size(),
        unit,
        rounded,
        places,
        sum(alloc.size for alloc in held.values()),
    )


def _per_slot(arena: SymbolicArena) -> Iterable[SymbolicArena]:
    for slot in sorted(set(arena.tensors.values())):
        members = {name: 0 for name, at in arena.tensors.items() if at == slot}
        yield SymbolicArena(
            arena.device, arena.scope, arena.factor, 1, arena.unit, arena.rounded, members, len(members)
        )


def _only(nodes: Iterable[Node], held: Mapping[str, Alloc]) -> tuple[Node, ...]:
    made: list[Node] = []
    for node in nodes:
        if isinstance(node, Step):
            reads, writes = (tuple(n for n in names if n in held) for names in (node.reads, node.writes))
            made.append(Step(node.operator, reads, writes))
        elif isinstance(node, Alloc):
            made.extend([held[node.buffer]] if node.buffer in held else [])
        elif isinstance(node, Branch):
            made.append(Branch(_only(node.then, held), _only(node.orelse, held)))
    return tuple(made)
