"""Kernels in which arguments that share bytes are one: whatever they look like, and for whoever calls them."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import ir, relax, s_tir, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm.tirx.buffer import is_buffer_var

from tests.relax.running import finished, lowered, same_bits
from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Placement, Plan
from tvm_memplan.planning.planners import plan as plan_problem
from tvm_memplan.relax import PlanBlockMemory


def behind(start):
    """A planner that puts the first tensor at the start of the arena and the second at `start`, where that is right."""

    def planner(problem):
        made = plan_problem(problem)
        inside = [i for i, place in enumerate(made.placements) if place.pool == "arena"]
        tensors = [i for i in inside if "kept" not in problem.buffers[i].name]
        places = list(made.placements)
        for k, i in enumerate([*tensors, *({*inside} - {*tensors})]):
            places[i] = Placement("arena", (0, start)[k] if k < 2 else 1024 * (k - 1))
        try:
            check_plan(Plan(problem, tuple(places)))
        except BadPlan:
            # As large as can be, so that it is not chosen.
            places = [Placement("arena", 8192 * i) if i in inside else p for i, p in enumerate(places)]
        return Plan(problem, tuple(places))

    return planner


def shown(module, **options):
    """Kernels of the module that the pass makes, and what it says besides."""
    found = []
    with tvm.target.Target("llvm"):
        made = PlanBlockMemory(look=found.append, **options)(lowered(module))
    kernels = {str(var.name_hint): f for var, f in made.functions.items() if isinstance(f, tirx.PrimFunc)}
    return kernels, " ".join(found[0].notes)


def backwards(kind):
    """A kernel that has read all of its input before it writes its output; `kind` is what counts its rows."""

    @T.prim_func(private=True, s_tir=True)
    def kernel(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = kind()
        x = T.match_buffer(a, (n, 3), "float32")
        y = T.match_buffer(b, (n, 3), "float32")
        kept = T.sblock_alloc_buffer((n, 3), "float32")
        for i, j in T.grid(n, 3):
            with T.sblock("keep"):
                vi, vj = T.axis.remap("SS", [i, j])
                kept[vi, vj] = x[vi, vj] * T.float32(2)
        for i, j in T.grid(n, 3):
            with T.sblock("turn"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = kept[n - 1 - vi, vj] + T.float32(1)

    return kernel


def calling(kernel, rows="n"):
    """A module that calls it between two others, with so many rows."""
    builder = relax.BlockBuilder()
    rows = tirx.Var(rows, "int64") if isinstance(rows, str) else rows
    x = ir.Var("x", relax.TensorType([rows, 3], "float32"))
    with builder.function("main", [x]):
        turned = builder.add_func(kernel, "backwards")
        a = builder.emit(relax.op.exp(x))
        b = builder.emit(relax.call_tir(turned, a, relax.TensorType([rows, 3], "float32")))
        builder.emit_func_output(builder.emit(relax.op.negative(b)))
    return builder.get()


OPEN = calling(backwards(T.int64))

ROWS = [[np.random.default_rng(n).normal(size=(n, 3)).astype("float32")] for n in (1, 5, 40)]


def test_a_kernel_is_told_the_sizes_that_its_arguments_no_longer_say():
    options = {"bounds": {"n": 40}, "planner": behind(64)}
    kernels, notes = shown(OPEN, **options)
    assert [is_buffer_var(param) for param in kernels["backwards_overlapping"].params] == [True, True, False]
    assert "promise" not in notes
    assert same_bits(OPEN, ROWS, PlanBlockMemory(**options), spy=False)


@I.ir_module
class Forgotten:
    """The caller no longer knows how many rows there are."""

    @T.prim_func(private=True, s_tir=True)
    def sums(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(a, (n, 3), "float32")
        y = T.match_buffer(b, (64,), "float32")
        kept = T.sblock_alloc_buffer((3,), "float32")
        for j in T.grid(3):
            with T.sblock("zero"):
                vj = T.axis.remap("S", [j])
                kept[vj] = T.float32(0)
        for i, j in T.grid(n, 3):
            with T.sblock("keep"):
                vi, vj = T.axis.remap("RS", [i, j])
                kept[vj] = kept[vj] + x[vi, vj]
        for i in T.grid(64):
            with T.sblock("turn"):
                vi = T.axis.remap("S", [i])
                y[vi] = kept[vi % 3] + T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        cls = Forgotten
        a = R.exp(x)
        same = R.match_cast(a, R.Tensor("float32", ndim=2))
        b = R.call_tir(cls.sums, (same,), out_ty=R.Tensor((64,), "float32"))
        c = R.negative(b)
        return c


def test_a_size_that_the_caller_does_not_know_is_not_asked_for():
    options = {"bounds": {"n": 40}, "planner": behind(64)}
    kernels, notes = shown(Forgotten, **options)
    assert "sums" in kernels and "'sums'" in notes and "no promise" in notes
    assert same_bits(Forgotten, ROWS, PlanBlockMemory(**options), spy=False)


def test_where_the_promise_is_taken_back_no_function_of_ours_gives_it_again():
    # LLVM's code generator goes by what the last function promises.
    kernels, _ = shown(Forgotten, bounds={"n": 40}, planner=behind(64))
    assert "main_check_bounds" in kernels
    assert not [name for name, f in kernels.items() if "tirx.noalias" in (f.attrs or {})]


def test_where_it_is_kept_every_function_of_ours_gives_it():
    kernels, _ = shown(OPEN, bounds={"n": 40}, planner=behind(64))
    assert all("tirx.noalias" in f.attrs for f in kernels.values())


@pytest.mark.parametrize("options", [{}, {"bounds": {"n": 40}, "planner": behind(64)}], ids=["open", "bounded"])
def test_sizes_of_32_bits_are_neither_lifted_nor_handed_over(options):
    assert same_bits(calling(backwards(T.int32)), ROWS, PlanBlockMemory(**options), spy=False)


def test_scratch_of_open_size_is_lifted_for_a_caller_who_knows_the_size():
    assert same_bits(calling(backwards(T.int64), rows=40), ROWS[2:], spy=False)


@I.ir_module
class Strided:
    """Where elements lie is told by the parameters alone."""

    @T.prim_func(private=True, s_tir=True)
    def backwards(a: T.handle, b: T.handle):
        s = T.int32()
        t = T.int32()
        x = T.match_buffer(a, (64,), "float32", strides=(s,))
        y = T.match_buffer(b, (64,), "float32", strides=(t,))
        kept = T.sblock_alloc_buffer((64,), "float32")
        for i in range(64):
            with T.sblock("keep"):
                vi = T.axis.remap("S", [i])
                kept[vi] = x[63 - vi]
        for i in range(64):
            with T.sblock("out"):
                vi = T.axis.remap("S", [i])
                y[vi] = kept[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Strided
        a = R.add(x, x)
        b = R.call_tir(cls.backwards, (a,), out_ty=R.Tensor((64,), "float32"))
        c = R.add(b, b)
        return c


VECTOR = [[np.random.default_rng(7).normal(size=64).astype("float32")]]


def test_what_only_a_parameter_that_would_be_gone_tells_keeps_it():
    kernels, notes = shown(Strided)
    assert "backwards" in kernels and "'backwards'" in notes
    assert same_bits(Strided, VECTOR, spy=False)


@I.ir_module
class Odd:
    """Bytes that are no whole number of floats, over floats."""

    @T.prim_func(private=True, s_tir=True)
    def odd(x: T.Buffer((64,), "float32"), y: T.Buffer((257,), "int8")):
        T.func_attr({"tirx.noalias": True})
        kept = T.sblock_alloc_buffer((64,), "float32")
        for i in range(64):
            with T.sblock("keep"):
                vi = T.axis.remap("S", [i])
                kept[vi] = x[63 - vi]
        for i in range(257):
            with T.sblock("o"):
                vi = T.axis.remap("S", [i])
                y[vi] = T.Cast("int8", kept[vi % 64])

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Odd
        a = R.exp(x)
        b = R.call_tir(cls.odd, (a,), out_ty=R.Tensor((257,), "int8"))
        c = R.add(b, b)
        return c


def test_elements_of_several_sizes_are_handed_over_as_one():
    options = {"planner": behind(64)}
    kernels, notes = shown(Odd, **options)
    assert "odd_overlapping" in kernels and "promise" not in notes
    assert same_bits(Odd, VECTOR, PlanBlockMemory(**options), spy=False)


@I.ir_module
class Tuned:
    """To be scheduled: with a small buffer that a vector fills."""

    @T.prim_func(private=True, s_tir=True)
    def squares(x: T.Buffer((32, 32), "float32"), y: T.Buffer((32, 32), "float32")):
        T.func_attr({"tirx.noalias": True})
        more = T.sblock_alloc_buffer((32, 32), "float32")
        for i, j in T.grid(32, 32):
            with T.sblock("more"):
                vi, vj = T.axis.remap("SS", [i, j])
                more[vi, vj] = x[vi, vj] + T.float32(1)
        for i, j in T.grid(32, 32):
            with T.sblock("out"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = more[vi, vj] * more[vi, vj // 2]

    @R.function
    def main(x: R.Tensor((32, 32), "float32")):
        cls = Tuned
        a = R.add(x, x)
        b = R.call_tir(cls.squares, (a,), out_ty=R.Tensor((32, 32), "float32"))
        c = R.add(b, b)
        return c


@pytest.mark.parametrize("options", [{}, {"in_place": False}], ids=["in place", "lifted"])
def test_a_vectorised_kernel_is_lowered_only_as_far_as_it_can_be_lowered_again(options):
    schedule = s_tir.Schedule(Tuned)
    schedule.work_on("squares")
    more, out = schedule.get_sblock("more"), schedule.get_sblock("out")
    rows, columns = schedule.get_loops(out)
    schedule.vectorize(schedule.split(columns, [None, 8])[1])
    schedule.compute_at(more, rows)
    schedule.vectorize(schedule.get_loops(more)[-1])
    values = [[np.random.default_rng(3).normal(size=(32, 32)).astype("float32")]]
    assert same_bits(schedule.mod, values, PlanBlockMemory(**options), spy=False)


def test_a_module_may_name_external_functions():
    module = lowered(Odd)
    module["others"] = relax.ExternFunc("vm.builtin.reshape")
    found = finished(module, PlanBlockMemory(), spy=False)
    (theirs,) = (finished(lowered(Odd), lambda made: made, spy=False),)
    values = tvm.runtime.tensor(VECTOR[0][0])
    one, other = (relax.VirtualMachine(made, tvm.cpu())["main"](values).numpy() for made in (found, theirs))
    assert one.tobytes() == other.tobytes()
