"""Whole models, planned and not: the same bits, in less memory."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import ir, relax
from tvm.script import ir as I
from tvm.script import relax as R

from tests.relax.networks import SMALL, bounded, dynamic_bert
from tests.relax.running import FUSION, finished, lowered, plans, run, same_bits
from tvm_memplan.dialects.relax import capture
from tvm_memplan.planning.model import Kind, Placement, Plan
from tvm_memplan.planning.planners import plan as plan_problem
from tvm_memplan.relax import PlanBlockMemory, buckets, buckets_text, build, plan

#: Both pipelines for the models that fusion changes most; the others by turns, since every row is two builds.
ROWS = [
    ("perceptron", ()),
    ("resnet", FUSION),
    ("mobilenet", ()),
    ("u_net", FUSION),
    ("bert", FUSION),
    ("llama", ()),
    ("branching", FUSION),
    ("dynamic_bert", ()),
]
every_row = pytest.mark.parametrize("name, fusion", ROWS, ids=[f"{n}-{'fused' if f else 'plain'}" for n, f in ROWS])


def inputs_of(network):
    return [network.arguments(seed, network.sizes[seed % len(network.sizes)]) for seed in (1, 2, 3)]


def theirs(module, function):
    """Bytes of TVM's plan, and of what it leaves to the run time although it is not returned."""
    with tvm.target.Target("llvm"):
        planned = relax.transform.StaticPlanBlockMemory()(module)
    left = capture(planned, planned[function], function).tensors.values()
    return sum(_storages(planned[function].body)) + sum(tensor.size.bytes for tensor in left)


def _storages(seq):
    for block in seq.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                yield from _storages(value.true_branch)
                yield from _storages(value.false_branch)
            elif isinstance(value, ir.Call) and getattr(value.op, "name", "") == "relax.memory.alloc_storage":
                size = value.args[0].values[0]
                yield int(size) if isinstance(size, tvm.tirx.IntImm) else 0


@every_row
def test_planned_and_unplanned_models_compute_the_same_bits(name, fusion):
    network = SMALL[name]()
    assert same_bits(network.module, inputs_of(network), function=network.function, before=fusion)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "dynamic_bert"])
def test_ours_is_at_the_bound_and_never_above_tvms(name):
    network = SMALL[name]()
    for fusion in ((), FUSION):
        module = lowered(network.module, fusion)
        # Tensors between kernels only, since TVM plans nothing else.
        made = plans(network.module, fusion, lift=False, in_place=False)[network.function].report().pool("arena")
        shared = plans(network.module, fusion, lift=False)[network.function].report().pool("arena")
        assert made.planned == made.bound
        assert shared.planned <= made.planned <= theirs(module, network.function)


def test_results_depend_on_inputs_and_weights():
    network = SMALL["bert"]()
    executable = finished(lowered(network.module), PlanBlockMemory(), spy=False)
    values = network.arguments(1)
    before = run(executable, values, network.function)[0][0]
    for i, value in enumerate(values):
        changed = [value * np.float32(1.5) if k == i else v for k, v in enumerate(values)]
        assert not np.array_equal(run(executable, changed, network.function)[0][0], before), i


@pytest.mark.parametrize("name", ["perceptron", "llama", "branching"])
def test_a_wrong_plan_shows(name, monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.graphs.plan.check_plan", lambda plan: None)

    def overlapping(problem):
        # Every second tensor moves to the start, so that some of those that are alive together overlap.
        made = plan_problem(problem)
        places = [
            Placement(place.pool, 0) if place.pool == "arena" and i % 2 else place
            for i, place in enumerate(made.placements)
        ]
        return Plan(problem, tuple(places))

    network = SMALL[name]()
    inputs = inputs_of(network)
    assert not same_bits(network.module, inputs, PlanBlockMemory(overlapping), network.function)


def test_build_returns_an_executable_and_its_figures():
    network = SMALL["perceptron"]()
    executable, report = build(network.module, "llvm", fused=True, model="mlp")
    plain = relax.build(network.module, "llvm")
    for values in inputs_of(network):
        ours, usual = (run(made, values, network.function)[0][0] for made in (executable, plain))
        assert ours.tobytes() == usual.tobytes()
    assert (report.model, report.target, report.planner) == ("mlp", "llvm", "auto")
    assert {pool.pool for pool in report.pools} == {"arena", "weights", "caller"}
    assert report.total(Kind.WEIGHTS) == sum(v.nbytes for v in network.arguments(1)[1:])


def test_the_compiled_executor_runs_the_plan_as_well():
    network = SMALL["branching"]()
    executable, _ = build(network.module, exec_mode="compiled")
    plain = finished(lowered(network.module), lambda module: module, spy=False)
    for values in inputs_of(network):
        ours, usual = (run(made, values)[0][0] for made in (executable, plain))
        assert ours.tobytes() == usual.tobytes()


def test_buckets_grow_with_their_bounds():
    network = dynamic_bert()
    made = buckets(network.module, "llvm", [{"n": n} for n in (1, 8, 64)])
    sizes = [bucket.report.pool("arena").planned for bucket in made]
    assert sizes == sorted(sizes) and sizes[0] < sizes[2]
    assert "n <= 64" in buckets_text(made)


def test_declared_bounds_make_everything_static():
    network = bounded(dynamic_bert())
    made = plans(network.module)[network.function]
    assert not made.symbolic and not made.left_alone
    assert same_bits(network.module, inputs_of(network), function=network.function)


def chain(length):
    """A module of `length` bindings, of which no two neighbours are of one size."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 16), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            values = [x]
            for i in range(length):
                kind = (relax.op.exp, relax.op.negative, relax.op.abs)[i % 3]
                value = kind(values[-1])
                if i % 5 == 4 and len(values) > 40:
                    value = relax.op.add(values[-1], values[-17])
                values.append(builder.emit(value))
            out = builder.emit_output(values[-1])
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.slow
def test_thousands_of_bindings_are_planned():
    report = plan(chain(4000)).report
    assert len(report.steps) >= 4000
    assert report.pool("arena").planned == report.pool("arena").bound


def test_no_tensor_is_copied_to_where_a_kernel_can_use_it():
    @I.ir_module
    class Offsets:
        @R.function
        def main(x: R.Tensor((3, 7), "float32")):
            a = R.exp(x)
            b = R.sqrt(a)
            c = R.add(a, b)
            d = R.multiply(c, b)
            e = R.add(d, a)
            return e

    places = []

    @tvm.register_global_func("tvm_memplan.tests.spy_tensor", override=True)
    def address(tensor):
        places.append(np.from_dlpack(tensor).ctypes.data)

    from tests.relax import running

    try:
        made = plans(Offsets, in_place=False)["main"]
        executable = finished(lowered(Offsets), PlanBlockMemory(in_place=False))
        run(executable, [np.ones((3, 7), "float32")])
    finally:
        tvm.register_global_func("tvm_memplan.tests.spy_tensor", running._spy, override=True)
    offsets = [row.offset for row in made.report().allocations if row.kind is Kind.ACTIVATION]
    assert max(offsets) > 0
    assert [place - places[0] for place in places[: len(offsets)]] == [offset - offsets[0] for offset in offsets]
