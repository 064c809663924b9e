"""The ready-made pipeline and one of the user's own, on whole models and on device code."""

import json

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script import tirx as T

from tests.tirx import programs
from tests.tirx.models import MODELS, arguments, fused, outputs
from tests.tirx.running import Poison, module_of
from tvm_memplan.dialects.tirx import register_standard_pipeline
from tvm_memplan.transform import PlanMemory, RewriteStorage, register_pipeline
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE, PLAN_ATTRIBUTE

SEEDS = (1, 2, 3)
every_model = pytest.mark.parametrize("model", MODELS)


def looking(into):
    """A pass that notes every function which it sees."""

    @tirx.transform.prim_func_pass(opt_level=0, name="tests.Look")
    def look(function, module, context):
        into.append(function)
        return function

    return look


@every_model
@pytest.mark.parametrize("build", [tvm.compile, relax.build], ids=["tvm.compile", "relax.build"])
def test_models_compute_the_same_bits_as_with_the_standard_pipeline(model, build):
    module = fused(model)
    before = module.script()
    plain = build(module, "llvm")
    planned = build(module, "llvm", tir_pipeline=register_pipeline())
    assert module.script() == before
    results = []
    for seed in SEEDS:
        values = arguments(module, seed)
        results.append(outputs(planned, values))
        assert results[-1].tobytes() == outputs(plain, values).tobytes()
    assert results[0].tobytes() != results[1].tobytes()


@every_model
def test_models_have_arenas_and_run_on_poisoned_ones(model):
    module, seen = fused(model), []
    register_standard_pipeline("looking", [PlanMemory(), RewriteStorage(), looking(seen), Poison])
    planned = tvm.compile(module, "llvm", tir_pipeline="looking")
    arenas = [json.loads(str(f.attrs[ARENA_ATTRIBUTE])) for f in seen if ARENA_ATTRIBUTE in f.attrs]
    assert sum(arena["body"] for arena in arenas) > 1000
    values = arguments(module, 1)
    assert outputs(planned, values).tobytes() == outputs(tvm.compile(module, "llvm"), values).tobytes()


def overlapping(function):
    """All buffers of each region at offset 0."""
    if PLAN_ATTRIBUTE not in function.attrs:
        return function
    recorded = json.loads(str(function.attrs[PLAN_ATTRIBUTE]))
    recorded["regions"] = {r: dict.fromkeys(buffers, 0) for r, buffers in recorded["regions"].items()}
    recorded["pieces"] = {}
    return function.with_attr(PLAN_ATTRIBUTE, json.dumps(recorded))


@every_model
def test_a_wrong_plan_shows_in_the_output_of_a_model(model, monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.function_plan.check_plan", lambda plan: None)
    sabotage = tirx.transform.prim_func_pass(lambda f, m, c: overlapping(f), opt_level=0, name="tests.Sabotage")
    register_standard_pipeline("broken", [PlanMemory(), sabotage, RewriteStorage()])
    module = fused(model)
    values = arguments(module, 1)
    broken = outputs(tvm.compile(module, "llvm", tir_pipeline="broken"), values)
    assert broken.tobytes() != outputs(tvm.compile(module, "llvm"), values).tobytes()


def test_a_pipeline_of_ones_own_with_our_passes_in_it():
    def factory():
        @tvm.transform.module_pass(opt_level=0)
        def lower(module, context):
            passes = [
                tirx.transform.FlattenBuffer(),
                PlanMemory(planner="greedy_by_size", alignment=16),
                RewriteStorage(),
                tirx.transform.VectorizeLoop(),
                tirx.transform.StmtSimplify(),
                tirx.transform.VerifyMemory(),
                tirx.transform.AnnotateEntryFunc(),
                tirx.transform.SplitHostDevice(),
                tirx.transform.MakePackedAPI(),
            ]
            return tvm.transform.Sequential(passes)(module)

        return lower, tirx.compilation_pipeline.finalize_host_passes, tirx.compilation_pipeline.finalize_device_passes

    tirx.register_tir_pipeline("mine", factory)
    program = programs.mixed_types
    built = tvm.compile(module_of(program), "llvm", tir_pipeline="mine")
    a, o = np.arange(-8, 8, dtype="float32"), tvm.runtime.tensor(np.zeros(16, "float32"))
    built["entry"](tvm.runtime.tensor(a), o)
    np.testing.assert_allclose(o.numpy(), programs.PROGRAMS[program][2](a))


def lowered_by(name, program, config):
    pipeline, *_ = tirx.get_tir_pipeline(name)
    target = tvm.target.Target("llvm", host="llvm")
    with tvm.transform.PassContext(config=config):
        return pipeline(tirx.transform.BindTarget(target)(module_of(program)))


def allocations(module):
    names = []
    for function in module.functions.values():
        tvm_ffi.structural_walk(function.body, (tirx.AllocBuffer, lambda stmt: names.append(stmt.buffer.name)))
    return sorted(names)


def test_without_storage_rewrite_there_is_no_plan_either():
    register_pipeline()
    program = programs.branches
    assert allocations(lowered_by("memplan", program, {})) == ["arena_0", "arena_1"]
    off = {"tirx.disable_storage_rewrite": True}
    assert allocations(lowered_by("memplan", program, off)) == ["before", "orelse", "then"]


def test_only_storage_rewrite_and_the_merge_of_shared_memory_are_replaced():
    def names(pipeline):
        ran = []

        @tvm.instrument.pass_instrument
        class Names:
            def run_before_pass(self, module, info):
                ran.append(str(info.name))

        with tvm.transform.PassContext(instruments=[Names()]):
            lower, *_ = tirx.get_tir_pipeline(pipeline)
            lower(tirx.transform.BindTarget(tvm.target.Target("llvm", host="llvm"))(module_of(programs.branches)))
        return [name for name in ran if name not in ("sequential", "_pipeline", "tirx.BindTarget")]

    ours = ["tvm_memplan.PlanMemory", "tvm_memplan.RewriteStorage"]
    instead = {
        "tirx.StorageRewrite": [*ours, "tvm_memplan.StorageRewriteOfLaunches"],
        "s_tir.MergeSharedMemoryAllocations": [*ours, "tvm_memplan.MergeRestOfSharedMemory"],
    }
    standard = names("s_tir")
    assert set(instead) <= set(standard)
    assert names(register_pipeline()) == [ours for name in standard for ours in instead.get(name, [name])]


@T.prim_func(s_tir=True)
def two_launches(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
    between = T.alloc_buffer((128,), "float32")
    for i in T.thread_binding(128, "threadIdx.x"):
        own = T.alloc_buffer((4,), "float32", scope="local")
        own[0] = A[i] * T.float32(2)
        between[i] = own[0]
    for i in T.thread_binding(128, "threadIdx.x"):
        O[i] = between[127 - i]


def test_device_code_is_what_the_standard_pipeline_makes_of_it():
    target = tvm.target.Target("opencl", host="llvm")
    sources = []
    for pipeline in ("default", register_pipeline()):
        built = tvm.compile(module_of(two_launches), target, tir_pipeline=pipeline)
        sources.append(built.mod.imports[0].inspect_source())
    assert "__kernel" in sources[0]
    assert sources[0].replace("between", "arena_body_float32") == sources[1]
