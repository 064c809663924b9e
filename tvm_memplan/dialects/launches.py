"""What is particular about a device launch: shared memory, barriers, threads that go different ways, late writes.

A *launch* is everything under an outermost ``thread_extent``; further thread extents in it belong to it. Shared memory
that is allocated in it exists once per block of threads, and gets an arena per launch and scope. A barrier becomes a
`Barrier` of the trace only where every thread is sure to come to it: not under a condition, or in a loop, that depends
on the thread or on memory, nor in a loop that somebody may leave early. ``tvm_storage_sync("shared")`` orders both
kinds of shared memory, ``"shared.dyn"`` only dynamic one, and any other scope neither.

The *top statements* of a launch are those in no loop and no condition. A barrier may be added in front of each, which
is uniform and costs one wait a launch, unless threads return early or the launch has extents that disagree.

A buffer that an asynchronous copy writes is alive until the top statement that waits for all copies, and to the end of
the launch where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tvm_memplan.planning.lifetimes.barriers import without_barriers
from tvm_memplan.planning.trace import Barrier, Node, Step

#: The scopes of memory that the threads of a block have in common.
SHARED = ("shared", "shared.dyn")
#: Why what is not shared memory stays as it is inside a launch.
LAUNCH = "it is allocated inside a device launch"

_ORDERS = {"shared": SHARED, "shared.dyn": ("shared.dyn",)}
_COPIES = frozenset({"ptx_cp_async", "cp_async_raw", "cp_async"})
_COMMITS = frozenset({"ptx_commit_group", "cp_async_commit_group"})
_WAITS = frozenset({"ptx_wait_group", "cp_async_wait_group"})
_RETURNS = frozenset({"ret", "thread_return"})
# Calls whose value follows from their arguments alone.
_PURE = frozenset(
    {"likely", "if_then_else", "shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"}
)
_DECLARATIONS = frozenset({"AllocBuffer", "DeclBuffer", "Bind"})
#: Attributes that make of their body something else than statements that every thread comes to once.
OPAQUE = frozenset({"device_scope", "virtual_thread", "pragma_parallel_launch_point"})


def is_top(stmt: Any) -> bool:
    """Whether `stmt`, found where a launch has its top statements, is one: neither a declaration nor only a frame."""
    kind = type(stmt).__name__
    return kind not in _DECLARATIONS and not (kind == "AttrStmt" and str(stmt.attr_key) not in OPAQUE)


def short(name: str) -> str:
    """The name of a call without its dialect's prefix."""
    return name.rpartition(".")[2]


@dataclass
class Launch:
    """What is known about one launch while it is read."""

    region: int
    depth: int  # how many reasons to leave things alone stood around it, its own included
    call_of: Callable[[Any], tuple[str, tuple[Any, ...]]]
    parts: Callable[[Any], Iterable[Any]]
    at_top: bool = True
    tops: int = 0
    orderly: bool = True
    varying: list[Any] = field(default_factory=list)
    extents: dict[str, str] = field(default_factory=dict)
    copied: dict[str, None] = field(default_factory=dict)
    uncommitted: dict[str, None] = field(default_factory=dict)  # of the copied

    def extent(self, thread: Any, value: Any) -> None:
        """One more thread extent."""
        tag = str(thread.thread_tag)
        if self.extents.setdefault(tag, str(value)) != str(value):
            self.orderly = False
        if not tag.startswith("blockIdx"):
            self.varying.append(thread.var)

    def bound(self, var: Any, *values: Any) -> None:
        """`var` gets its value from `values`."""
        if any(self.varies(value) for value in values):
            self.varying.append(var)

    def varies(self, expr: Any) -> bool:
        """Whether threads may disagree about the value of `expr`."""
        kind = type(expr).__name__
        if kind in ("BufferLoad", "TensorLoad"):
            return True
        if kind in ("Var", "SizeVar"):
            return any(expr.same_as(var) for var in self.varying)
        if kind == "Call":
            name = short(self.call_of(expr)[0])
            if name == "tvm_thread_invariant":
                return False
            if name not in _PURE:
                return True
        return any(self.varies(part) for part in self.parts(expr))

    def statement(self, stmt: Any, read: Callable[[Any], tuple[Node, ...]]) -> tuple[Node, ...]:
        """The nodes of `stmt`, which `read` reads, with what its being in a launch adds."""
        top = self.at_top and is_top(stmt)
        if not top:
            return self._after(stmt, read(stmt), False)
        number, self.tops, self.at_top = self.tops, self.tops + 1, False
        nodes = self._after(stmt, read(stmt), True)
        self.at_top = True
        return (Barrier(SHARED, possible=number), *nodes)

    def _after(self, stmt: Any, nodes: tuple[Node, ...], top: bool) -> tuple[Node, ...]:
        kind = type(stmt).__name__
        if kind == "Return":
            self.orderly = False
        if kind != "Evaluate" or type(stmt.value).__name__ != "Call":
            return nodes
        name, args = self.call_of(stmt.value)
        name = short(name)
        if name in _RETURNS:
            self.orderly = False
        elif name == "tvm_storage_sync":
            scopes = _ORDERS.get(str(getattr(args[0], "value", "")), ())
            return (*nodes, Barrier(scopes)) if scopes else nodes
        elif name in _COPIES:
            written = dict.fromkeys(w for node in nodes if isinstance(node, Step) for w in node.writes)
            self.copied.update(written)
            self.uncommitted.update(written)
        elif name in _COMMITS and top:
            self.uncommitted = {}
        elif name in _WAITS and top and getattr(args[0], "value", None) == 0:
            # A wait is for what was committed.
            waited = tuple(name for name in self.copied if name not in self.uncommitted)
            self.copied = dict(self.uncommitted)
            return (*nodes, Step("wait for copies", reads=waited))
        return nodes

    def trace_body(self, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """`body` with only those possible barriers that are indeed possible."""
        if self.orderly:
            return body
        return tuple(node for node in body if not (isinstance(node, Barrier) and node.possible is not None))

    def settled(self, nodes: tuple[Node, ...], *deciding: Any, certain: bool = True) -> tuple[Node, ...]:
        """`nodes`, which `deciding` decides about: without barriers where threads may decide differently."""
        if certain and not any(self.varies(expr) for expr in deciding):
            return nodes
        return without_barriers(nodes)


def leave_together(storages: Iterable[Any]) -> None:
    """Leave all dynamic shared memory of a launch alone when some of it is.

    A kernel has one dynamic allocation, so that TVM merges what is left, and would put it over an arena wherever it
    takes the arena for unused. For the same reason sizes must be all constant or all in one symbolic unit. Static
    shared memory has constant sizes only.
    """
    storages = list(storages)
    for storage in storages:
        if storage.scope == "shared" and storage.unit is not None:
            storage.reason = storage.reason or f"its size is a multiple of {storage.unit.text}: declare an upper bound"
    dynamic = [storage for storage in storages if storage.scope == "shared.dyn"]
    if len({id(storage.unit) for storage in dynamic}) > 1:
        for storage in dynamic:
            storage.reason = storage.reason or (
                "a kernel has one dynamic allocation, and these have no common unit: declare upper bounds"
            )
    for first in [storage for storage in dynamic if storage.reason][:1]:
        why = f"{first.name!r} of the same launch is left alone, and a kernel has one dynamic allocation for both"
        for storage in dynamic:
            storage.reason = storage.reason or why
