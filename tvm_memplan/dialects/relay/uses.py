"""Which buffers an expression touches, and how.

A *read* is a `BufferLoad`. An *address* is a pointer variable that stands by itself, handed to a call or to
pointer arithmetic: whoever gets it may read and write. Some calls *keep* the address beyond the statement; the
buffer then has to live on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Calls that put a pointer into memory that outlives the statement.
_KEEPERS = frozenset({"tir.tvm_struct_set"})


@dataclass(frozen=True)
class Uses:
    """What one statement's expressions do.

    Parameters
    ----------
    reads, addresses : tuple of tvm.tir.Var
        Buffer variables that are loaded from, and pointer variables that are handed on.
    loads : tuple of tvm.tir.BufferLoad
        The loads that read.
    views : tuple of tvm.tir.Buffer
        The buffers that loads and addresses go through.
    keeps_addresses : bool
        Whether an address may still be used after the statement.
    """

    reads: tuple[Any, ...]
    addresses: tuple[Any, ...]
    loads: tuple[Any, ...]
    views: tuple[Any, ...]
    keeps_addresses: bool


def uses_of(*expressions: Any) -> Uses:
    """Collect the uses in TIR expressions that belong to one statement."""
    import tvm
    from tvm import tir

    nodes: list[Any] = []
    for expression in expressions:
        tir.stmt_functor.post_order_visit(tvm.tir.Evaluate(expression), nodes.append)
    loads = [node for node in nodes if isinstance(node, tir.BufferLoad)]
    calls = [node for node in nodes if isinstance(node, tir.Call)]
    # A load inside address_of names a place and does not read it.
    places = [c.args[0] for c in calls if _op(c) == "tir.address_of" and isinstance(c.args[0], tir.BufferLoad)]
    reading = tuple(load for load in loads if not any(load.same_as(place) for place in places))
    return Uses(
        reads=tuple(load.buffer.data for load in reading),
        loads=reading,
        addresses=(
            *(place.buffer.data for place in places),
            *(node for node in nodes if isinstance(node, tir.Var) and node.dtype == "handle"),
        ),
        views=tuple(load.buffer for load in loads),
        keeps_addresses=any(_op(call) in _KEEPERS for call in calls),
    )


def _op(call: Any) -> str:
    """The name of what is called, empty for a call of a function value."""
    return str(getattr(call.op, "name", ""))
