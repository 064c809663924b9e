"""From a Relax function to a planning problem: everything of a known size that is alive while it runs.

::

    tensors between kernels      the activation pools, or a pool of their device and scope     shared by time
    inputs, outputs              `caller`           somebody else's memory, counted and not placed by us
    weights                      the weight pools   alive throughout
    results of other functions   `run time`         allocated where they are made
    what callees need            `run time`         while the call lasts
    what kernels allocate        `kernel scratch`   while the call lasts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.liveness import live_ranges
from tvm_memplan.planning.model import Buffer, Kind, Pool, Problem
from tvm_memplan.planning.trace import Alloc, Branch, Node, Step, Trace

#: The pools of what is counted and not placed by us.
CALLER, RUN_TIME, SCRATCH = "caller", "run time", "kernel scratch"

#: Bytes: the run time's own alignment. At other offsets it would copy a tensor without a word.
ALIGNMENT = 64

DEFAULT_POOLS = (Pool("arena"),)
DEFAULT_WEIGHT_POOLS = (Pool("weights"),)


@dataclass(frozen=True)
class Needs:
    """What else a function needs at its calls, in bytes by the name of the callee.

    Parameters
    ----------
    scratch : mapping of str to int
        What a kernel allocates for itself.
    callees : mapping of str to int
        What another Relax function needs while it runs.
    """

    scratch: Mapping[str, int]
    callees: Mapping[str, int]


@dataclass(frozen=True)
class GraphProblem:
    """A problem, the operator of each step, and the pool that each tensor prefers."""

    problem: Problem
    steps: tuple[str, ...]
    homes: Mapping[str, str]


def graph_problem(
    graph: Any,
    pools: Sequence[Pool],
    weight_pools: Sequence[Pool],
    needs: Needs,
    in_place: Mapping[str, frozenset[tuple[int, int]]],
) -> GraphProblem:
    """Make the problem of a function; parameters as for `tvm_memplan.transform.graph_plan.plan_graph`."""
    _check_names(pools, weight_pools)
    pools = tuple(replace(pool, alignment=max(pool.alignment, ALIGNMENT)) for pool in pools)
    allocs: list[Alloc] = []
    candidates: dict[str, tuple[Pool, ...]] = {}

    def add(alloc: Alloc, where: Sequence[Pool]) -> None:
        allocs.append(alloc)
        candidates[alloc.buffer] = tuple(where)

    for alloc in graph.elsewhere:
        where = weight_pools if alloc.kind is Kind.WEIGHTS else (Pool(alloc.scope),)
        add(replace(alloc, scope="global"), where)
    for name, tensor in graph.outputs.items():
        if tensor.size.bytes is not None:
            add(Alloc(name, tensor.size.bytes, kind=Kind.OUTPUT), (Pool(CALLER),))
    fixed = {name: tensor for name, tensor in graph.tensors.items() if tensor.size.bytes is not None}
    for name, tensor in fixed.items():
        add(Alloc(name, tensor.size.bytes, ALIGNMENT, tensor.scope, Kind.ACTIVATION), _homes(tensor, pools))
    extra = _extra(graph, needs)
    for alloc in extra.values():
        add(alloc, (Pool(SCRATCH if alloc.buffer.endswith(_SCRATCH) else RUN_TIME),))

    held = frozenset(candidates)
    kept = frozenset(a.buffer for a in allocs if a.kind in (Kind.INPUT, Kind.WEIGHTS))
    body = _Body(held, extra, {a.buffer: a for a in allocs if a.buffer in fixed}).nodes(graph.body)
    liveness = live_ranges(Trace((*allocs, *body), kept, kept | (graph.returned & held)))
    writers = _writers(body)
    buffers = tuple(
        replace(b, pools=tuple(p.name for p in candidates[b.name]), operator=writers.get(b.name, ""))
        for b in liveness.buffers
    )
    used = dict.fromkeys((*pools, *weight_pools, *(pool for where in candidates.values() for pool in where)))
    problem = Problem(buffers, tuple(used), in_place=_pairs(graph, buffers, in_place))
    return GraphProblem(problem, liveness.steps, {name: candidates[name][0].name for name in fixed})


def arena_name(device: int, scope: str) -> str:
    """What the pool of a device's scope is called, where it is not the usual one."""
    return f"device {max(device, 0)} {scope}"


