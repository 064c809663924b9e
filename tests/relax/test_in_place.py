"""In place between kernels: only where it is proved, and with no promise broken."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tests.relax import programs
from tests.relax.networks import SMALL
from tests.relax.running import FUSION, finished, lowered, plans, same_bits, sharing
from tvm_memplan.dialects.line import relax_dialect
from tvm_memplan.planning.model import Placement, Plan
from tvm_memplan.planning.planners import plan as plan_problem
from tvm_memplan.relax import PlanBlockMemory
from tvm_memplan.transform.graphs.write import original_name


def written(module, target="llvm", before=(), **options):
    """What the pass makes of a module."""
    with tvm.target.Target(target):
        return PlanBlockMemory(**options)(lowered(module, before))


def promises(module):
    """The kernels that promise that their parameters do not overlap."""
    return {
        str(var.name_hint)
        for var, f in module.functions.items()
        if isinstance(f, tirx.PrimFunc) and "tirx.noalias" in f.attrs
    }


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.add(x, x)
        b = R.exp(a)
        c = R.sqrt(b)
        d = R.negative(c)
        e = R.multiply(d, d)
        return e


def test_a_chain_of_element_wise_kernels_takes_one_tensor():
    assert plans(Chain)["main"].arenas == {"arena": 256}
    assert plans(Chain, in_place=False)["main"].arenas == {"arena": 512}
    assert same_bits(Chain, [[np.linspace(1, 2, 64, dtype="float32") * k] for k in (1, 2, 3)])


def test_what_is_written_in_place_is_one_parameter_with_its_input_so_that_no_promise_is_broken():
    before, after = lowered(Chain), written(Chain)
    names = sharing(plans(Chain)["main"])
    assert names and names < promises(before)
    kernels = {str(var.name_hint): f for var, f in after.functions.items() if isinstance(f, tirx.PrimFunc)}
    assert kernels.keys() == (promises(before) - names) | {f"{name}_in_place" for name in names}
    assert promises(after) == kernels.keys()
    assert all(len(kernels[f"{name}_in_place"].params) == 1 for name in names)


def test_a_tensor_that_is_two_inputs_and_the_output_is_one_parameter():
    made = written(Chain, donated=["x"])
    assert len(made["add_in_place"].params) == len(made["multiply_in_place"].params) == 1
    values = [np.linspace(1, 2, 64, dtype="float32")]
    assert same_bits(Chain, [values], PlanBlockMemory(donated=["x"]))


@pytest.fixture(scope="module")
def by_time():
    """A model in which a kernel's input is dead before its output is written over part of it."""
    network = SMALL["bert"]()
    made = plans(network.module, FUSION)[network.function]
    assert any(overlap.size for one in made.sharing for overlap in one.overlaps)
    return network.module, sharing(made)


def promised(module, **options):
    """The functions of which LLVM hears that their parameters do not overlap."""
    made = finished(lowered(module, FUSION), PlanBlockMemory(**options), spy=False)
    source = made.mod.imports[0].inspect_source("ll")
    heads = [line for line in source.splitlines() if line.startswith("define") and "_compute_(" in line]
    return [line for line in heads if "noalias" in line.split("_compute_(")[1]]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_what_overlaps_in_another_way_is_one_parameter_so_that_no_promise_is_broken(by_time, target):
    module, names = by_time
    before, after = lowered(module, FUSION), written(module, target, FUSION)
    made = {str(var.name_hint) for var, f in after.functions.items() if isinstance(f, tirx.PrimFunc)}
    new = made - promises(before)
    assert promises(after) == made
    assert {original_name(name) for name in new} == names
    assert any(name.rstrip("_").endswith("_overlapping") for name in new)


def test_what_overlaps_in_another_way_computes_the_same(by_time):
    # What is between kernels is compared, too, elsewhere: nothing is one argument that a spy may keep.
    module, _ = by_time
    network = SMALL["bert"]()
    assert same_bits(module, [network.arguments(seed) for seed in range(3)], None, network.function, FUSION, spy=False)


@pytest.fixture
def never_one(monkeypatch):
    """No kernel can be made that takes what shares bytes as one."""
    monkeypatch.setattr(relax_dialect(), "merged_kernels", lambda module, wanted: {})


@pytest.mark.usefixtures("never_one")
def test_where_arguments_cannot_be_one_the_promise_is_taken_back(by_time):
    module, names = by_time
    before = promises(lowered(module, FUSION))
    assert before - promises(written(module, "c", FUSION)) == names
    # Its LLVM code generator writes all functions of a module by what the last one promises.
    assert promises(written(module, "llvm", FUSION)) == set()


