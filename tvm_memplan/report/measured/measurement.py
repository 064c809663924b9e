"""What a run was seen to use, as frozen values that know nothing of how it was seen. All sizes are in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

#: ``[start, stop)``, ascending and without overlaps.
Spans = tuple[tuple[int, int], ...]


def both(first: Spans, second: Spans) -> Spans:
    """Return the spans that lie in both."""
    made, i, k = [], 0, 0
    while i < len(first) and k < len(second):
        start, stop = max(first[i][0], second[k][0]), min(first[i][1], second[k][1])
        if start < stop:
            made.append((start, stop))
        if first[i][1] < second[k][1]:
            i += 1
        else:
            k += 1
    return tuple(made)


@dataclass(frozen=True)
class Arena:
    """The memory that served one pool, filled with a pattern before each run.

    Parameters
    ----------
    pool : str
        The pool of the plan.
    size : int
        What the program had of it.
    high : int
        The byte after the last one that was written; beyond `size` when the guard behind it was.
    below : int
        How many bytes of the guard before its start were written.
    guard : int
        How many bytes were watched behind it.
    untouched : tuple of (int, int)
        The spans ``[start, stop)`` that no run wrote to, in ascending order.
    """

    pool: str
    size: int
    high: int
    below: int = 0
    guard: int = 0
    untouched: Spans = ()

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Arena:
        """Return the arena whose fields these are, with lists for tuples, as JSON gives them back."""
        return cls(**{**fields, "untouched": tuple((start, stop) for start, stop in fields["untouched"])})

    def seen_with(self, other: Arena) -> Arena:
        """Return what was seen of it in these runs and in others."""
        return replace(
            self,
            size=max(self.size, other.size),
            high=max(self.high, other.high),
            below=max(self.below, other.below),
            untouched=both(self.untouched, other.untouched),
        )


@dataclass(frozen=True)
class Request:
    """Memory that running code asked an allocator for, beside the arenas.

    Parameters
    ----------
    allocator : str
        Of whom: ``kernel workspace`` or ``storage``.
    function : str
        Who asked; empty where it is not known.
    size : int
        The largest single request.
    count : int
        Requests in a run.
    at_once : int
        The most that was alive at once.
    """

    allocator: str
    function: str
    size: int
    count: int
    at_once: int


@dataclass(frozen=True)
class Handed:
    """What the run time's allocator took from the machine: for a pool, or, with an empty name, for itself."""

    pool: str
    size: int
    what: str = ""


@dataclass(frozen=True)
class Stack:
    """Bytes that were kept for the stack, and those that were used."""

    kept: int
    used: int


@dataclass(frozen=True)
class Measurement:
    """What was seen.

    Parameters
    ----------
    how : str
        Where and how, for the reader: ``on this machine (llvm), by TVM's AOT executor``.
    runs : int
        How many there were.
    arenas : tuple of Arena
        Of the pools that were filled with a pattern.
    requests : tuple of Request or None
        Memory asked for beside them; None where that could not be seen.
    workspace_at_once : int or None
        The most of kernels' own workspaces at once.
    handed : tuple of Handed
        What the run time's allocator took.
    held : tuple of (str, int)
        Pools whose memory is no arena of ours, and the bytes that they took: inputs and outputs, weights.
    stack : Stack or None
        Where there is one to be measured.
    unmeasured : tuple of str
        What could not be seen, and why.
    """

    how: str
    runs: int
    arenas: tuple[Arena, ...] = ()
    requests: tuple[Request, ...] | None = None
    workspace_at_once: int | None = None
    handed: tuple[Handed, ...] = ()
    held: tuple[tuple[str, int], ...] = ()
    stack: Stack | None = None
    unmeasured: tuple[str, ...] = ()