def is_usual(device: int, scope: str) -> bool:
    """Whether that is the global memory of the first device."""
    return device <= 0 and scope == "global"


def _homes(tensor: Any, pools: Sequence[Pool]) -> Sequence[Pool]:
    if is_usual(tensor.device, tensor.scope):
        return pools
    return (Pool(arena_name(tensor.device, tensor.scope), alignment=ALIGNMENT, scopes=(tensor.scope,)),)


def _check_names(pools: Sequence[Pool], weight_pools: Sequence[Pool]) -> None:
    names = [pool.name for pool in (*pools, *weight_pools)]
    counted = (CALLER, RUN_TIME, SCRATCH)
    for name in names:
        if names.count(name) > 1 or name in counted or name.startswith("device "):
            raise BadInput(f"pool {name!r}: names have to differ from each other, and from {', '.join(counted)}")


_SCRATCH = " scratch"


def _extra(graph: Any, needs: Needs) -> dict[int, Alloc]:
    """What is needed at a step besides its arguments, by the step's number."""
    found: dict[int, Alloc] = {}
    taken = {*graph.tensors, *graph.outputs, *(a.buffer for a in graph.elsewhere)}
    for call in graph.calls:
        scratch, callee = needs.scratch.get(call.function, 0), needs.callees.get(call.function, 0)
        if scratch or callee:
            what = f"{call.function}{_SCRATCH if scratch else ' memory'}"
            name = what if what not in taken else f"step {call.step}: {what}"
            taken.add(name)
            found[call.step] = Alloc(name, scratch or callee, kind=Kind.WORKSPACE)
    return found


class _Body:
    """The steps of a function, with only the names in `held`, and with what is needed besides.

    What has more places than one gets all of them when it is among `placed`.
    """

    def __init__(self, held: frozenset[str], extra: Mapping[int, Alloc], placed: Mapping[str, Alloc]) -> None:
        self.held = held
        self.extra = extra
        self.placed = placed
        self.step = 0

    def nodes(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Step):
                more = (self.extra[self.step].buffer,) if self.step in self.extra else ()
                reads = tuple(n for n in node.reads if n in self.held)
                made.append(Step(node.operator, reads, (*(n for n in node.writes if n in self.held), *more)))
                self.step += 1
            elif isinstance(node, Alloc):
                made.extend([self.placed[node.buffer]] if node.buffer in self.placed else [])
            elif isinstance(node, Branch):
                then = self.nodes(node.then)
                made.append(Branch(then, self.nodes(node.orelse)))
        return tuple(made)


def _writers(nodes: Iterable[Node]) -> dict[str, str]:
    """The operator that first writes each buffer."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, Step):
            for name in node.writes:
                found.setdefault(name, node.operator)
        elif isinstance(node, Branch):
            for name, operator in _writers((*node.then, *node.orelse)).items():
                found.setdefault(name, operator)
    return found


def _pairs(
    graph: Any, buffers: Sequence[Buffer], in_place: Mapping[str, frozenset[tuple[int, int]]]
) -> frozenset[tuple[int, int]]:
    """Pairs (output, input) of tensors: the kernel allows it, the input dies there, and the output begins there."""
    at = {b.name: i for i, b in enumerate(buffers) if b.name in graph.tensors and len(b.live_ranges) == 1}
    found: set[tuple[int, int]] = set()
    for call in graph.calls:
        for out, into in in_place.get(call.function, ()):
            names = (call.arguments[out], call.arguments[into])
            if any(len(one) != 1 for one in names):
                continue
            (d,), (s,) = names
            often = [sum(name in argument for argument in call.arguments) for name in (d, s)]
            if d not in at or s not in at or d == s or often != [1, 1]:
                continue
            young, old = buffers[at[d]], buffers[at[s]]
            dies = old.live_ranges[0].stop == call.step + 1 and young.live_ranges[0].start == call.step
            if dies and young.pools == old.pools:
                found.add((at[d], at[s]))
    return frozenset(found)
