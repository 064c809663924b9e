"""A residual add takes the bytes of its dying input, and only where that is proved."""

from dataclasses import replace

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

from tests.relay import networks
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.planners import plan as plan_problem
from tvm_memplan.relay import host_config, micro_config, plan

CONFIGURATIONS = {"llvm": host_config("llvm"), "c": host_config("c"), "micro": micro_config("cortex-m3")}


@pytest.fixture(params=CONFIGURATIONS)
def planned(request):
    return plan(networks.wide_residual(), None, CONFIGURATIONS[request.param]).plan


def named_pairs(plan):
    buffers = plan.problem.buffers
    return [(buffers[d], buffers[s], plan.placements[d], plan.placements[s]) for d, s in plan.problem.in_place]


def test_a_residual_add_works_in_place(planned):
    together = [(d, s) for d, s, here, there in named_pairs(planned) if here == there and d.alive_with(s)]
    assert any("add" in d.operator and d.size == s.size for d, s in together)


def test_working_in_place_never_costs(planned):
    assert planned.size("workspace") <= without_pairs(planned).size("workspace")


def test_working_in_place_lowers_the_bound_where_the_add_is_the_peak():
    planned = plan(networks.wide_residual(), None, CONFIGURATIONS["llvm"]).plan
    assert planned.size("workspace") < bound(without_pairs(planned).problem, workspace(planned)).bytes


def without_pairs(plan):
    return plan_problem(replace(plan.problem, in_place=frozenset()))


def workspace(plan):
    return [i for i, place in enumerate(plan.placements) if place.pool == "workspace"]
