"""What the driver refuses, passes on and writes back."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

import tvm

from tests.relay import execution, networks, programs
from tvm_memplan.dialects.relay.capture import capture_program
from tvm_memplan.errors import BadInput, BadPlan, DoesNotFit
from tvm_memplan.planning import planners
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.relay import build, compare, host_config, micro_config, plan
from tvm_memplan.relay.aliasing import without_noalias
from tvm_memplan.relay.plan_model import plan_lowered
from tvm_memplan.relay.problem import DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS
from tvm_memplan.relay.usmp import build_with

needs_c = pytest.mark.skipif(not execution.c_compiler(), reason="no C compiler")


def sabotaged(good):
    """The plan with the largest activation put where another one is that is alive with it."""
    buffers = good.problem.buffers
    pairs = [
        (i, j)
        for i, a in enumerate(buffers)
        for j, b in enumerate(buffers)
        if i != j and a.kind is b.kind is Kind.ACTIVATION and a.alive_with(b)
    ]
    i, j = max(pairs, key=lambda pair: min(buffers[pair[0]].size, buffers[pair[1]].size))
    placements = list(good.placements)
    placements[i] = placements[j]
    return Plan(good.problem, tuple(placements))


def test_a_bad_plan_is_refused_before_it_is_used():
    with pytest.raises(BadPlan, match="sid_"):
        build(networks.residual(), planner=lambda problem: sabotaged(planners.plan(problem)))


@needs_c
@pytest.mark.parametrize("config", [host_config("llvm"), host_config("c"), micro_config()], ids=lambda c: c.target)
def test_a_bad_plan_shows_in_the_outputs_when_nobody_judges_it(config, tmp_path):
    mod = networks.residual()

    def decide(lowered):
        return sabotaged(plan_lowered(lowered, config, DEFAULT_POOLS, DEFAULT_WEIGHT_POOLS, "auto", "").plan)

    broken = build_with(mod, None, config, decide, opt_level=3, io_in_pool=False, mod_name="default")
    batch = networks.inputs_of(mod, 1)
    [wrong] = execution.run(broken, config, tmp_path, batch)
    [right] = execution.run(execution.unplanned(mod, None, config), config, tmp_path, batch)
    assert not all(np.array_equal(a, b) for a, b in zip(wrong, right))


def test_a_plan_of_another_problem_is_refused():
    other = Plan(Problem((Buffer("a", 1, (LiveRange(0, 1),)),)), (Placement("arena", 0),))
    with pytest.raises(BadInput, match="another problem"):
        plan(networks.no_weights(), planner=lambda problem: other)


def test_plan_and_build_agree():
    planned = plan(networks.two_outputs(), target=micro_config())
    built = build(networks.two_outputs(), target=micro_config())
    assert planned.report == built.report


def test_two_runs_make_the_same_plan():
    assert plan(networks.residual()).report == plan(networks.residual()).report


def test_kinds_are_reported_apart():
    report = plan(networks.two_outputs(), target=micro_config()).report
    assert report.total(Kind.INPUT) == 4 * (4 * 100 + 6 * 100)
    assert report.total(Kind.OUTPUT) == 4 * (6 * 25 + 75)
    pools = {kind: {row.pool for row in report.allocations if row.kind is kind} for kind in Kind}
    assert pools == {
        Kind.INPUT: {"caller"},
        Kind.OUTPUT: {"caller"},
        Kind.WEIGHTS: {"weights"},
        Kind.ACTIVATION: {"workspace"},
        Kind.WORKSPACE: {"workspace"},
    }


def test_a_capacity_that_is_too_small_is_an_error():
    with pytest.raises(DoesNotFit):
        plan(networks.residual(), pools=[Pool("ram", 256)])


@needs_c
def test_two_pools_are_supplied_by_the_caller(tmp_path):
    mod, config = networks.residual(), micro_config()
    whole = plan(mod, target=config).plan.size("workspace")
    pools = [Pool("fast-ram", whole // 2, 16), Pool("slow", None, 16)]
    built = build(mod, target=config, pools=pools)
    assert {figures.pool for figures in built.report.pools} >= {"fast-ram", "slow"}
    batch = networks.inputs_of(mod, 5)
    program = execution.CProgram(built.module, tmp_path)
    assert set(program.pools) == {"workspace_fast_ram", "workspace_slow"}
    [right] = execution.run(execution.unplanned(mod, None, config), config, tmp_path, batch)
    for a, b in zip(program(batch), right, strict=True):
        np.testing.assert_array_equal(a, b)


@needs_c
@pytest.mark.parametrize(
    "name", ["independent_tails", "two_outputs", "classifier", "integer", "no_workspace", "identity"]
)
def test_inputs_and_outputs_can_be_planned_into_the_pool(name, tmp_path):
    """Also outputs that are read again and accumulated into, which TVM's own pass refuses."""
    mod, config = getattr(networks, name)(), micro_config()
    built = build(mod, target=config, io_in_pool=True)
    assert {row.pool for row in built.report.allocations if row.kind is not Kind.WEIGHTS} == {"workspace"}
    batches = [networks.inputs_of(mod, seed) for seed in (1, 2)]
    ours = execution.run(built.module, config, tmp_path, *batches)
    right = execution.run(execution.unplanned(mod, None, config), config, tmp_path, *batches)
    for mine, reference in zip(ours, right):
        for a, b in zip(mine, reference, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_input_read_late_and_an_output_written_early_keep_their_bytes_though_usmp_forgets():
    report = plan(networks.independent_tails(), target=micro_config(), io_in_pool=True).report
    rows = {row.name: row for row in report.allocations}
    assert rows["z"].live_ranges[0].start == 0
    assert rows["output0"].live_ranges[-1].stop == len(report.steps)
    assert any("TVM's own analysis misses them" in note for note in report.notes)


@pytest.mark.parametrize("target", ["nonsense", {"kind": "llvm", "x": 1}])
def test_a_target_that_tvm_does_not_know_is_refused(target):
    with pytest.raises(BadInput, match="target"):
        plan(networks.no_weights(), target=target)


def test_inputs_and_outputs_in_the_pool_need_the_c_interface():
    with pytest.raises(BadInput, match="micro_config"):
        plan(networks.residual(), io_in_pool=True)


def test_the_graph_executor_is_refused_by_name():
    with pytest.raises(BadInput, match="graph"):
        plan(networks.residual(), executor=tvm.relay.backend.Executor("graph"))


def test_pool_names_that_clash_are_refused():
    with pytest.raises(BadInput, match="ram"):
        plan(networks.residual(), pools=[Pool("ram")], weight_pools=[Pool("ram")])


def test_the_settings_of_the_surrounding_pass_context_are_kept():
    seen = []

    @tvm.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    with tvm.transform.PassContext(instruments=[Watch()], disabled_pass=["FoldScaleAxis"]):
        plan(networks.no_weights())
    assert "tir.usmp.AssignPoolInfo" in seen
    assert "FoldScaleAxis" not in seen


def test_ours_is_never_larger_than_tvms_best():
    compared = compare(networks.residual(), target=micro_config())
    assert compared.planned.plan.size("workspace") <= min(compared.usmp.values())


def test_operators_lose_the_promise_of_no_aliases_where_buffers_share_bytes():
    mod = tvm.IRModule(dict(programs.TwoCalls.functions.items()))
    program = capture_program(mod)
    names = ("sid_1", "sid_2", "double.w")
    problem = Problem(tuple(Buffer(name, 32, (LiveRange(0, 1),)) for name in names))
    apart = Plan(problem, tuple(Placement("arena", 32 * i) for i in range(3)))
    assert without_noalias(mod, program, apart) == ()
    over = replace(apart, placements=(Placement("arena", 0), Placement("arena", 32), Placement("arena", 24)))
    assert without_noalias(mod, program, over) == ("double",)
    assert "tir.noalias" not in mod["double"].attrs
    assert "tir.noalias" in mod["add"].attrs
    # LLVM's code generator goes by the last function of a module, so all have to take it back.
    llvm = tvm.target.Target("llvm")
    mod = tvm.IRModule({v: f.with_attr("target", llvm) for v, f in programs.TwoCalls.functions.items()})
    assert without_noalias(mod, program, apart) == () and "tir.noalias" in mod["add"].attrs
    assert without_noalias(mod, program, over) == ("double",)
    assert not any("tir.noalias" in f.attrs for f in mod.functions.values())


@pytest.mark.parametrize("io_in_pool", [False, True])
def test_an_output_that_tvm_never_writes_is_an_output_all_the_same_and_named(io_in_pool):
    report = plan(networks.returned_twice(), None, micro_config(), io_in_pool=io_in_pool).report
    kinds = [row.kind for row in report.allocations if row.kind in (Kind.INPUT, Kind.OUTPUT)]
    assert (kinds.count(Kind.INPUT), kinds.count(Kind.OUTPUT)) == (1, 3)
    (note,) = (note for note in report.notes if "nothing is written" in note)
    (unwritten,) = (row for row in report.allocations if f"output {row.name!r}" in note)
    assert (unwritten.kind, unwritten.size) == (Kind.OUTPUT, 64)


def test_a_target_may_be_json_but_only_of_a_kind_that_runs_in_one_memory():
    assert plan(networks.no_workspace(), None, '{"kind": "c"}').configuration.vectorize is False
    with pytest.raises(BadInput, match="planned for llvm and c, not 'cuda'"):
        plan(networks.no_workspace(), None, "cuda")
