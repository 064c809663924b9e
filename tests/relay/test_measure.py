"""Plans against reality on this machine, and that what breaks a plan is found."""

import ctypes
import importlib
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

from tests.relay import execution, networks
from tvm_memplan.errors import BadInput
from tvm_memplan.measuring import watch
from tvm_memplan.planning.model import Pool
from tvm_memplan.relay import build, host_config, measure, measure_run, micro_config
from tvm_memplan.relay.build_model import Built
from tvm_memplan.report.measured import reality_text

# The package offers the function under the module's name.
driver = importlib.import_module("tvm_memplan.relay.measure")

needs_watch = pytest.mark.skipif(bool(watch.why_not()), reason=watch.why_not() or "can be watched")


@pytest.fixture(scope="module")
def built():
    return build(networks.residual(), None, "llvm", model="residual")


@pytest.fixture(scope="module")
def small():
    """What is built in less than a second."""
    return build(networks.no_weights(), None, "llvm")


@pytest.fixture(scope="module")
def reality(built):
    return measure(built)


@needs_watch
def test_a_run_uses_every_planned_byte_and_no_more(built, reality):
    assert reality.holds, reality.faults
    workspace, weights, caller = (reality.pools[i] for i in range(3))
    assert workspace.measured == built.report.pool("workspace").planned and workspace.idle == 0
    assert workspace.handed == workspace.planned
    assert 0 < weights.measured <= weights.planned and caller.measured == caller.planned
    assert reality.runs == 4 and not reality.unmeasured


def test_a_report_with_a_smaller_figure_is_found(built, monkeypatch):
    monkeypatch.setattr(watch.shutil, "which", lambda name: None)  # in this process, which is quick
    less = [replace(p, planned=p.planned - 64) if p.pool == "workspace" else p for p in built.report.pools]
    found = measure(Built(built.module, replace(built.report, pools=tuple(less))))
    assert not found.holds and "64 B more" in found.faults[0] and found.pools[0].beyond == 64
    assert "the plan does not hold" in reality_text(found)


@needs_watch
def test_a_build_without_the_plan_is_found_by_the_functions_that_allocate(small):
    """TVM's own build: its main function and its operators ask the run time for what the plan has in the workspace."""
    plain = execution.unplanned(networks.no_weights(), None, host_config("llvm"))
    found = measure(Built(plain, small.report))
    assert not found.holds
    asked = {row.function for row in found.unplanned}
    assert asked and all(name.startswith(("fused_", "__tvm_main__")) for name in asked), asked
    assert all(any(repr(name) in fault for fault in found.faults) for name in asked)


def test_a_write_behind_or_before_an_arena_is_seen(built):
    module, report = built
    entry, spec, weights = driver.specification(module, report)
    batches = driver.batches_of(module, None, 1)
    call = module.module.get_function(entry, True)
    planned = report.pool("workspace").planned

    def overrun(at):
        def called(*arguments):
            call(*arguments)
            ctypes.memset(arguments[-1].handle.contents.data + at, 1, 3)

        (seen,) = measure_run.painted_runs(called, spec, batches, weights)
        return seen.arena()

    assert (overrun(planned).high, overrun(planned).below) == (planned + 3, 0)
    assert (overrun(-3).high, overrun(-3).below) == (planned, 3)


def test_without_a_compiler_the_arena_is_measured_and_the_rest_is_said(built, reality, monkeypatch):
    monkeypatch.setattr(watch.shutil, "which", lambda name: None)
    found = measure(built)
    assert found.holds and found.pools[0].measured == reality.pools[0].measured
    assert "no C compiler" in found.unmeasured[0] and any("caller" in what for what in found.unmeasured)


def test_several_pools_are_measured_each(small, monkeypatch):
    monkeypatch.setattr(watch.shutil, "which", lambda name: None)
    half = small.report.pool("workspace").planned // 2
    found = measure(build(networks.no_weights(), None, "llvm", pools=[Pool("fast", half), Pool("slow")]))
    pools = {pool.pool: pool for pool in found.pools}
    assert found.holds and {"fast", "slow"} <= set(pools)
    for name in ("fast", "slow"):
        assert pools[name].measured is not None and pools[name].planned - pools[name].measured < 64


def test_what_cannot_run_here_is_refused_by_name(built):
    with pytest.raises(BadInput, match=r"cortex-m3.*make measure"):
        measure(build(networks.integer(), None, micro_config()))
    name = str(built.module.executor_codegen_metadata.inputs[0].name)
    with pytest.raises(BadInput, match=f"input 0 lacks '{name}'"):
        measure(built, [{}])
    with pytest.raises(BadInput, match=r"is float64\[1\], not float32"):
        measure(built, [{name: np.zeros(1)}])
    with pytest.raises(BadInput, match="no input to run"):
        measure(built, [])
