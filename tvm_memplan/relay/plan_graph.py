"""`plan_graph`: other storage ids for TVM's graph executor, for textures between operators and for plain memory.

::

    lib = relay.build(mod, target, params=params)
    planned = plan_graph(lib.get_graph_json())
    module = graph_executor.create(planned.graph_json, lib.get_lib(), device)

A storage id is a *slot*: one allocation as large as the largest tensor that has it, and a texture as wide as the widest
and as high as the highest. Who may share follows from the order of the nodes:

1. A tensor is alive from the node that writes it through the last node that reads it, both included, so no operator
   ever writes over what it reads.
2. Outputs of the graph are alive to the end. Inputs and parameters keep a storage of their own.
3. A node that does nothing (``__nop``) gives its input another name: both are one.
4. Only tensors of one device and one scope share, and textures only with the same element type and channels.

What comes out is judged by running the graph on names: every node has to find in each storage what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.dialects.graph_json import Graph, read_graph, with_storage_ids
from tvm_memplan.dialects.textures import CHANNELS, is_texture, texture_extents
from tvm_memplan.errors import BadPlan, UnsupportedIR
from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.planning.slots.textures import Texture, TextureSlot, check_texture_slots, texture_slots
from tvm_memplan.report.memory import Allocation, MemoryReport, PoolFigures
from tvm_memplan.report.textures import texture_figures, texture_rows

_PLAIN = "byte"


@dataclass(frozen=True)
class PlannedGraph:
    """What `plan_graph` found.

    Parameters
    ----------
    graph_json : str
        The same graph with our storage ids.
    report : MemoryReport
        Naive, planned and bound of each scope, and every tensor with its slot; inputs and parameters are not in it.
    before : tuple of PoolFigures
        The figures of the storage ids that came in, `planned` being what they take.
    """

    graph_json: str
    report: MemoryReport
    before: tuple[PoolFigures, ...]


@dataclass(frozen=True)
class _Group:
    """Tensors that may share: of one device and scope."""

    pool: str
    scope: str
    device: int
    blocks: tuple[Texture, ...]
    tensors: tuple[tuple[int, ...], ...]  # of each block: itself and its aliases

    @property
    def element_bytes(self) -> dict[str, int]:
        # A device has four channels per texel, even where the program wants one; the executor keeps these two apart.
        return {
            b.element: 1 if b.element == _PLAIN else CHANNELS * (element_bytes(b.element.rpartition("x")[0]) or 1)
            for b in self.blocks
        }


def plan_graph(graph_json: str) -> PlannedGraph:
    """Share storage among the tensors of a graph.

    Parameters
    ----------
    graph_json : str
        From ``library.get_graph_json()``; not changed.

    Returns
    -------
    PlannedGraph
        With storage ids that were judged. They mean nothing to code that was generated for the old ones, such as
        parameters that a library looks up by storage id (no code generator of TVM 0.19 does).

    Raises
    ------
    BadInput
        When it is not a graph executor's JSON.
    UnsupportedIR
        When a texture has a shape or scope that TVM has no rule for; the message names the node.
    """
    graph = read_graph(graph_json)
    fixed, groups = _groups(graph)
    ids = [-1] * len(graph.tensors)
    pools: list[PoolFigures] = []
    before: list[PoolFigures] = []
    rows: list[Allocation] = []
    shared: list[tuple[int, ...]] = [tuple(tensors) for tensors in fixed]
    steps = tuple(node.name for node in graph.nodes)
    for group in groups:
        slots = texture_slots(group.blocks)
        check_texture_slots(group.blocks, slots)
        shared += [tuple(t for i in slot.members for t in group.tensors[i]) for slot in slots]
        bytes_of = group.element_bytes
        pools.append(texture_figures(group.pool, group.blocks, slots, bytes_of, steps))
        rows += texture_rows(group.pool, group.blocks, slots, bytes_of, Kind.ACTIVATION)
        before.append(texture_figures(group.pool, group.blocks, _as_it_was(graph, group), bytes_of, steps))
    # Storage ids are counted in the order of first use, so that a plan does not depend on how it was found.
    for number, tensors in enumerate(sorted(shared, key=min)):
        for tensor in tensors:
            ids[tensor] = number
    planned = with_storage_ids(graph_json, ids)
    check_graph(read_graph(planned))
    kept = sum(max(graph.tensors[t].size for t in tensors) for tensors in fixed)
    notes = (f"inputs and parameters keep storage of their own, {kept:,} bytes that are not in these figures",)
    report = MemoryReport("graph", "", "slots", tuple(pools), tuple(rows), steps, (), notes if fixed else ())
    return PlannedGraph(planned, report, tuple(before))


def check_graph(graph: Graph) -> None:
    """Judge storage ids by running the graph on names.

    Raises
    ------
    BadPlan
        When a node would find something else in a storage than what it reads, writes over what it reads, or when a
        storage mixes devices, scopes or element types of textures; when an input, a parameter or an output is lost.
    """
    kinds: dict[int, tuple[object, ...]] = {}
    for tensor in graph.tensors:
        kind: tuple[object, ...] = (tensor.device, tensor.scope)
        if is_texture(tensor.scope):
            kind += (tensor.dtype, tensor.shape[-1:])
        if kinds.setdefault(tensor.storage_id, kind) != kind:
            raise BadPlan(f"storage {tensor.storage_id} of {tensor.name!r} holds {kinds[tensor.storage_id]} and {kind}")
    storage = [tensor.storage_id for tensor in graph.tensors]
    value = list(range(len(storage)))  # an alias has the value of what it stands for
    arguments = [e for node in graph.nodes if not node.function for e in node.writes]
    holds: dict[int, int] = {storage[e]: e for e in arguments}

    def find(e: int, who: str) -> None:
        if holds.get(storage[e]) != value[e]:
            raise BadPlan(f"{who} does not find {graph.tensors[e].name!r} in storage {storage[e]}")

    for node in graph.nodes:
        for e in node.reads:
            find(e, node.name)
        if node.is_alias:
            value[node.writes[0]] = value[node.reads[0]]
            find(node.writes[0], node.name)
        elif node.function:
            taken = {storage[e] for e in node.reads}
            for e in node.writes:
                if storage[e] in taken:
                    raise BadPlan(f"{node.name!r} writes into storage {storage[e]}, which it reads or writes already")
                taken.add(storage[e])
                holds[storage[e]] = e
    for e in (*arguments, *graph.heads):
        find(e, "the caller")


def _groups(graph: Graph) -> tuple[list[list[int]], list[_Group]]:
    """The tensors of each input and parameter, and the groups of all others, aliases with what they stand for."""
    root = list(range(len(graph.tensors)))
    first, last = [0] * len(root), [0] * len(root)
    kept: set[int] = set()
    for step, node in enumerate(graph.nodes):
        for e in node.writes:
            root[e] = root[node.reads[0]] if node.is_alias else e
            if not node.is_alias:
                first[e] = step
            if not node.function:
                kept.add(e)
        for e in (*node.reads, *node.writes):
            last[root[e]] = step
    for e in graph.heads:
        last[root[e]] = len(graph.nodes)
    members: dict[int, list[int]] = {}
    for e, of in enumerate(root):
        members.setdefault(of, []).append(e)
    groups: dict[tuple[str, int], list[tuple[Texture, tuple[int, ...]]]] = {}
    for of, tensors in members.items():
        if of not in kept:
            block = _block(graph, tensors, LiveRange(first[of], last[of] + 1))
            tensor = graph.tensors[of]
            groups.setdefault((tensor.scope, tensor.device), []).append((block, tuple(tensors)))
    several = len({device for _, device in groups}) > 1
    made = []
    for (scope, device), rows in groups.items():
        pool = f"{scope or 'memory'} of device {device}" if several else scope or "memory"
        made.append(_Group(pool, scope, device, tuple(block for block, _ in rows), tuple(owned for _, owned in rows)))
    return [members[of] for of in sorted(kept)], made


def _block(graph: Graph, tensors: Sequence[int], live: LiveRange) -> Texture:
    first = graph.tensors[tensors[0]]
    for e in tensors:
        if (graph.tensors[e].scope, graph.tensors[e].device) != (first.scope, first.device):
            raise UnsupportedIR(f"node {graph.tensors[e].name!r} does nothing, but its input is in another scope")
    if not is_texture(first.scope):
        return Texture(first.name, (max(1, *(graph.tensors[e].size for e in tensors)),), _PLAIN, (live,))
    flat = []
    for e in tensors:
        tensor = graph.tensors[e]
        extents = texture_extents(tensor.shape, tensor.scope)
        if extents is None:
            raise UnsupportedIR(f"node {tensor.name!r}: no texture of scope {tensor.scope!r} holds {tensor.shape}")
        flat.append(extents)
    if len(set(flat)) > 1:
        raise UnsupportedIR(f"node {first.name!r} is a texture that is read in another shape, which moves its texels")
    width, height, channels = flat[0]
    if channels not in (1, CHANNELS):
        raise UnsupportedIR(f"node {first.name!r}: a texture has 1 or {CHANNELS} channels, not {channels}")
    return Texture(first.name, (width, height), f"{first.dtype}x{channels}", (live,))


def _as_it_was(graph: Graph, group: _Group) -> list[TextureSlot]:
    """The slots that the storage ids of the graph make, judged or not."""
    by_id: dict[tuple[int, str], list[int]] = {}
    for i, tensors in enumerate(group.tensors):
        by_id.setdefault((graph.tensors[tensors[0]].storage_id, group.blocks[i].element), []).append(i)
    return [
        TextureSlot(tuple(map(max, zip(*(group.blocks[i].extents for i in members)))), element, tuple(members))
        for (_, element), members in by_id.items()
    ]
