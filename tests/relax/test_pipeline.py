"""TVM's pipelines with ours in them: nothing else changes, and what comes behind still works."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import tvm
from tvm import ir, relax

from tests.relax import programs
from tests.relax.networks import SMALL
from tests.relax.running import lowered
from tests.tirx.models import fused
from tvm_memplan.errors import BadInput
from tvm_memplan.relax import PlanBlockMemory, pipeline, plan


def passes(line, module, target):
    ran = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, module, info):
            ran.append(str(info.name))

    with target, tvm.transform.PassContext(instruments=[Names()]):
        line(module)
    return ran


@pytest.mark.parametrize("kind", ["llvm", "cuda", "opencl"])
@pytest.mark.parametrize("with_fusion", [False, True], ids=["usual", "fused"])
def test_only_the_memory_plan_is_replaced(kind, with_fusion):
    target = tvm.target.Target(kind)
    usual = relax.get_default_pipeline(target) if with_fusion or "gpu" in target.keys else relax.get_pipeline("default")
    module = fused("perceptron")
    standard = passes(usual, module, target)
    at = standard.index("StaticPlanBlockMemory")
    ours = passes(pipeline(target, fused=with_fusion, lift=False, in_place=False), module, target)
    assert ours == [*standard[:at], "tvm_memplan.PlanBlockMemory", *standard[at + 1 :]]


def test_the_callers_module_stays_as_it_is():
    module = lowered(programs.Sibling)
    before = module.script()
    with tvm.target.Target("llvm"):
        PlanBlockMemory()(module)
    assert module.script() == before


def test_unknown_targets_are_bad_input():
    with pytest.raises(BadInput, match="no-such-target"):
        pipeline("no-such-target")
    with pytest.raises(BadInput, match="not yet supported"):
        pipeline("c", fused=True)


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
def test_gpu_builds_have_the_kernels_of_the_usual_build(kind):
    target = tvm.target.Target(kind, host="llvm")
    network = SMALL["perceptron"]()
    sources = []
    for line in ("default", pipeline(target)):
        built = relax.build(network.module, target, relax_pipeline=line)
        sources.append([m.inspect_source() for m in _imports(built.mod) if m.kind in ("cuda", "opencl")])
    assert sources[0] and sources[0] == sources[1]


def _imports(module):
    for inner in module.imports:
        yield inner
        yield from _imports(inner)


def test_where_pointers_cannot_move_every_tensor_starts_a_storage():
    target = tvm.target.Target("opencl")
    seen = []
    with target:
        made = PlanBlockMemory(look=seen.append)(lowered(SMALL["bert"]().module))
    text = made["forward"].script()
    assert "ensure_zero_offset" not in text and seen[0].functions["forward"].slots
    storages = text.count("alloc_storage")
    report = seen[0].functions["forward"].report()
    assert 1 < storages < sum(row.pool == "arena" for row in report.allocations)
    assert report.planner == "slots"


def test_a_planner_that_gives_no_slots_is_refused_there():
    with tvm.target.Target("opencl"), pytest.raises(BadInput, match="storage per slot"):
        PlanBlockMemory("greedy_by_size")(lowered(programs.Sibling))


def test_cuda_graphs_are_rewritten_behind_ours():
    target = tvm.target.Target("cuda")
    network = SMALL["perceptron"]()
    with target, tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        made = pipeline(target)(network.module)
    names = {str(var.name_hint) for var in made.functions}
    assert any("cuda_graph_alloc" in name for name in names)
    alloc = next(f for var, f in made.functions.items() if "cuda_graph_alloc" in str(var.name_hint))
    assert alloc.script().count("alloc_storage") == 1


def test_devices_have_arenas_of_their_own():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 4), "float32"))
    with builder.function("main", [x]):
        for i, device in enumerate((0, 1, 0, 1)):
            shape = relax.ShapeExpr([4, 4])
            tensor = builder.emit(relax.op.builtin.alloc_tensor(shape, "float32", device), f"tensor_{i}")
            builder.emit(ir.Call(relax.ExternFunc("fill"), [tensor], ty_args=[ir.TupleType([])]))
        builder.emit_func_output(x)
    module = builder.get()
    module.update_global_info("vdevice", [relax.VDevice("llvm"), relax.VDevice("cuda")])
    seen = []
    text = PlanBlockMemory(look=seen.append)(module)["main"].script()
    report = seen[0].functions["main"].report()
    assert {pool.pool: pool.planned for pool in report.pools} == {"arena": 64, "device 1 global": 64, "caller": 64}
    assert text.count("alloc_storage") == 2


def test_boards_are_pools():
    from tvm_memplan.boards import Board, Region
    from tvm_memplan.budget import judge_budget
    from tvm_memplan.errors import DoesNotFit

    network = SMALL["perceptron"]()
    need = plan(network.module).report.pool("arena").planned
    board = Board("b", "", "", (Region("ram", need + 4096, "sram"), Region("rom", 1 << 20, "flash")))
    report = plan(network.module, board=board).report
    assert {pool.pool for pool in report.pools} == {"ram", "rom", "caller"}
    assert judge_budget(report, board).fits
    small = Board("s", "", "", (Region("ram", need - 1, "sram"), Region("rom", 1 << 20, "flash")))
    with pytest.raises(DoesNotFit):
        plan(network.module, board=small)
