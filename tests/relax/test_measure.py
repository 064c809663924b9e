"""Plans against reality in the virtual machine, and that what breaks a plan is found."""

import importlib
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tvm import relax
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R

from tests.relax import networks
from tvm_memplan.errors import BadInput, RunFailed
from tvm_memplan.measuring import watch
from tvm_memplan.planning.model import Pool
from tvm_memplan.relax import build, measure, measure_run, random_inputs
from tvm_memplan.relax.build_model import Built
from tvm_memplan.transform.graphs.write import original_name

# The package offers the function under the module's name.
driver = importlib.import_module("tvm_memplan.relax.measure")

needs_watch = pytest.mark.skipif(bool(watch.why_not()), reason=watch.why_not() or "can be watched")


@pytest.fixture(scope="module")
def net():
    return networks.perceptron()


@pytest.fixture(scope="module")
def built(net):
    """With the scratch of its kernels left to them, so that there is some."""
    return build(net.module, "llvm", lift=False)


@pytest.fixture(scope="module")
def reality(net, built):
    return measure(built, random_inputs(net.module, net.function), function=net.function)


@pytest.fixture
def in_this_process(monkeypatch):
    """Quick, and what is done without a compiler."""
    monkeypatch.setattr(watch.shutil, "which", lambda name: None)


def pools_of(reality):
    return {pool.pool: pool for pool in reality.pools}


@needs_watch
def test_a_run_uses_every_planned_byte_and_no_more(built, reality):
    assert reality.holds, reality.faults
    pools = pools_of(reality)
    for name in ("arena", "weights", "caller", "kernel scratch"):
        assert pools[name].measured == pools[name].planned == built.report.pool(name).planned
    assert pools["arena"].idle == 0 and pools["arena"].handed == pools["arena"].planned
    scratch = {
        row.name.rpartition(": ")[2].split()[0]: row.size
        for row in built.report.allocations
        if row.pool == "kernel scratch"
    }
    assert {row.function: row.at_once for row in reality.counted} == scratch
    assert not reality.unmeasured and sum(row.size for row in reality.own) > 0


@needs_watch
def test_a_build_without_the_plan_is_found_by_storages_and_kernels(net, built):
    plain = relax.build(net.module, "llvm")
    report = replace(built.report, allocations=tuple(r for r in built.report.allocations if r.pool != "kernel scratch"))
    found = measure(Built(plain, report), random_inputs(net.module, net.function), function=net.function)
    assert not found.holds
    assert {"storage", "kernel workspace"} <= {row.allocator for row in found.unplanned}
    assert any("function 'softmax'" in fault for fault in found.faults)


def test_a_report_with_a_smaller_figure_is_found(net, built, in_this_process):
    less = [replace(p, planned=p.planned - 64) if p.pool == "arena" else p for p in built.report.pools]
    found = measure(
        Built(built.executable, replace(built.report, pools=tuple(less))),
        random_inputs(net.module, net.function),
        function=net.function,
    )
    assert not found.holds and "64 B more" in found.faults[0]


def test_without_a_compiler_the_arena_is_measured_and_the_rest_is_said(net, built, reality, in_this_process):
    found = measure(built, random_inputs(net.module, net.function), function=net.function)
    assert found.holds and pools_of(found)["arena"].measured == pools_of(reality)["arena"].measured
    assert "no C compiler" in found.unmeasured[0] and any("kernel scratch" in what for what in found.unmeasured)


def test_a_write_behind_a_storage_is_seen(net, built):
    """A storage that says that it is 64 bytes shorter than it is."""
    inputs = random_inputs(net.module, net.function, count=1)
    ((arena, *_),) = measure_run.painted_runs(built.executable, net.function, inputs)
    shorter = replace(arena, size=arena.size - 64)
    assert arena.arena().high == arena.size and shorter.arena().high == shorter.size + 64


def test_several_pools_are_measured_each(net, built, in_this_process):
    half = built.report.pool("arena").planned // 2
    made = build(net.module, "llvm", pools=[Pool("fast", half), Pool("slow")], lift=False)
    pools = pools_of(measure(made, random_inputs(net.module, net.function), function=net.function))
    assert pools["fast"].measured and pools["fast"].measured <= half
    assert pools["fast"].planned == pools["fast"].measured and pools["slow"].planned == pools["slow"].measured


@needs_watch
def test_sizes_that_are_known_at_run_time_only_are_named_and_break_nothing():
    net = networks.dynamic_bert()
    made = build(net.module, "llvm", lift=False)  # else the scratch of softmax is in the plan
    inputs = [random_inputs(net.module, net.function, sizes={"n": n}, count=1)[0] for n in (16, 5)]
    found = measure(made, inputs, function=net.function)
    assert found.holds, found.faults
    assert any(row.allocator == "storage" and row.at_once > 0 for row in found.counted)
    assert "softmax" in {row.function for row in found.counted}


@pytest.mark.parametrize("made", ["softmax_in_place", "softmax_in_place_"])
def test_a_kernel_that_was_made_for_calls_in_place_is_known_by_its_name_in_the_model(made):
    assert original_name(made) == "softmax" and original_name("softmax_") == "softmax_"


def test_a_kernel_of_the_model_keeps_a_name_that_looks_like_one_of_ours(built):
    report = replace(built.report, steps=("softmax", "turn_in_place", "turn_in_place#2"))
    assert driver._in_report("turn_in_place", report) == "turn_in_place"
    assert (
        driver._in_report("softmax_in_place", report) == "softmax"
        and driver._in_report("turn_overlapping", report) == "turn"
    )


def test_results_in_the_arena_are_counted_once():
    net = networks.perceptron()
    made = build(net.module, "llvm", outputs="arena")
    found = measure(made, random_inputs(net.module, net.function), function=net.function)
    assert found.holds and pools_of(found)["arena"].measured == pools_of(found)["arena"].planned


CALLS = """
@I.ir_module
class Net:
    @R.function
    def helper(x: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 64), "float32")) -> R.Tensor((16, 64), "float32"):
        a = R.nn.relu(R.matmul(x, w))
        return R.nn.softmax(R.matmul(a, w), axis=-1)

    @R.function
    def main(x: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        cls = Net
        a = R.nn.relu(R.matmul(x, w))
        b = cls.helper(a, w)
        c = R.nn.softmax(R.matmul(b, w), axis=-1)
        return (c, a)
"""


@needs_watch
def test_what_callees_take_is_told_from_what_is_returned_though_the_sizes_are_the_same():
    net = from_source(CALLS, extra_vars={"I": I, "R": R})
    found = measure(build(net, "llvm"), random_inputs(net, count=1))
    pools = pools_of(found)
    assert found.holds, found.faults
    assert pools["run time"].measured == pools["run time"].planned > pools["arena"].planned
    assert pools["caller"].measured == pools["caller"].planned


def test_what_cannot_be_run_is_refused_by_name(net, built, in_this_process):
    with pytest.raises(BadInput, match="no input to run"):
        measure(built, [])
    with pytest.raises(BadInput, match="differ in how many arguments"):
        measure(built, [[np.zeros(1)], []])
    with pytest.raises(BadInput, match="for llvm on this machine, not for 'c'"):
        measure(Built(built.executable, replace(built.report, target="c")), [[]])
    with pytest.raises(BadInput, match="no function 'other'; there are"):
        random_inputs(net.module, "other")
    with pytest.raises(BadInput, match="dimension n is open"):
        random_inputs(networks.dynamic_bert().module, "forward")
    with pytest.raises(RunFailed, match="no function 'main'"):
        measure(built, random_inputs(net.module, net.function))
