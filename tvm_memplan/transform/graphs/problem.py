"""From a Relax function to a planning problem: everything of a known size that is alive while it runs.

::

    tensors between kernels      the activation pools, or a pool of their device and scope     shared by time
    inputs, outputs              `caller`           somebody else's memory, counted and not placed by us
    donated inputs               `donated NAME`     the caller's bytes, and whatever else may lie in them
    weights                      the weight pools   alive throughout
    results of other functions   `run time`         allocated where they are made
    what callees need            `run time`         while the call lasts
    what kernels allocate        `kernel scratch`   while the call lasts
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.lifetimes.in_place import in_place_pairs
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Kind, Pool, Problem
from tvm_memplan.planning.trace import Alloc, Branch, Loop, Node, Step, Trace
from tvm_memplan.transform.graphs.body import Body
from tvm_memplan.transform.graphs.ends import (
    GIVEN,
    OWN,
    Ends,
    Given,
    given_inputs,
    is_usual,
    moved_outputs,
    supplied_outputs,
)

#: The pools of what is counted and not placed by us.
CALLER, RUN_TIME, SCRATCH = "caller", "run time", "kernel scratch"

#: Bytes: the run time's own alignment. At other offsets it would copy a tensor without a word.
ALIGNMENT = 64

DEFAULT_POOLS = (Pool("arena"),)
DEFAULT_WEIGHT_POOLS = (Pool("weights"),)


@dataclass(frozen=True)
class Callees:
    """What is known of the functions that are called, by name.

    Parameters
    ----------
    scratch : mapping of str to int
        Bytes that a kernel allocates for itself.
    callees : mapping of str to int
        Bytes that another Relax function needs while it runs.
    bodies : mapping of str to KernelBody
        What kernels do to their arguments.
    """

    scratch: Mapping[str, int] = field(default_factory=dict)
    callees: Mapping[str, int] = field(default_factory=dict)
    bodies: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphProblem:
    """A problem, and what it was made of.

    Parameters
    ----------
    problem : Problem
        What is to be planned.
    steps : tuple of str
        The operator of each step.
    homes : frozenset of str
        The allocations that are placed by us, unless they are put in the pool `CALLER`.
    given : mapping of str to Given
        The donated inputs, by allocation.
    by_time : frozenset of (int, int)
        Pairs of arguments of one call that may share bytes because one is dead before the other is written, and not in
        place.
    """

    problem: Problem
    steps: tuple[str, ...]
    homes: frozenset[str]
    given: Mapping[str, Given] = field(default_factory=dict)
    by_time: frozenset[tuple[int, int]] = frozenset()

    @property
    def in_place_only(self) -> GraphProblem:
        """The same, but arguments of one call share bytes in place or not at all."""
        return replace(self, problem=replace(self.problem, separate=self.by_time)) if self.by_time else self


def graph_problem(
    graph: Any,
    pools: Sequence[Pool],
    weight_pools: Sequence[Pool],
    callees: Callees,
    inside: Container[int] = (),
    ends: Ends = OWN,
) -> GraphProblem:
    """Make the problem of a function.

    Parameters
    ----------
    graph, pools, weight_pools, callees :
        As for `tvm_memplan.transform.graphs.plan.plan_graph`.
    inside : container of int
        The calls (by `KernelCall.step`) that are looked into, where the kernel has a body: what it is done with early
        may share bytes with what it writes late, or in place. A call that is not looked into is one step.
    ends : Ends
        What becomes of its outputs and inputs.
    """
    _check_names(pools, weight_pools)
    pools = tuple(replace(pool, alignment=max(pool.alignment, ALIGNMENT)) for pool in pools)
    allocs: list[Alloc] = []
    candidates: dict[str, tuple[Pool, ...]] = {}

    def add(alloc: Alloc, where: Sequence[Pool]) -> None:
        allocs.append(alloc)
        candidates[alloc.buffer] = tuple(where)

    given = given_inputs(graph, ends, ALIGNMENT)
    moved, supplied = moved_outputs(graph, ends), supplied_outputs(graph, ends)

    def in_given(name: str) -> tuple[Pool, ...]:
        return tuple(one.pool for one in given.values() if name in one.guests)

    for alloc in graph.elsewhere:
        where = weight_pools if alloc.kind is Kind.WEIGHTS else (Pool(alloc.scope),)
        if alloc.buffer in given:
            alloc, where = replace(alloc, alignment=ALIGNMENT), (given[alloc.buffer].pool,)
        add(replace(alloc, scope="global"), where)
    fixed = {name: tensor for name, tensor in graph.tensors.items() if tensor.size.bytes is not None}
    homes = {*fixed, *moved}
    for name, tensor in graph.outputs.items():
        if name in moved:
            where = (*in_given(name), *_homes(tensor, pools))
            add(Alloc(name, tensor.size.bytes, ALIGNMENT, tensor.scope, Kind.OUTPUT), where)
        elif tensor.size.bytes is not None:
            where = () if name in supplied else in_given(name)
            homes.update({name} if where else ())
            add(Alloc(name, tensor.size.bytes, ALIGNMENT if where else 1, kind=Kind.OUTPUT), (*where, Pool(CALLER)))
    steps = _steps_of(graph.body)
    for name, tensor in fixed.items():
        # What one call alone touches is its scratch.
        kind = Kind.ACTIVATION if steps.get(name, 0) > 1 else Kind.WORKSPACE
        where = (*in_given(name), *_homes(tensor, pools))
        add(Alloc(name, tensor.size.bytes, ALIGNMENT, tensor.scope, kind), where)
    extra = _extra(graph, callees)
    for alloc in extra.values():
        add(alloc, (Pool(SCRATCH if alloc.buffer.endswith(_SCRATCH) else RUN_TIME),))

    held = frozenset(candidates)
    kept = frozenset(a.buffer for a in allocs if a.kind in (Kind.INPUT, Kind.WEIGHTS))
    bodies = {c.step: (c, callees.bodies[c.function]) for c in graph.calls if c.function in callees.bodies}
    bodies = {step: found for step, found in bodies.items() if step in inside}
    placed = {a.buffer: a for a in allocs if a.buffer in fixed}
    body = Body(held, extra, placed, bodies, held - graph.viewed).nodes(graph.body)
    trace = Trace((*allocs, *body), kept, (kept - given.keys()) | (graph.returned & held))
    liveness = live_ranges(trace)
    writers = _writers(body)
    buffers = tuple(
        replace(
            b,
            pools=tuple(p.name for p in candidates[b.name]),
            operator=writers.get(b.name, ""),
            pinned=given[b.name].place if b.name in given else None,
        )
        for b in liveness.buffers
    )
    # What is the caller's anyway comes first: it costs nothing more.
    first = (one.pool for one in given.values())
    used = dict.fromkeys((*first, *pools, *weight_pools, *(pool for where in candidates.values() for pool in where)))
    pairs = in_place_pairs(trace, liveness, frozenset(given)) if bodies else frozenset()
    sources = homes | given.keys()
    in_place = frozenset(
        (d, s)
        for d, s in pairs
        if buffers[d].name in homes
        and buffers[s].name in sources
        and not set(buffers[d].pools).isdisjoint(buffers[s].pools)
    )
    problem = Problem(buffers, tuple(used), in_place=in_place)
    by_time = _by_time(problem, (call for call, _ in bodies.values()), sources)
    return GraphProblem(problem, liveness.steps, frozenset(homes), given, by_time)


def _by_time(problem: Problem, calls: Iterable[Any], placed: Container[str]) -> frozenset[tuple[int, int]]:
    index = {buffer.name: i for i, buffer in enumerate(problem.buffers) if buffer.name in placed}
    found = set()
    for call in calls:
        here = sorted({index[name] for names in call.arguments for name in names if name in index})
        for i, j in combinations(here, 2):
            if not {(i, j), (j, i)} & problem.in_place and not problem.buffers[i].alive_with(problem.buffers[j]):
                found.add((i, j))
    return frozenset(found)


def _steps_of(nodes: Iterable[Node]) -> dict[str, int]:
    """How many steps touch each name."""
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, Branch):
            more = _steps_of((*node.then, *node.orelse))
        else:
            more = dict.fromkeys((*node.reads, *node.writes), 1) if isinstance(node, Step) else {}
        for name, count in more.items():
            found[name] = found.get(name, 0) + count
    return found


def arena_name(device: int, scope: str) -> str:
    """What the pool of a device's scope is called, where it is not the usual one."""
    return f"device {max(device, 0)} {scope}"


