"""Any `MemoryReport`, for laws; figures keep naive >= planned >= bound, as those of real plans do."""

from dataclasses import replace

from hypothesis import strategies as st

from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.memory import Alias, Allocation, LeftAlone, MemoryReport, Peak, PoolFigures

COUNT = st.integers(0, 2**36)
TEXT = st.text(max_size=30)
LIVE = st.builds(lambda start, length: LiveRange(start, start + length), st.integers(0, 999), st.integers(1, 99))
PEAK = st.builds(Peak, st.integers(0, 999), TEXT, st.lists(TEXT, max_size=3).map(tuple))


def rows(of, most=4):
    return st.lists(of, max_size=most).map(tuple)


REPORTS = st.builds(
    MemoryReport,
    model=TEXT,
    target=TEXT,
    planner=TEXT,
    pools=rows(
        st.builds(
            lambda counts, **others: PoolFigures(bound=counts[0], planned=counts[1], naive=counts[2], **others),
            st.lists(COUNT, min_size=3, max_size=3).map(sorted),
            pool=TEXT,
            capacity=st.none() | COUNT,
            alignment=COUNT,
            bound_kind=TEXT,
            peak=st.none() | PEAK,
        )
    ),
    allocations=rows(
        st.builds(
            Allocation,
            name=TEXT,
            operator=TEXT,
            kind=st.sampled_from(Kind),
            scope=TEXT,
            size=COUNT,
            alignment=COUNT,
            live_ranges=rows(LIVE),
            pool=TEXT,
            offset=COUNT,
            shape=st.none() | rows(st.integers(0, 99)),
            dtype=TEXT,
            in_place_of=st.none() | TEXT,
            aliases=rows(st.builds(Alias, TEXT, COUNT, COUNT), most=2),
            layer=TEXT,
            layers=rows(TEXT, most=2),
            source=TEXT,
        )
    ),
    steps=rows(TEXT),
    left_alone=rows(st.builds(LeftAlone, name=TEXT, function=TEXT, scope=TEXT, size=st.none() | COUNT, reason=TEXT)),
    notes=rows(TEXT),
).flatmap(lambda report: st.tuples(*[TEXT] * len(report.steps)).map(lambda layers: replace(report, step_layers=layers)))
