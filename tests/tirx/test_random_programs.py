"""Random functions compute the same planned and unplanned, and a planner with a rule removed is found out.

The unplanned build is not optimised: LLVM, told by TVM that a let-bound pointer never aliases the buffer it points
into, reorders accesses through the two and gets about a third of these programs wrong.
"""

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tests.random_programs import LENGTH, OUT, Program
from tests.removed_rules import REMOVED
from tests.tirx.nodes import Nodes
from tests.tirx.running import OURS, build, run

# Programs that show the rule removed.
SEEDS = {
    "births": (0, 7, 12),
    "indices": (0, 7, 12),
    "inner-rounds": (17, 25, 45),
    "later-rounds": (0, 7, 12),
    "loops": (7, 14, 31),
    "order": (3, 5, 7),
}


def outputs(seed, passes, target):
    module = build(Program(seed, Nodes()).function(), passes, target, vectorize=True, spy=False)
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


@pytest.mark.parametrize(("rule", "seeds"), sorted(SEEDS.items()))
def test_a_removed_rule_is_found_out(monkeypatch, rule, seeds):
    monkeypatch.setattr(*REMOVED[rule])
    assert not all(agrees(seed) for seed in seeds)
