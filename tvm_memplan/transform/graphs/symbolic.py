"""Arenas for tensors whose sizes are not known: everything in them is a multiple of one unknown factor.

::

    f32[n, 64], f32[n, 256]    256 * n and 1024 * n bytes: planned like 256 and 1024 bytes, and multiplied by n
    f32[n, 3]                  12 * n bytes: shares with what has the very same size, in slots of 12 * n bytes
                               rounded up to 64, since offsets have to be multiples of 64 whatever n is
    f32[n], f32[n, m]          the first is a guest where the second is not needed (see `guests`)

Inside an arena an output takes the bytes of a dying input, where that is proved and saves something: sizes have the
factor in common, so that one byte is in the same place of both whatever it is.

A tensor gains from an arena only by sharing. Where none of those with a common factor share, they stay at the run
time's, which holds each for no longer than it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.planning import planners
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.lifetimes.in_place import in_place_pairs
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Placement, Plan, Pool, Problem
from tvm_memplan.planning.trace import Alloc, Trace
from tvm_memplan.report.memory import LeftAlone
from tvm_memplan.transform.graphs.body import Body
from tvm_memplan.transform.graphs.guests import Draft, moved_in
from tvm_memplan.transform.graphs.problem import ALIGNMENT, Callees

_POOL = "units"
_WHEN_NEEDED = "allocated when needed, freed after its last use"


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
    sizes : mapping of str to int
        For each tensor, the units that it takes.
    """

    device: int
    scope: str
    factor: Any
    units: int
    unit: int
    rounded: bool
    tensors: Mapping[str, int]
    sizes: Mapping[str, int]

    @property
    def naive(self) -> int:
        """The units that the tensors would take side by side."""
        return sum(self.sizes.values())

    @property
    def note(self) -> str:
        """What it is, in a sentence."""
        each = f"{self.unit} B * ({self.factor})" if self.unit != 1 else f"1 B * ({self.factor})"
        each = f"({each}, rounded up to 64 B)" if self.rounded else each
        return (
            f"unbounded: {len(self.tensors)} tensors share {self.units} * {each} instead of {self.naive} times that, "
            f"first {next(iter(self.tensors))!r}; in no figure here"
        )


def symbolic_arenas(
    graph: Any, slots: bool, callees: Callees
) -> tuple[tuple[SymbolicArena, ...], tuple[LeftAlone, ...]]:
    """Plan the tensors of unknown sizes; returns their arenas, and what stays at the run time's.

    Parameters
    ----------
    graph : Graph
        A function as `tvm_memplan.dialects.relax.capture` reads it.
    slots : bool
        Whether every tensor has to start at offset 0 of a storage: then only tensors of the very same size share, and
        guests.
    callees : Callees
        What is known of the kernels.
    """
    left: list[LeftAlone] = []
    groups: list[list[Any]] = []
    for tensor in graph.tensors.values():
        if tensor.size.bytes is not None:
            continue
        if not graph.parameters.issuperset(tensor.size.free):
            reason = (
                f"unbounded in {_names(tensor)}, which is not known when the function starts: allocated when needed"
            )
            left.append(_left(graph, tensor, reason))
            continue
        for group in groups:
            if _together(group[0], tensor, slots):
                group.append(tensor)
                break
        else:
            groups.append([tensor])
    drafts = [draft for group in groups for draft in _drafts(graph, group, slots, callees)]
    alive = {
        buffer.name: buffer.live_ranges
        for buffer in _problem(graph, {name: 1 for draft in drafts for name in draft.sizes}, NO_BODIES).buffers
    }
    arenas: list[SymbolicArena] = []

    def again(draft: Draft, names: list[str]) -> Draft:
        return _planned(graph, draft, {name: draft.sizes[name] for name in names}, callees)

    for draft in moved_in(drafts, graph.tensors, alive, again):
        if draft.shares:
            arenas.append(_judged(graph, draft))
            continue
        for name in draft.sizes:
            tensor = graph.tensors[name]
            reason = f"unbounded in {_names(tensor)} and nothing to share with: {_WHEN_NEEDED}"
            left.append(_left(graph, tensor, reason))
    return tuple(arenas), tuple(left)


