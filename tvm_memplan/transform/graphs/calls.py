"""The calls of which arguments have bytes in common, and how each can keep the promise that its arguments are apart.

Where arguments start at one place, as an output written in place and its input do, they are one argument. Where they
overlap in any other way, the call is given all the bytes from the first to the last of them as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tvm_memplan.dialects.line import relax_dialect

#: Pool, first byte, and the byte behind the last, of each allocation.
Spans = Mapping[str, tuple[str, int, int]]


@dataclass(frozen=True)
class SharingCall:
    """A call of which two arguments have a byte in common.

    Parameters
    ----------
    call : KernelCall
        The call.
    overlaps : mapping of Overlap to str, or None
        Which of its arguments are given as one, and the allocation that starts first among those; None where that
        cannot be said.
    """

    call: Any
    overlaps: Mapping[Any, str] | None

    @property
    def kernel(self) -> tuple[str, tuple[Any, ...]]:
        """What is to be called instead: the kernel, and which of its arguments are given as one."""
        return self.call.function, tuple(self.overlaps or ())


def sharing_calls(graph: Any, spans: Spans, in_bytes: Collection[str]) -> tuple[SharingCall, ...]:
    """Find the calls.

    Parameters
    ----------
    graph : Graph
        The function as read.
    spans : mapping of str to (str, int, int)
        Where everything lies that may share bytes.
    in_bytes : collection of str
        The pools of which the spans are known in bytes, and whose middle a pointer can point to.
    """
    # One tensor may be several arguments, which is for whoever made the call to answer for.
    calls = ((call, {n: spans[n] for names in call.arguments for n in names if n in spans}) for call in graph.calls)
    overlap = relax_dialect().Overlap
    return tuple(
        SharingCall(call, _overlaps(graph, call, groups, in_bytes, overlap))
        for call, here in calls
        if (groups := _groups(here))
    )


def _groups(here: Spans) -> list[Spans]:
    """What hangs together by bytes in common: two or more of a call's allocations each."""
    group = {name: {name} for name in here}
    for one, other in combinations(here, 2):
        (p, a, b), (q, c, d) = here[one], here[other]
        if p == q and a < d and c < b and group[one] is not group[other]:
            group[one] |= group[other]
            group |= dict.fromkeys(group[other], group[one])
    distinct = {id(names): names for names in group.values() if len(names) > 1}
    return [{name: here[name] for name in here if name in names} for names in distinct.values()]


def _overlaps(
    graph: Any, call: Any, groups: list[Spans], in_bytes: Collection[str], overlap: Callable[..., Any]
) -> dict[Any, str] | None:
    if not call.plain:
        return None
    found = {}
    for group in groups:
        behind = [(i, names) for i, names in enumerate(call.arguments) if not names.isdisjoint(group)]
        if any(len(names) > 1 or names & graph.viewed for _, names in behind):
            return None
        bottom = min(group, key=lambda name: group[name][1])
        pool, low, _ = group[bottom]
        starts = tuple(group[name][1] - low for _, (name,) in behind)
        size = max(stop for _, _, stop in group.values()) - low
        if any(starts) and pool not in in_bytes:
            return None
        found[overlap(tuple(i for i, _ in behind), starts, size if any(starts) else 0)] = bottom
    return found


def sharing_note(calls: Sequence[SharingCall]) -> str:
    """Say that at these calls arguments share bytes and cannot be given to kernels as one."""
    kernels = list(dict.fromkeys(one.call.function for one in calls))
    more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
    return (
        f"arguments of {kernels[0]!r}{more} share bytes and cannot be handed over as one, so kernels make no promise "
        "that arguments are apart, and code may be slower for it; in_place=False makes a plan without"
    )
