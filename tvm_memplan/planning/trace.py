"""What a program does to memory, as a small tree: the only thing a dialect has to produce.

A trace is read in order. `Alloc` says in which loop or branch a buffer's storage comes to exist, `Step` is one
statement that reads and writes buffers, `Loop` repeats its body any number of times (zero included), `Branch`
runs one of two bodies, and `Alias` gives an allocation another name. `live_ranges` turns it into live ranges.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Union

from tvm_memplan.planning.model import Kind


@dataclass(frozen=True)
class Alloc:
    """Storage for `buffer` (a name) comes to exist here, in the innermost enclosing loop or branch.

    The same name may be allocated at several places (an operator that is called twice): each place starts a live
    range of its own, and all of them share one offset, so none may be alive together. `size` and `alignment` are in
    bytes. `fresh` says that each execution of the allocation brings storage with no promise about its bytes, so that
    no read can rely on what an earlier iteration left; it only makes live ranges shorter, leaving it False is
    always right.
    """

    buffer: str
    size: int
    alignment: int = 1
    scope: str = "global"
    kind: Kind = Kind.WORKSPACE
    operator: str = ""
    fresh: bool = False


@dataclass(frozen=True)
class Alias:
    """From here on `name` is another name for the storage of `of` (an allocation or an alias)."""

    name: str
    of: str


@dataclass(frozen=True)
class Elements:
    """Which elements of a buffer one execution of a step touches: `width` of them, one after the other.

    Parameters
    ----------
    buffer : str
        The allocation, counted from its first byte.
    write : bool
        Whether they are written or read.
    dtype : str
        What one element is; positions count in these, and are comparable only between equal ones.
    constant : int
        Position of the first one when all loops are at 0.
    terms : tuple of (str, int)
        By how much each enclosing loop, by name, moves it per iteration; sorted, no zeros.
    width : int
        How many.
    """

    buffer: str
    write: bool
    dtype: str
    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()
    width: int = 1


@dataclass(frozen=True)
class Step:
    """One statement: everything it reads and writes is alive together.

    `reads` and `writes` are names of allocations or aliases. `operator` is what people call the step. Reads come
    before writes. A write is taken to define what is read later from the buffer; a statement that relies on bytes
    which an earlier iteration left there reads the buffer as well as writing it. `elements` says more about some of
    the reads and writes, where a dialect knows; what it does not mention may touch the whole buffer.
    """

    operator: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    elements: tuple[Elements, ...] = ()


@dataclass(frozen=True)
class Loop:
    """The body runs zero or more times. A `while` condition is a `Step` at the head of the body.

    `at_least_once` says that the body is known to run (a constant extent above zero), so that what it writes is
    written for sure; it only makes live ranges shorter, leaving it False is always right. `name` is what `Elements`
    inside call it, and `extent` how often it runs at most, None where that is not known. `parallel` says that its
    rounds may run in any order and at the same time.
    """

    body: tuple[Node, ...]
    at_least_once: bool = False
    name: str = ""
    extent: int | None = None
    parallel: bool = False


@dataclass(frozen=True)
class Branch:
    """Exactly one of the two bodies runs. The condition is a `Step` before the branch."""

    then: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Barrier:
    """All threads that run the program together wait here for each other.

    `tvm_memplan.planning.lifetimes.barriers` says what may share for it. Every thread gets here, or none does. `scopes`
    are the kinds of memory that it orders; of any other it says nothing. `possible` is None for a barrier that is
    there, else the number of a place where one could be put, at the cost of one wait.
    """

    scopes: tuple[str, ...]
    possible: int | None = None


Node = Union[Alloc, Alias, Step, Loop, Branch, Barrier]


@dataclass(frozen=True)
class Trace:
    """A whole program.

    Parameters
    ----------
    body : tuple of Node
        What happens, in order.
    live_in : frozenset of str
        Allocations or aliases whose value exists before the first step.
    live_out : frozenset of str
        Allocations or aliases whose value is needed after the last step.
    """

    body: tuple[Node, ...]
    live_in: frozenset[str] = frozenset()
    live_out: frozenset[str] = frozenset()


def restricted(nodes: Iterable[Node], names: Container[str]) -> tuple[Node, ...]:
    """The same nodes without the allocations, reads and writes of anything that is not among `names`."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, Alloc):
            if node.buffer in names:
                kept.append(node)
        elif isinstance(node, Alias):
            if node.of in names:
                kept.append(node)
        elif isinstance(node, Step):
            reads = tuple(name for name in node.reads if name in names)
            writes = tuple(name for name in node.writes if name in names)
            if reads or writes:
                elements = tuple(touched for touched in node.elements if touched.buffer in names)
                kept.append(Step(node.operator, reads, writes, elements))
        elif isinstance(node, Loop):
            kept.append(replace(node, body=restricted(node.body, names)))
        elif isinstance(node, Barrier):
            kept.append(node)
        else:
            kept.append(Branch(restricted(node.then, names), restricted(node.orelse, names)))
    return tuple(kept)