def _names(tensor: Any) -> str:
    return ", ".join(sorted(str(v.name) for v in tensor.size.free))


def _left(graph: Any, tensor: Any, reason: str) -> LeftAlone:
    return LeftAlone(tensor.name, graph.function, tensor.scope, None, reason)


def _aligned(tensor: Any) -> bool:
    return bool(tensor.size.coefficient % ALIGNMENT == 0)


def _together(one: Any, other: Any, slots: bool) -> bool:
    if (one.device, one.scope) != (other.device, other.scope) or not one.size.multiple_of(other.size):
        return False
    if one.size.coefficient == other.size.coefficient:
        return True
    return not slots and _aligned(one) and _aligned(other)


#: No kernel is looked into.
NO_BODIES: Mapping[int, Any] = {}


def _drafts(graph: Any, group: list[Any], slots: bool, callees: Callees) -> Iterable[Draft]:
    first = group[0]
    same = all(tensor.size.coefficient == first.size.coefficient for tensor in group)
    unit = first.size.coefficient if same else ALIGNMENT
    sizes = {tensor.name: tensor.size.coefficient // unit for tensor in group}
    rounded = not _aligned(first)
    empty = Draft(first.device, first.scope, first.size, 0, unit, rounded, {}, {}, frozenset(), NO_BODIES)
    whole = _planned(graph, empty, sizes, callees)
    if not slots:
        return (whole,)
    # What has offset 0 in a storage of its own is a storage per slot, of which nobody else has a part.
    return (
        replace(
            whole,
            units=1,
            places={name: 0 for name, at in whole.places.items() if at == slot},
            sizes={name: 1 for name, at in whole.places.items() if at == slot},
        )
        for slot in sorted(set(whole.places.values()))
    )


def _planned(graph: Any, draft: Draft, sizes: Mapping[str, int], callees: Callees) -> Draft:
    """The arena for tensors of these sizes in units; kernels are looked into only where that makes it smaller."""
    bodies: Mapping[int, Any] = NO_BODIES
    plan = planners.plan(_problem(graph, sizes, bodies))
    inside = {c.step: (c, callees.bodies[c.function]) for c in graph.calls if c.function in callees.bodies}
    if inside:
        small = planners.plan(_problem(graph, sizes, inside))
        if small.size() < plan.size():
            plan, bodies = small, inside
    places = {buffer.name: place.offset for buffer, place in zip(plan.problem.buffers, plan.placements)}
    return replace(draft, units=plan.size(), places=places, sizes=dict(sizes), bodies=bodies)


def _problem(graph: Any, sizes: Mapping[str, int], bodies: Mapping[int, Any]) -> Problem:
    """The problem of some tensors, in units; in place only where bodies of kernels are looked into."""
    held = {name: Alloc(name, size, kind=Kind.ACTIVATION) for name, size in sizes.items()}
    names = frozenset(held)
    body = Body(names, {}, held, bodies, names - graph.viewed).nodes(graph.body)
    trace = Trace((*held.values(), *body))
    liveness = live_ranges(trace)
    pairs = in_place_pairs(trace, liveness) if bodies else frozenset()
    return Problem(liveness.buffers, (Pool(_POOL),), in_place=pairs)


def _judged(graph: Any, draft: Draft) -> SymbolicArena:
    """The arena of a draft, if the judge lets it pass."""
    problem = _problem(graph, draft.sizes, draft.bodies)
    check_plan(Plan(problem, tuple(Placement(_POOL, draft.places[buffer.name]) for buffer in problem.buffers)))
    return SymbolicArena(
        draft.device,
        draft.scope,
        draft.size.raised(draft.raised),
        draft.units,
        draft.unit,
        draft.rounded,
        draft.places,
        draft.sizes,
    )
