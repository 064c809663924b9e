"""Planned kernels against unplanned ones on an OpenCL device; and wrong plans, which have to show."""

import json

import pytest

pytest.importorskip("tvm", reason="needs a TVM, of either line")

from tests.opencl import building, device
from tests.opencl.building import merged, planned, unplanned
from tests.opencl.kernels import KERNELS, NO_BARRIER, PIPELINE, TWO_PAIRS
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE

SEEDS = (1, 2, 3)
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def outputs(kernel, source):
    return [device.run(source, kernel.inputs(seed), kernel.block, kernel.grid) for seed in SEEDS]


def same(some, others):
    return all(
        a.arguments[name].tobytes() == b.arguments[name].tobytes() for a, b in zip(some, others) for name in a.arguments
    )


@every_kernel
def test_planned_kernels_compute_the_same_bits_in_the_bytes_that_were_planned(kernel):
    function = kernel.function
    source, arenas = planned(function)
    with_plan, without = outputs(kernel, source), outputs(kernel, unplanned(function))
    assert same(with_plan, without)
    assert {ran.local_bytes for ran in with_plan} == {sum(arenas.values())}
    assert with_plan[0].local_bytes < without[0].local_bytes
    assert not same(without[:1], without[1:2])  # the inputs matter


@every_kernel
def test_tvm_takes_less_only_where_its_result_is_wrong(kernel):
    function = kernel.function
    _, arenas = planned(function)
    theirs, right = outputs(kernel, merged(function)), outputs(kernel, unplanned(function))
    assert theirs[0].local_bytes >= sum(arenas.values()) or not same(theirs, right)


def test_what_tvm_does_without_a_barrier_is_wrong_and_ours_has_one():
    function = NO_BARRIER.function
    assert not same(outputs(NO_BARRIER, merged(function)), outputs(NO_BARRIER, unplanned(function)))
    source, arenas = planned(function)
    assert source.count("barrier(") == unplanned(function).count("barrier(") + 1
    assert arenas == {"launch.shared": 1024}


def test_two_pairs_reach_the_bound():
    assert planned(TWO_PAIRS.function)[1] == {"launch.shared": 8192}


def sabotaged(change):
    """A pass that changes what was planned."""

    def transform(function, module, context):
        if function.attrs is None or PLAN_ATTRIBUTE not in function.attrs:
            return function
        recorded = json.loads(str(function.attrs[PLAN_ATTRIBUTE]))
        change(recorded)
        return function.with_attr(PLAN_ATTRIBUTE, json.dumps(recorded))

    return building.tirx.transform.prim_func_pass(transform, opt_level=0, name="tests.Sabotage")


def all_at_zero(recorded):
    recorded["regions"] = {name: dict.fromkeys(buffers, 0) for name, buffers in recorded["regions"].items()}


def no_barriers(recorded):
    assert recorded["barriers"]
    recorded["barriers"] = {}


@pytest.mark.parametrize(
    ("kernel", "change"), [(PIPELINE, all_at_zero), (TWO_PAIRS, all_at_zero), (NO_BARRIER, no_barriers)]
)
def test_a_wrong_plan_shows(kernel, change, monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.function_plan.check_plan", lambda plan: None)
    function = kernel.function
    source, _ = planned(function, sabotaged(change))
    if change is no_barriers and source.count("barrier(") > unplanned(function).count("barrier("):
        pytest.skip("TVM runs ThreadSync again and puts the barrier there")
    assert not same(outputs(kernel, source), outputs(kernel, unplanned(function)))


@pytest.mark.parametrize("change", [all_at_zero, no_barriers])
def test_a_wrong_plan_is_refused(change):
    with pytest.raises(Exception, match="share bytes"):
        planned(NO_BARRIER.function, sabotaged(change))
