"""Programs on which shipping planners have been wrong: what they compute, and in how much memory."""

from itertools import product

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import ir, relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R

from tests.relax import programs
from tests.relax.running import finished, lowered, plans, run, same_bits
from tvm_memplan.dialects.relax.sizes import measure
from tvm_memplan.errors import BadInput, UnsupportedIR
from tvm_memplan.planning.model import Kind
from tvm_memplan.relax import PlanBlockMemory, build, plan
from tvm_memplan.report.by_operator import by_operator, peak_bytes


@tvm.register_global_func("tvm_memplan.tests.second", override=True)
def _second(_one, other):
    return other


def inputs_of(module, sizes=({},)):
    """Inputs for every choice of the conditions, at every one of the sizes."""
    params = module["main"].params
    conditions = sum(str(p.ty.dtype.dtype) == "bool" for p in params)
    for number, (choices, known) in enumerate(product(product((True, False), repeat=conditions), sizes)):
        random, left = np.random.default_rng(number), list(choices)
        values = []
        for param in params:
            dtype = str(param.ty.dtype.dtype)
            shape = [int(d) if isinstance(d, tirx.IntImm) else known[d.name] for d in param.ty.shape]
            values.append(np.array(left.pop()) if dtype == "bool" else (random.random(shape) * 4 + 0.5).astype(dtype))
        yield values


FIXED = {
    "MatchCast": 352,
    "PackedView": 256,
    "UnknownPacked": 384,
    "UnreadOutput": 192,
    "Sibling": 512,
    "InOut": 128,
    "ShiftedSlice": 512,
    "OneBranch": 128,
    "TwoIfs": 1024,
    "SwappedTuples": 1024,
    "Caller": 512,
    "Recursive": 0,
}


@pytest.mark.parametrize("name", FIXED)
def test_programs_compute_the_same_bits_in_as_much_memory_as_it_takes(name):
    module = getattr(programs, name)
    assert same_bits(module, inputs_of(module))
    assert sum(plans(module)["main"].arenas.values()) == FIXED[name]


def test_a_tensor_that_is_filled_piece_by_piece_is_alive_all_the_while():
    # Between the pieces the rest of it holds nothing that two builds would agree in.
    assert same_bits(programs.Pieces, inputs_of(programs.Pieces), spy=False)
    rows = {row.name: row for row in plans(programs.Pieces)["main"].report().allocations}
    assert rows["whole"].live_ranges[0].start <= 1 and rows["whole"].live_ranges[0].stop >= 4


@pytest.mark.parametrize("name", ["Bounded", "LowerBound", "TwoDimensions", "Mixed"])
def test_programs_with_open_dimensions_compute_the_same_bits(name):
    module = getattr(programs, name)
    assert same_bits(module, inputs_of(module, [{"n": n, "m": n + 1, "batch": n} for n in (1, 3, 4)]))


def test_a_reshape_of_a_packed_call_keeps_its_argument_alive():
    rows = {row.name: row for row in plans(programs.PackedView)["main"].report().allocations}
    source, other = (next(r for n, r in rows.items() if r.operator == op) for op in ("tir_exp", "add"))
    assert source.live_ranges[0].stop > other.live_ranges[0].start
    assert source.offset != other.offset


def test_recursion_is_left_alone_and_said_so():
    report = plan(programs.Recursive).report
    assert [pool.pool for pool in report.pools if pool.pool == "arena"] == []
    assert any("calls itself" in left.reason for left in report.left_alone)


def test_what_a_called_function_needs_is_counted_at_its_call():
    made = plan(programs.Caller, in_place=False)
    own = made.reports["chosen"].pool("arena").planned
    rows = [row for row in made.report.allocations if row.name == "chosen memory"]
    assert [row.size for row in rows] == [own] and rows[0].kind is Kind.WORKSPACE


def test_outputs_count_from_their_definition_and_inputs_are_shown_apart():
    report = plan(programs.Softmaxes, in_place=False, lift=False).report
    one = 256 * 256 * 4
    around = (Kind.INPUT, Kind.WORKSPACE)
    assert [row.total(around) for row in by_operator(report)] == [one, *[2 * one] * 4]
    assert peak_bytes(report, around) == 524288
    assert peak_bytes(report, (Kind.WORKSPACE,)) == 786432
    assert report.total(Kind.OUTPUT) == report.total(Kind.INPUT) == one


def test_kernel_scratch_is_counted_where_it_stays_in_the_kernel():
    inside = plan(programs.Softmaxes, in_place=False, lift=False).report
    lifted = plan(programs.Softmaxes, in_place=False).report
    assert inside.pool("kernel scratch").planned >= 256 * 256 * 4
    assert "kernel scratch" not in [pool.pool for pool in lifted.pools]
    assert lifted.pool("arena").planned >= inside.pool("arena").planned + inside.pool("kernel scratch").planned


# -- dimensions -------------------------------------------------------------------------------------------------------


