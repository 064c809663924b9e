"""Random functions compute the same planned and unplanned, and a planner with a rule removed is found out.

The unplanned build is not optimised: LLVM, told by TVM that a let-bound pointer never aliases the buffer it points
into, reorders accesses through the two and gets about a third of these programs wrong.
"""

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tests.random_programs import LENGTH, OUT, Program
from tests.tirx.nodes import Nodes
from tests.tirx.running import OURS, build, run
from tvm_memplan.planning import liveness
from tvm_memplan.planning.model import LiveRange


def outputs(seed, passes, target):
    module = build(Program(seed, Nodes()).function(), passes, target, spy=False)
    results = []
    for k in range(2):
        values = np.random.default_rng(seed * 10 + k).integers(-50, 90, LENGTH).astype("int32")
        results.append(run(module, [values, np.zeros(OUT, "int32")])[0][1].tobytes())
    return results


def agrees(seed):
    return outputs(seed, OURS, "llvm") == outputs(seed, (), {"kind": "llvm", "opt-level": 0})


@pytest.mark.parametrize("seed", range(24))
def test_planned_random_programs_compute_the_same(seed):
    assert agrees(seed)


def touches_only(place, total):
    """The rule removed: a live range is what it touches, loops or not."""
    steps = [step for step, _ in place.touches] or [min(place.at, total - 1)]
    return LiveRange(min(steps), max(steps) + 1)


def deaths_before_births(place, total):
    """The rule removed: a buffer's last reader may already write over it."""
    right = real_range(place, total)
    return LiveRange(right.start, max(right.stop - 1, right.start + 1))


real_range = liveness._Place.range


@pytest.mark.parametrize(("wrong", "seeds"), [(touches_only, (8, 12, 15)), (deaths_before_births, (0, 7, 15))])
def test_a_removed_rule_is_found_out(monkeypatch, wrong, seeds):
    monkeypatch.setattr(liveness._Place, "range", wrong)
    assert not all(agrees(seed) for seed in seeds)
