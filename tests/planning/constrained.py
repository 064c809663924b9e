"""Problems with every kind of constraint, for laws."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

from tests.planning.strategies import alignments, spans
from tvm_memplan.planning.model import Buffer, Kind, Pool, Problem, View


@st.composite
def constrained(draw: st.DrawFn, most: int = 8) -> Problem:
    """Several pools, granularities, candidates, given conflicts, pairs, views and penalties; no pins."""
    pools = (
        Pool("small", draw(st.integers(0, 60)), draw(alignments), granularity=draw(alignments)),
        Pool("large", None, draw(alignments), granularity=draw(alignments)),
        Pool("other", None, draw(alignments), ("other",)),
    )
    count = draw(st.integers(1, most))
    buffers = []
    for i in range(count):
        scope = draw(st.sampled_from(("global", "global", "global", "other")))
        wanted = draw(st.sampled_from(((), ("large",), ("large", "small")))) if scope == "global" else ()
        kind = draw(st.sampled_from(Kind))
        size = draw(st.integers(0, 40))
        buffers.append(Buffer(f"b{i}", size, draw(spans()), draw(alignments), scope, kind, wanted, operator="o"))
    every = list(combinations(range(count), 2))
    few = st.frozensets(st.sampled_from(every), max_size=4) if every else st.just(frozenset())
    views = []
    for k in range(draw(st.integers(0, 2))):
        root = draw(st.integers(0, count - 1))
        offset = draw(st.integers(0, buffers[root].size))
        views.append(View(f"v{k}", root, offset, draw(st.integers(0, buffers[root].size - offset))))
    return Problem(
        tuple(buffers),
        pools,
        draw(few) if draw(st.booleans()) else None,
        draw(few),
        frozenset((j, i) for i, j in draw(few)),
        tuple(views),
        frozenset((*pair, draw(st.integers(1, 5))) for pair in draw(few)),
    )
