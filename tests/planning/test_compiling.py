"""Compiling is nobody's time limit: a first plan and a second one get the same."""

import pytest

from tvm_memplan.planning import compiling
from tvm_memplan.planning.effort import Effort


@pytest.mark.parametrize(("compiled", "over"), [(0.0, True), (48.0, False)])
def test_the_time_spent_on_compiling_is_not_counted(monkeypatch, compiled, over):
    now = 1000.0
    monkeypatch.setattr(compiling, "monotonic", lambda: now)
    effort = Effort(10, seconds=5.0)
    now += 50.0
    monkeypatch.setattr(compiling, "_seconds", compiling._seconds + compiled)
    assert effort.over is over
    assert effort.cut is over


def test_numba_is_watched_when_it_compiles():
    import numba

    compiling.watch()
    before = compiling._seconds
    assert numba.njit(lambda x: x + 1)(1) == 2
    assert compiling._seconds > before