def test_a_declared_bound_makes_a_static_arena():
    made = plans(programs.Bounded, in_place=False, lift=False)["main"]
    assert made.arenas == {"arena": 2 * 4 * 8 * 4}
    assert [str(var.name) for var in made.counted_on] == ["n"]


def test_beyond_a_declared_bound_is_refused_by_name():
    executable = finished(lowered(programs.Bounded), PlanBlockMemory(), spy=False)
    assert run(executable, [np.ones((4, 8), "float32")])[0][0].shape == (4, 8)
    with pytest.raises(ValueError, match=r"function main: n is larger than its upper bound 4"):
        run(executable, [np.ones((9, 8), "float32")])


def test_a_bound_can_be_given_to_the_driver():
    made = plan(programs.TwoDimensions, bounds={"n": 5}, in_place=False)
    assert made.report.pool("arena").planned == 2 * round(20 * 5 * 4 / 64 + 0.49) * 64
    executable, _ = build(programs.TwoDimensions, bounds={"n": 5})
    with pytest.raises(ValueError, match="n is larger than its upper bound 5"):
        run(executable, [np.ones((3, 6), "float32")])
    with pytest.raises(ValueError, match="m is larger than its upper bound 20"):
        run(executable, [np.ones((21, 5), "float32")])


def test_a_bound_of_nothing_is_refused():
    with pytest.raises(BadInput, match="'k', which no function takes: there are m, n"):
        plan(programs.TwoDimensions, bounds={"k": 5})
    with pytest.raises(BadInput, match="the upper bound of 'n' must be 1 or more, got 0"):
        plan(programs.TwoDimensions, bounds={"n": 0})


def test_a_lower_bound_alone_bounds_nothing():
    apart = plan(programs.LowerBound, in_place=False, lift=False).report
    shared = plan(programs.LowerBound).report
    assert not {"arena"} & {pool.pool for report in (apart, shared) for pool in report.pools}
    assert sum("unbounded in batch" in left.reason for left in apart.left_alone) == 4
    assert [left.name for left in shared.left_alone] == ["x", "alloc2"]


def test_tensors_of_one_expression_share_a_symbolic_arena():
    made = plans(programs.TwoDimensions, in_place=False)["main"]
    (arena,) = made.symbolic
    assert (arena.unit, arena.units, arena.naive, str(arena.factor)) == (80, 2, 3, "n")
    text = PlanBlockMemory()(lowered(programs.TwoDimensions)).script()
    assert text.count("alloc_storage") == 1 and text.count("ensure_zero_offset") == 1


def test_a_mixed_function_uses_arenas_of_both_kinds_and_the_run_time():
    made = plans(programs.Mixed, in_place=False)["main"]
    assert set(made.arenas) == {"arena"} and len(made.symbolic) == 1
    report = made.report()
    assert any("tensors share" in note and "* (n)" in note for note in report.notes)
    assert [left.name for left in report.left_alone if "nothing to share with" in left.reason]


def test_a_dimension_of_nothing_is_an_error_that_names_the_tensor():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        shape = relax.ShapeExpr([4, 0])
        empty = builder.emit(relax.op.builtin.alloc_tensor(shape, "float32", 0), "empty")
        builder.emit(ir.Call(relax.ExternFunc("fill"), [empty], ty_args=[ir.TupleType([])]))
        builder.emit_func_output(x)
    with pytest.raises(
        UnsupportedIR, match=r"tensor 'empty' of function 'main': a dimension is 0, in the shape \[4, 0\]"
    ):
        PlanBlockMemory()(builder.get())


def test_a_negative_dimension_is_an_error():
    with pytest.raises(UnsupportedIR, match="tensor 't': a dimension is -1"):
        measure([4, -1], tvm.DataType("float32"), {}, "tensor 't'")


def test_elements_take_whole_bytes():
    for dtype, size in (("int4", 63), ("bool", 63), ("float16", 126), ("float32x4", 1008)):
        assert measure([63], tvm.DataType(dtype), {}, "t").bytes == size


# -- what is not lowered far enough -----------------------------------------------------------------------------------


@I.ir_module
class Dataflow:
    @R.function
    def main(x: R.Tensor((10,), "float32")):
        with R.dataflow():
            y = R.builtin.alloc_tensor(R.shape([10]), R.dtype("float32"), R.prim_value(0), R.str("global"))
            R.output(y)
        return y


def test_allocations_in_dataflow_blocks_say_what_to_run_first():
    with pytest.raises(UnsupportedIR, match=r"'main' allocates 'y' in a dataflow block: run .*ToNonDataflow"):
        PlanBlockMemory()(Dataflow)


def test_calls_that_are_not_lowered_say_what_to_run_first():
    legal = relax.transform.LegalizeOps()(programs.Sibling)
    with pytest.raises(UnsupportedIR, match=r"CallTIRRewrite"):
        PlanBlockMemory()(legal)
