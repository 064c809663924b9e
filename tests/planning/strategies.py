"""Hypothesis strategies for planning problems."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from tvm_memplan.planning.model import Buffer, LiveRange, Pool, Problem

alignments = st.sampled_from((1, 1, 2, 4, 16))


@st.composite
def spans(draw: st.DrawFn, most: int = 2) -> tuple[LiveRange, ...]:
    """Sorted live ranges that do not touch."""
    count = draw(st.integers(1, most))
    times = sorted(draw(st.sets(st.integers(0, 12), min_size=2 * count, max_size=2 * count)))
    return tuple(LiveRange(a, b) for (a, b), _ in zip(list(pairwise(times))[::2], range(count)))


@st.composite
def problems(
    draw: st.DrawFn, *, given: bool | None = None, pairs: bool = True, aligned: bool = True, most: int = 10
) -> Problem:
    """Problems without pins; `given` asks for given conflicts (None for either), `pairs` for separate and in-place."""
    count = draw(st.integers(1, most))
    buffers = tuple(
        Buffer(f"b{i}", draw(st.integers(0, 40)), draw(spans()), draw(alignments) if aligned else 1)
        for i in range(count)
    )
    every = [(i, j) for i in range(count) for j in range(i + 1, count)]
    some = st.frozensets(st.sampled_from(every)) if every else st.just(frozenset())
    few = st.frozensets(st.sampled_from(every), max_size=3) if every else st.just(frozenset())
    conflicts = draw(some) if (draw(st.booleans()) if given is None else given) else None
    in_place = frozenset((j, i) for i, j in draw(few)) if pairs else frozenset()
    pool = Pool("arena", None, draw(alignments) if aligned else 1)
    return Problem(buffers, (pool,), conflicts, draw(few) if pairs else frozenset(), in_place)