@pytest.mark.usefixtures("never_one")
def test_llvm_is_told_that_such_arguments_may_overlap(by_time):
    # Only what LLVM gets can show that: whether it makes use of a promise is a matter of luck.
    module, _ = by_time
    assert not promised(module) and promised(module, in_place=False)


@pytest.mark.usefixtures("never_one")
def test_it_is_said_where_code_may_be_slower_for_it(by_time):
    module, _ = by_time
    found = []
    written(module, before=FUSION, look=found.append)
    assert any("no promise" in note and "in_place=False" in note for note in found[0].notes)


def test_nothing_is_said_where_all_promises_are_kept(by_time):
    module, _ = by_time
    found = []
    written(module, before=FUSION, look=found.append)
    assert found[0].notes == ()


def test_no_promise_is_taken_back_where_sharing_saves_nothing():
    # The peak is that of the two large ones; the small ones fit beside them without being looked into.
    @I.ir_module
    class Large:
        @R.function
        def main(x: R.Tensor((64,), "float32"), w: R.Tensor((64, 64), "float32")):
            large = R.permute_dims(w)
            more = R.matmul(large, w)
            s = R.sum(more, axis=1)
            a = R.add(x, s)
            b = R.exp(a)
            c = R.sqrt(b)
            return c

    assert plans(Large)["main"].sharing == ()
    assert promises(written(Large)) == promises(lowered(Large))


def test_a_tensor_that_a_sibling_still_reads_is_not_overwritten():
    made = plans(programs.Sibling)["main"]
    at = {row.name: row.offset for row in made.report().allocations}
    source = next(r for r in made.report().allocations if r.operator == "add")
    relu = next(r for r in made.report().allocations if r.operator == "relu")
    assert at[source.name] != at[relu.name]


def test_an_input_is_never_overwritten():
    module = lowered(Chain)
    x = np.linspace(1, 2, 64, dtype="float32")
    tensor = tvm.runtime.tensor(x)
    relax.VirtualMachine(finished(module, PlanBlockMemory(), spy=False), tvm.cpu())["main"](tensor)
    assert tensor.numpy().tobytes() == x.tobytes()


@I.ir_module
class Reversed:
    """The second kernel reads its input back to front."""

    @T.prim_func(private=True, s_tir=True)
    def backwards(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("backwards"):
                vi = T.axis.remap("S", [i])
                y[vi] = x[vi] + x[63 - vi]

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Reversed
        a = R.exp(x)
        b = R.call_tir(cls.backwards, (a,), out_ty=R.Tensor((64,), "float32"))
        c = R.negative(b)
        return c


@I.ir_module
class Twice:
    """The second kernel writes each element twice, and reads the input each time."""

    @T.prim_func(private=True, s_tir=True)
    def again(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
        for j, i in T.grid(2, 64):
            with T.sblock("again"):
                _vj, vi = T.axis.remap("RS", [j, i])
                y[vi] = x[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((64,), "float32")):
        cls = Twice
        a = R.exp(x)
        b = R.call_tir(cls.again, (a,), out_ty=R.Tensor((64,), "float32"))
        c = R.negative(b)
        return c


@pytest.mark.parametrize("module", [Reversed, Twice], ids=["backwards", "twice"])
def test_what_is_not_proved_is_not_done_in_place(module):
    made = plans(module)["main"]
    assert made.arenas == {"arena": 512} and made.sharing == ()
    assert same_bits(module, [[np.linspace(0, 1, 64, dtype="float32") * k] for k in (1, 2)])


@pytest.mark.parametrize("module", [Reversed, Twice], ids=["backwards", "twice"])
def test_done_in_place_all_the_same_it_would_show(module, monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.graphs.plan.check_plan", lambda plan: None)

    def at_zero(problem):
        made = plan_problem(problem)
        places = (Placement(p.pool, 0) if p.pool == "arena" else p for p in made.placements)
        return Plan(problem, tuple(places))

    inputs = [[np.linspace(0, 1, 64, dtype="float32")]]
    assert not same_bits(module, inputs, PlanBlockMemory(at_zero))


def test_a_view_that_may_begin_elsewhere_is_no_reason_to_share():
    @I.ir_module
    class Viewed:
        @R.function
        def main(x: R.Tensor((64,), "float32")):
            a = R.exp(x)
            half = R.memory.view(a, R.shape([32]), R.dtype("float32"), R.prim_value(128))
            b = R.sqrt(half)
            c = R.negative(b)
            return c

    made = plans(Viewed)["main"]
    rows = {row.operator: row for row in made.report().allocations}
    assert rows["tir_exp"].offset != rows["tir_sqrt"].offset
