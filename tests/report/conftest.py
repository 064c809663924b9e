import pytest

from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.memory import Allocation, MemoryReport, Peak, PoolFigures


@pytest.fixture
def report():
    return MemoryReport(
        model="kws",
        target="c",
        planner="auto",
        pools=(
            PoolFigures("sram", 262144, 16, 96000, 48000, 40000, "pressure", Peak(1, "conv2d", ("b1", "b0"))),
            PoolFigures("flash", None, 1, 5000, 5000, 5000, "pressure", None),
        ),
        allocations=(
            Allocation("b0", "pad", Kind.ACTIVATION, "global", 16000, 4, (LiveRange(0, 2),), "sram", 0),
            Allocation("b1", "conv2d", Kind.ACTIVATION, "global", 24000, 4, (LiveRange(1, 3),), "sram", 16000),
            Allocation("w", "conv2d", Kind.WEIGHTS, "global", 5000, 4, (LiveRange(0, 3),), "flash", 0),
        ),
        steps=("pad", "conv2d", "dense"),
        left_alone=(),
        notes=(),
    )
