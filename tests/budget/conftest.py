import pytest

from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.memory import Allocation, MemoryReport, Peak, PoolFigures


def _row(name, size, pool, kind=Kind.ACTIVATION):
    return Allocation(name, "conv", kind, "global", size, 4, (LiveRange(0, 2),), pool, 0)


@pytest.fixture
def make_report():
    """A report with activations (two buffers and the bound as given) and weights, in pools of any name."""

    def make(
        planned=1000, bound=None, weights=500, pool="activations", weights_pool="weights", left_alone=(), notes=()
    ):
        bound = planned if bound is None else bound
        big, small = _row("big", bound - bound // 4, pool), _row("small", bound // 4, pool)
        rows = [small, big]
        peak = Peak(1, "conv", ("small", "big"))
        pools = [PoolFigures(pool, None, 1, planned + 100, planned, bound, "pressure", peak)]
        if weights:
            rows.append(_row("w", weights, weights_pool, Kind.WEIGHTS))
            pools.append(PoolFigures(weights_pool, None, 1, weights, weights, weights, "pressure", None))
        return MemoryReport("net", "c", "auto", tuple(pools), tuple(rows), ("pad", "conv"), left_alone, notes)

    return make