def _homes(tensor: Any, pools: Sequence[Pool]) -> Sequence[Pool]:
    if is_usual(tensor.device, tensor.scope):
        return pools
    return (Pool(arena_name(tensor.device, tensor.scope), alignment=ALIGNMENT, scopes=(tensor.scope,)),)


def _check_names(pools: Sequence[Pool], weight_pools: Sequence[Pool]) -> None:
    names = [pool.name for pool in (*pools, *weight_pools)]
    counted = (CALLER, RUN_TIME, SCRATCH)
    for name in names:
        if names.count(name) > 1 or name in counted or name.startswith(("device ", GIVEN)):
            raise BadInput(f"pool {name!r}: names have to differ from each other, and from {', '.join(counted)}")


_SCRATCH = " scratch"


def _extra(graph: Any, callees: Callees) -> dict[int, Alloc]:
    """What is needed at a step besides its arguments, by the step's number."""
    found: dict[int, Alloc] = {}
    taken = {*graph.tensors, *graph.outputs, *(a.buffer for a in graph.elsewhere)}
    for call in graph.calls:
        scratch, callee = callees.scratch.get(call.function, 0), callees.callees.get(call.function, 0)
        if scratch or callee:
            what = f"{call.function}{_SCRATCH if scratch else ' memory'}"
            name = what if what not in taken else f"step {call.step}: {what}"
            taken.add(name)
            found[call.step] = Alloc(name, scratch or callee, kind=Kind.WORKSPACE)
    return found


def _writers(nodes: Iterable[Node]) -> dict[str, str]:
    """The operator that first writes each buffer."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Step):
            for name in node.writes:
                found.setdefault(name, node.operator)
        elif isinstance(node, (Branch, Loop)):
            inner = node.body if isinstance(node, Loop) else (*node.then, *node.orelse)
            for name, operator in _writers(inner).items():
                found.setdefault(name, operator)
    return found
