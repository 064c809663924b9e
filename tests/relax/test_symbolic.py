"""Tensors whose sizes are not known: who shares with whom, proved, and the same bits at every size."""

from dataclasses import replace

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import GlobalVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tests.relax.networks import bounded, dynamic_bert
from tests.relax.running import FUSION, lowered, plans, same_bits, sharing
from tvm_memplan.dialects.relax import kernel_scratch, lift_workspace
from tvm_memplan.dialects.relax.sizes import TensorSize
from tvm_memplan.errors import BadPlan
from tvm_memplan.relax import PlanBlockMemory, plan
from tvm_memplan.transform.graphs import symbolic as graph_symbolic


def inputs_of(module, *sizes):
    for seed, known in enumerate(sizes):
        random = np.random.default_rng(seed)
        shapes = [
            [int(d) if isinstance(d, tirx.IntImm) else known[d.name] for d in p.ty.shape] for p in module["main"].params
        ]
        yield [(random.random(shape) + 0.5).astype("float32") for shape in shapes]


# -- in place ---------------------------------------------------------------------------------------------------------


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.add(b, a)
        d = R.nn.softmax(c, axis=-1)
        e = R.negative(d)
        return e


def test_an_output_of_open_size_takes_the_bytes_of_its_dying_input():
    made = plans(Chain)["main"]
    assert (made.symbolic[0].units, str(made.symbolic[0].factor)) == (2, "m * n")
    assert sharing(made) >= {"add", "softmax"}
    apart = plans(Chain, in_place=False, lift=False)["main"]
    assert apart.symbolic[0].units == 3 and apart.sharing == ()
    assert same_bits(Chain, inputs_of(Chain, {"n": 1, "m": 1}, {"n": 5, "m": 7}, {"n": 33, "m": 64}))


@I.ir_module
class Backwards:
    """The second kernel reads its input back to front."""

    @T.prim_func(private=True, s_tir=True)
    def backwards(px: T.handle, py: T.handle):
        n = T.int64()
        x = T.match_buffer(px, (n,), "float32")
        y = T.match_buffer(py, (n,), "float32")
        for i in range(n):
            with T.sblock("backwards"):
                vi = T.axis.remap("S", [i])
                y[vi] = x[vi] + x[n - 1 - vi]

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Backwards
        a = R.exp(x)
        b = R.call_tir(cls.backwards, (a,), out_ty=R.Tensor((n,), "float32"))
        c = R.exp(b)
        d = R.negative(c)
        return d


def test_what_is_not_proved_for_every_size_is_not_done_in_place():
    made = plans(Backwards)["main"]
    assert [arena.units for arena in made.symbolic] == [2]
    assert "backwards" not in sharing(made)
    assert same_bits(Backwards, inputs_of(Backwards, {"n": 1}, {"n": 8}, {"n": 100}))


def all_at_zero(drafts, *_):
    return [replace(draft, places=dict.fromkeys(draft.places, 0)) for draft in drafts]


@pytest.mark.parametrize("module", [Chain, Backwards], ids=["chain", "backwards"])
def test_a_wrong_plan_of_open_sizes_is_refused_and_would_show(module, monkeypatch):
    monkeypatch.setattr(graph_symbolic, "moved_in", all_at_zero)
    with pytest.raises(BadPlan):
        plans(module, in_place=False)
    monkeypatch.setattr(graph_symbolic, "check_plan", lambda plan: None)
    sizes = [{"n": 9, "m": 5}]
    assert not same_bits(module, inputs_of(module, *sizes), PlanBlockMemory(in_place=False))


# -- guests -----------------------------------------------------------------------------------------------------------


@I.ir_module
class Guests:
    """`n` has room in `n * m`, whose tensor is dead by then; `k` is no less and no more than either."""

    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n",), "float32"), z: R.Tensor(("k",), "float32")):
        a = R.exp(x)
        b = R.sqrt(a)
        c = R.exp(y)
        d = R.sqrt(c)
        e = R.exp(z)
        f = R.sqrt(e)
        return (b, d, f)


def test_a_tensor_lies_where_one_that_is_no_smaller_did():
    made = plans(Guests)["main"]
    (arena,) = made.symbolic
    assert (arena.units, list(arena.tensors.values())) == (1, [0, 0])
    assert str(arena.factor) == "T.max(m, T.int64(1)) * n"
    assert any(left.reason.startswith("unbounded in k and nothing to share with") for left in made.left_alone)


def test_a_guest_has_room_whatever_the_sizes_are():
    # Also where the host has no elements at all.
    sizes = [(4, 9, 50), (1, 1, 1), (60, 2, 3), (40, 0, 5), (0, 4, 5)]
    assert same_bits(Guests, inputs_of(Guests, *(dict(zip("nmk", some)) for some in sizes)))


def test_what_is_no_larger_whatever_the_variables_are():
    n, m, k = (tirx.Var(name, "int64") for name in "nmk")
    one = TensorSize(4, (n,))
    assert one.held_by(TensorSize(4, (n, n))) == frozenset()
    assert one.held_by(TensorSize(4, (m, n))) == {m}
    assert one.held_by(TensorSize(4, (n, m + 1))) == frozenset()
    assert one.held_by(TensorSize(4, (n, m - 1))) is None
    assert one.held_by(TensorSize(4, (m, k))) is None
    assert one.held_by(TensorSize(4, (n + m,))) is None
    assert TensorSize(4, (n + 1,)).held_by(TensorSize(4, (n + 1, n))) == {n}
    assert TensorSize(4, (n, n)).held_by(TensorSize(4, (n,))) is None


