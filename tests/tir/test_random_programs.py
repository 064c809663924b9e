"""Random functions compute the same planned and unplanned, and a planner with a rule removed is found out.

The unplanned build is not optimised: LLVM, told by TVM that a let-bound pointer never aliases the buffer it points
into, reorders accesses through the two and gets about a third of these programs wrong.
"""

import numpy as np
import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm

from tests.random_programs import DERIVED, LENGTH, OUT, Program
from tests.removed_rules import REMOVED, SHOWN_BY
from tests.tir.nodes import Nodes
from tests.tir.running import OURS, run

# Programs that show the rule removed; where a rule is in `SHOWN_BY`, programs of that kind alone.
SEEDS = {
    "births": (4, 9, 11),
    "branches": (0, 2, 3),
    "indices": (4, 8, 9),
    "inner-rounds": (12, 19, 63),
    "later-rounds": (4, 8, 9),
    "loops": (26, 50, 56),
    "loops-of-one": (10, 14, 19),
    "order": (0, 5, 6),
    "width": (19, 27),
}


def outputs(seed, passes, target, kinds):
    phase = 1 + seed % 2  # before loops become vectors, or after
    config = {"tir.add_lower_pass": [(phase, p) for p in passes], "tir.disable_storage_rewrite": True}
    with tvm.transform.PassContext(config=config):
        module = tvm.build(Program(seed, Nodes(), kinds).function(), target=target, name="entry")
    results = []
    for k in range(2):
        values = np.random.default_rng(seed * 10 + k).integers(-50, 90, LENGTH).astype("int32")
        results.append(run(module, [values, np.zeros(OUT, "int32")])[0][1].tobytes())
    return results


def agrees(seed, kinds=DERIVED):
    return outputs(seed, OURS, "llvm", kinds) == outputs(seed, (), "llvm -opt-level=0", kinds)


@pytest.mark.parametrize("seed", range(24))
def test_planned_random_programs_compute_the_same(seed):
    assert agrees(seed)


@pytest.mark.parametrize(("rule", "seeds"), sorted(SEEDS.items()))
def test_a_removed_rule_is_found_out(monkeypatch, rule, seeds):
    monkeypatch.setattr(*REMOVED[rule])
    kinds = SHOWN_BY.get(rule, DERIVED)
    assert not all(agrees(seed, kinds) for seed in seeds)
