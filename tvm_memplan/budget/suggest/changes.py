"""The changes that could lower a peak, each with the problem it leads to; whether it does is for the bound to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tvm_memplan.budget.suggest.subproblem import aligned, may_be_in_place, resized, without
from tvm_memplan.planning.bounds.bound import Bound, bound
from tvm_memplan.planning.model import Buffer, Kind, Problem

#: What people call buffers, by their names.
Titles = Mapping[str, str]

#: How many holders of the peak, and pairs among them, are tried.
HOLDERS = 6


class Change(NamedTuple):
    """What is changed, in words; the problem as it is then; and the names of the buffers that it is about."""

    what: str
    problem: Problem
    buffers: tuple[str, ...] = ()


def bounds_of(problem: Problem) -> list[Bound]:
    """Return the bound of each pool that is the first choice of any buffer."""
    first: dict[str, list[int]] = {}
    for i, buffer in enumerate(problem.buffers):
        first.setdefault(problem.candidates(buffer)[0].name, []).append(i)
    return [bound(problem, first[pool.name], pool) for pool in problem.pools if pool.name in first]


def peak_of(problem: Problem) -> int:
    """Return the bytes that no plan can do without, over all pools."""
    return sum(found.bytes for found in bounds_of(problem))


def _held(problem: Problem) -> list[int]:
    """Return who holds the largest peak, largest first."""
    most = max(bounds_of(problem), key=lambda found: found.bytes)
    return sorted(most.members, key=lambda i: (-problem.buffers[i].size, i))


def _shrunk(problem: Problem, titles: Titles) -> Iterator[Change]:
    """Holders of the peak, made as small as is worth it: below that, another peak decides."""
    peak = peak_of(problem)
    for i in _held(problem)[:HOLDERS]:
        buffer = problem.buffers[i]
        size = max(0, buffer.size - (peak - peak_of(resized(problem, {i: 0}))))
        what = f"{_title(buffer, titles)} from {buffer.size:,} B to {size:,} B; below that, another peak is the largest"
        if size == 0:
            what = f"{_title(buffer, titles)}, {buffer.size:,} B: every byte counts"
        yield Change(what, resized(problem, {i: size}), (buffer.name,))


def _operators(problem: Problem, titles: Titles) -> Iterator[Change]:
    """Operators that hold the peak with more than one buffer."""
    buffers, held = problem.buffers, _held(problem)
    for operator in dict.fromkeys(buffers[i].operator for i in held if buffers[i].operator):
        own = [i for i in held if buffers[i].operator == operator]
        if len(own) > 1:
            total = sum(buffers[i].size for i in own)
            what = f"{operator}, if its {len(own)} buffers at the peak ({total:,} B) went away; no more is in it"
            yield Change(what, resized(problem, dict.fromkeys(own, 0)), tuple(buffers[i].name for i in own))


def _in_place(problem: Problem, titles: Titles) -> Iterator[Change]:
    """Outputs on the bytes of an input that dies as they are born."""
    held, tried = _held(problem), 0
    for i in held:
        for j in held:
            output, given = problem.buffers[i], problem.buffers[j]
            known = (i, j) in problem.in_place or (min(i, j), max(i, j)) in problem.separate
            if i == j or known or not may_be_in_place(output, given) or tried == HOLDERS:
                continue
            tried += 1
            taken = titles.get(given.name, given.name)
            what = f"{_title(output, titles)} on the bytes of {taken}, if each element is read before it is written"
            changed = replace(problem, in_place=problem.in_place | {(i, j)})
            yield Change(what, changed, (output.name, given.name))


def _left_to_the_caller(problem: Problem, titles: Titles) -> Iterator[Change]:
    """Inputs, or outputs, that the caller keeps."""
    for kind in (Kind.INPUT, Kind.OUTPUT):
        own = [i for i, buffer in enumerate(problem.buffers) if buffer.kind is kind]
        if own and len(own) < len(problem.buffers):
            names = tuple(problem.buffers[i].name for i in own)
            total = sum(problem.buffers[i].size for i in own)
            listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            what = f"supplies the {kind.value}s in memory of its own ({total:,} B there): {listed}"
            yield Change(what, without(problem, own), names)


def _alignment(problem: Problem, titles: Titles) -> Iterator[Change]:
    """The largest alignment of the pools that gives as much as none at all."""
    most = max(pool.alignment for pool in problem.pools)
    least = peak_of(aligned(problem, 1))
    if most > 1 and least < peak_of(problem):
        enough = most
        while enough > 1 and peak_of(aligned(problem, enough)) > least:
            enough //= 2
        yield Change(f"of the pools {enough} B in the place of {most} B, if kernels allow it", aligned(problem, enough))


def _title(buffer: Buffer, titles: Titles) -> str:
    if buffer.name in titles:
        return titles[buffer.name]
    known = not buffer.operator or buffer.name.startswith(buffer.operator)
    return buffer.name if known else f"{buffer.name} of {buffer.operator}"


#: The changes by their kinds.
CHANGES: dict[str, Callable[[Problem, Titles], Iterator[Change]]] = {
    "shrink": _shrunk,
    "operator": _operators,
    "in place": _in_place,
    "caller": _left_to_the_caller,
    "alignment": _alignment,
}
