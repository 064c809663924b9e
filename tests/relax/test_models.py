"""Whole models, planned and not: the same bits, in less memory."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")


from tests.relax.running import same_bits
from tests.tirx.models import MODELS, arguments, fused
from tvm_memplan.planning.model import Placement, Plan
from tvm_memplan.relax import PlanBlockMemory

every_model = pytest.mark.parametrize("model", MODELS)
SEEDS = (1, 2, 3)


@every_model
def test_planned_and_unplanned_models_compute_the_same_bits(model):
    module = fused(model)
    assert same_bits(module, [arguments(module, seed) for seed in SEEDS], function="forward")


@every_model
def test_a_wrong_plan_shows(model, monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.graph_plan.check_plan", lambda plan: None)

    def at_zero(problem):
        return Plan(problem, tuple(Placement(problem.candidates(b)[0].name, 0) for b in problem.buffers))

    module = fused(model)
    assert not same_bits(module, [arguments(module, 1)], PlanBlockMemory(at_zero), function="forward")
