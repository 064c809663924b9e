"""The MiniMalloc problems, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.files import read_csv
from tvm_memplan.planning.planners import PLANNERS, plan

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "problems" / "minimalloc"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the MiniMalloc problems are not at {FOLDER}")

#: Bound, and how far above it the best known simple planners are at most.
KNOWN = {"A": (1048576, 1.29), "D": (986112, 1.31), "K": (1048576, 1.29)}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_every_plan_is_judged_and_auto_beats_greedy(name):
    problem = read_csv(FOLDER / f"{name}.1048576.csv")
    least, ratio = KNOWN[name]
    assert bound(problem).bytes == least
    sizes = {planner: plan(problem, planner).size() for planner in PLANNERS}
    assert least <= sizes["auto"] < ratio * least
    # `exact` searches against the clock, as `auto` does: which of the two gets further depends on who else computes.
    assert sizes["auto"] == min(size for planner, size in sizes.items() if planner != "exact")


def test_the_worked_example_reaches_its_bound():
    problem = read_csv(FOLDER / "input.12.csv")
    assert plan(problem).size() == bound(problem).bytes == 12