def test_different_multiples_of_one_factor_share_what_the_larger_one_has():
    @I.ir_module
    class Multiples:
        @R.function
        def main(x: R.Tensor(("n", 6), "float32")):
            a = R.exp(x)
            s = R.sum(a, axis=1)
            t = R.sqrt(s)
            u = R.exp(t)
            v = R.sum(u)
            out = R.negative(v)
            return out

    made = plans(Multiples, in_place=False)["main"]
    assert {(arena.unit, arena.units, len(arena.tensors)) for arena in made.symbolic} == {(24, 1, 2), (4, 1, 2)}
    assert same_bits(Multiples, inputs_of(Multiples, {"n": 1}, {"n": 3}, {"n": 50}), PlanBlockMemory(in_place=False))


# -- kernel scratch ---------------------------------------------------------------------------------------------------


def scratch_of(module):
    with tvm.target.Target("llvm"):
        before = lowered(module)
        return kernel_scratch(before), kernel_scratch(lift_workspace(before))


def test_scratch_whose_size_follows_from_the_arguments_is_planned():
    inside, lifted = scratch_of(Chain)
    assert inside["softmax"].unknown and not lifted
    names = {name for arena in plans(Chain)["main"].symbolic for name in arena.tensors}
    assert any("softmax" in name for name in names)


def test_scratch_of_open_size_is_planned_at_its_bound():
    module = Chain.clone()
    module.update_func(module.get_global_var("main"), Chain["main"].with_attr("tir_var_upper_bound", {"n": 8, "m": 64}))
    report = plan(module, in_place=False).report
    rows = {row.name: row for row in report.allocations}
    assert rows["softmax_T_softmax_exp"].size == 8 * 64 * 4 and rows["softmax_T_softmax_exp"].pool == "arena"
    assert not [note for note in report.notes if "for itself" in note]
    assert same_bits(module, inputs_of(module, {"n": 1, "m": 1}, {"n": 3, "m": 64}, {"n": 8, "m": 10}))


@I.ir_module
class Workers:
    """Each worker of a parallel loop has scratch of its own, whose size is open."""

    @T.prim_func(private=True, s_tir=True)
    def sums(px: T.handle, py: T.handle):
        n = T.int64()
        x = T.match_buffer(px, (4, n), "float32")
        y = T.match_buffer(py, (4, n), "float32")
        for i in T.parallel(4):
            with T.sblock("row"):
                vi = T.axis.remap("S", [i])
                row = T.sblock_alloc_buffer((n,), "float32")
                for j in range(n):
                    row[j] = x[vi, j] * T.float32(2)
                for j in range(n):
                    y[vi, j] = row[j] + row[n - 1 - j]

    @R.function
    def main(x: R.Tensor((4, "n"), "float32")):
        n = T.int64()
        cls = Workers
        a = R.exp(x)
        b = R.call_tir(cls.sums, (a,), out_ty=R.Tensor((4, n), "float32"))
        c = R.exp(b)
        d = R.negative(c)
        return d


def test_scratch_of_parallel_workers_stays_in_the_kernel_and_is_said():
    inside, lifted = scratch_of(Workers)
    assert inside["sums"] == lifted["sums"] and lifted["sums"].unknown == ("row",)
    assert [note for note in plan(Workers).report.notes if "kernel sums also allocates row for itself" in note]
    assert same_bits(Workers, inputs_of(Workers, {"n": 1}, {"n": 300}))


# -- a whole model ----------------------------------------------------------------------------------------------------


def test_a_dynamic_transformer_takes_as_much_as_its_largest_layer_and_no_scratch():
    made = plans(dynamic_bert().module, FUSION)["forward"]
    plain = plans(dynamic_bert().module, FUSION, in_place=False)["forward"]
    assert sum(arena.units * arena.unit for arena in made.symbolic) < sum(a.units * a.unit for a in plain.symbolic)
    at_bound = plans(bounded(dynamic_bert()).module, FUSION)["forward"]
    assert sum(at_bound.arenas.values()) <= sum(
        plans(bounded(dynamic_bert()).module, FUSION, in_place=False, lift=False)["forward"].arenas.values()
    )


@I.ir_module
class Stacked:
    """What is written in place says how large it is, and what it is written over does not."""

    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")):
        n = T.int64()
        a = R.concat([x, y], axis=0)
        b = R.reshape(a, R.shape([2, n, 3]))
        return R.sum(b, axis=0)


def test_in_place_over_what_does_not_say_its_size():
    found = plans(Stacked)["main"]
    assert sharing(found) == {"reshape"} and all(one.overlaps for one in found.sharing)
    # A spy may keep what it is shown, so with one nothing would be one argument.
    assert same_bits(Stacked, inputs_of(Stacked, {"n": 1}, {"n": 5}, {"n": 32}), spy=False)


@pytest.mark.parametrize("options", [{}, {"bounds": {"n": 9}}], ids=["in place", "checked"])
def test_what_is_added_to_the_module_is_called_by_its_own_variable(options):
    with tvm.target.Target("llvm"):
        made = PlanBlockMemory(**options)(lowered(Stacked))
    known, called = list(made.functions), []
    tvm_ffi.structural_walk(made["main"].body, (GlobalVar, called.append))
    new = "main_check_bounds" if options else "reshape_in_place"
    assert new in {str(var.name_hint) for var in called}
    assert all(any(var.same_as(own) for own in known) for var in called)
