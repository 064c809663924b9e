"""Random functions compute the same planned and unplanned, and a planner with a rule removed is found out.

The unplanned build is not optimised: LLVM, told by TVM that a let-bound pointer never aliases the buffer it points
into, reorders accesses through the two and gets about a third of these programs wrong.
"""

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tests.random_programs import DERIVED, LENGTH, OUT, Program
from tests.removed_rules import REMOVED, SHOWN_BY
from tests.tirx.nodes import Nodes
from tests.tirx.running import OURS, build, run

# Programs that show the rule removed; where a rule is in `SHOWN_BY`, programs of that kind alone.
SEEDS = {
    "births": (4, 14, 17),
    "branches": (0, 2, 3),
    "indices": (4, 9, 34),
    "inner-rounds": (19, 75, 103),
    "later-rounds": (4, 9),
    "loops": (26, 36, 90),
    "loops-of-one": (4, 12, 17),
    "order": (5, 6, 9),
    "width": (0, 4, 10),
}


def outputs(seed, passes, target, kinds):
    module = build(Program(seed, Nodes(), kinds).function(), passes, target, vectorize=True, spy=False)
    results = []
    for k in range(2):
        values = np.random.default_rng(seed * 10 + k).integers(-50, 90, LENGTH).astype("int32")
        results.append(run(module, [values, np.zeros(OUT, "int32")])[0][1].tobytes())
    return results


def agrees(seed, kinds=DERIVED):
    return outputs(seed, OURS, "llvm", kinds) == outputs(seed, (), {"kind": "llvm", "opt-level": 0}, kinds)


@pytest.mark.parametrize("seed", range(24))
def test_planned_random_programs_compute_the_same(seed):
    assert agrees(seed)


@pytest.mark.parametrize(("rule", "seeds"), sorted(SEEDS.items()))
def test_a_removed_rule_is_found_out(monkeypatch, rule, seeds):
    monkeypatch.setattr(*REMOVED[rule])
    kinds = SHOWN_BY.get(rule, DERIVED)
    assert not all(agrees(seed, kinds) for seed in seeds)
