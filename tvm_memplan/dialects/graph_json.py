"""The graph executor's JSON: what runs in which order, and in which storage every tensor lies.

A *tensor* is one output of one node, what TVM calls a node entry; nodes run in the order in which they are listed. The
executor allocates one block per storage id, as large as the largest tensor that has it, and a texture as wide and as
high as the widest and the highest. Nodes of kind ``null`` are inputs and parameters. A node that calls ``__nop`` does
nothing: its output is its input in another shape, and has to lie in the same storage.

Needs no TVM: the format is that of TVM 0.19's `relay.build`, and of every version since graphs have scopes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm_memplan.errors import BadInput

_DTYPE = re.compile(r"[a-z]+(?P<bits>\d*)(?:x(?P<lanes>\d+))?")
_BITS = {"bool": 1, "handle": 64}


@dataclass(frozen=True)
class GraphTensor:
    """One tensor: its node's name, shape, element type, scope (empty for plain memory), device and storage id."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scope: str
    device: int
    storage_id: int

    @property
    def size(self) -> int:
        """Bytes; the executor gives an element whole bytes, whatever its bits."""
        match = _DTYPE.fullmatch(self.dtype)
        if match is None or not (match["bits"] or self.dtype in _BITS):
            raise BadInput(f"graph: node {self.name!r} has the unknown type {self.dtype!r}")
        bits = int(match["bits"]) if match["bits"] else _BITS[self.dtype]
        return prod(self.shape) * ((bits * int(match["lanes"] or 1) + 7) // 8)


@dataclass(frozen=True)
class GraphNode:
    """One node: tensors (indices) that it reads and writes, and the function it calls, empty for an input."""

    name: str
    function: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    @property
    def is_alias(self) -> bool:
        """Whether its output is its input."""
        return self.function == "__nop"


@dataclass(frozen=True)
class Graph:
    """All of it; `heads` are the tensors that the caller may read at the end."""

    nodes: tuple[GraphNode, ...]
    tensors: tuple[GraphTensor, ...]
    heads: tuple[int, ...]


def read_graph(text: str) -> Graph:
    """Read what ``library.get_graph_json()`` returns.

    Raises
    ------
    BadInput
        When it is not such a graph; the message names the field or node.
    """
    try:
        data = json.loads(text)
        rows = [int(row) for row in data["node_row_ptr"]]
        attributes = {key: values for key, (_, values) in data["attrs"].items()}
        count = rows[-1]
        ids, shapes, dtypes = (attributes[key] for key in ("storage_id", "shape", "dltype"))
        scopes = attributes.get("storage_scope") or [""] * count
        devices = attributes.get("device_index") or [0] * count
        for key, values in (("storage_id", ids), ("shape", shapes), ("dltype", dtypes), ("storage_scope", scopes)):
            if len(values) != count:
                raise BadInput(f"graph: {key} has {len(values)} values for {count} tensors")
        nodes = []
        tensors: list[GraphTensor] = []
        for n, node in enumerate(data["nodes"]):
            writes = tuple(range(rows[n], rows[n + 1]))
            reads = tuple(_entry(rows, n, reference) for reference in node["inputs"])
            function = "" if node["op"] == "null" else str(node["attrs"]["func_name"])
            nodes.append(GraphNode(str(node["name"]), function, reads, writes))
            if nodes[-1].is_alias and (len(reads), len(writes)) != (1, 1):
                raise BadInput(f"graph: node {node['name']!r} does nothing, but not to one tensor")
            for e in writes:
                shape = tuple(int(extent) for extent in shapes[e])
                name = str(node["name"]) + (f"[{e - writes[0]}]" if len(writes) > 1 else "")
                tensors.append(GraphTensor(name, shape, str(dtypes[e]), str(scopes[e]), int(devices[e]), int(ids[e])))
        heads = tuple(_entry(rows, len(nodes), reference) for reference in data["heads"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as wrong:
        raise BadInput(f"graph: not a graph executor's JSON ({type(wrong).__name__}: {wrong})") from None
    return Graph(tuple(nodes), tuple(tensors), heads)


def _entry(rows: Sequence[int], before: int, reference: Sequence[Any]) -> int:
    """The tensor that ``[node, output, ...]`` means; the node has to stand before the one that reads it."""
    node, output = int(reference[0]), int(reference[1])
    if not 0 <= node < before or not 0 <= output < rows[node + 1] - rows[node]:
        raise BadInput(f"graph: node {before} reads output {output} of node {node}, which is not there before it")
    return rows[node] + output


def with_storage_ids(text: str, ids: Sequence[int]) -> str:
    """The same graph with these storage ids, one per tensor."""
    data = json.loads(text)
    data["attrs"]["storage_id"] = [data["attrs"]["storage_id"][0], list(ids)]
    return json.dumps(data)
