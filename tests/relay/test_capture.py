"""A whole program as one trace: calls, loops, pointers, and what TVM's own analysis makes of the same."""

import pytest

pytest.importorskip("tvm.relay")

import tvm
from tvm.tir.usmp.analysis import extract_buffer_info

from tests.relay import programs
from tvm_memplan.dialects.relay.capture import capture_program, operator_name
from tvm_memplan.errors import UnsupportedIR
from tvm_memplan.planning.lifetimes.liveness import live_ranges
from tvm_memplan.planning.model import Kind


def buffers_of(mod):
    return {buffer.name: buffer for buffer in live_ranges(capture_program(mod).trace).buffers}


def usmp_conflicts(mod):
    with_pools = tvm.get_global_func("tir.usmp.transform.AssignPoolInfo")()(mod)
    infos = extract_buffer_info(with_pools["__tvm_main__"], with_pools).buffer_info_stmts
    return {(info.name_hint, other.name_hint) for info in infos for other in info.conflicts}


@pytest.mark.parametrize("name", ["CarriedThroughWhile", "CarriedThroughNestedLoop"])
def test_what_a_later_round_reads_is_alive_through_the_loop_though_usmp_thinks_not(name):
    mod = getattr(programs, name)
    buffers = buffers_of(mod)
    assert buffers["op.a"].alive_with(buffers["op.b"])
    assert ("a", "b") not in usmp_conflicts(mod)


def test_a_pointer_keeps_what_it_points_into_alive_though_usmp_thinks_not():
    buffers = buffers_of(programs.Pointers)
    assert buffers["op.a"].alive_with(buffers["op.m"])
    assert ("a", "m") not in usmp_conflicts(programs.Pointers)


def test_an_operator_called_twice_has_one_workspace_alive_at_both_calls():
    program = capture_program(programs.TwoCalls)
    liveness = live_ranges(program.trace)
    buffers = {buffer.name: buffer for buffer in liveness.buffers}
    workspace = buffers["double.w"]
    alive = {liveness.steps[step] for span in workspace.live_ranges for step in range(span.start, span.stop)}
    assert alive == {"double"}
    assert workspace.alive_with(buffers["sid_1"])
    assert workspace.alive_with(buffers["sid_2"])
    assert [call.function for call in program.calls] == ["double", "double", "add"]
    assert program.calls[1].buffers == {"sid_1", "sid_2", "double.w"}


def test_kinds_and_sizes_come_from_where_a_buffer_is_allocated():
    kinds = {name: (buffer.kind, buffer.size) for name, buffer in buffers_of(programs.TwoCalls).items()}
    assert kinds == {
        "x": (Kind.INPUT, 32),
        "y": (Kind.OUTPUT, 32),
        "sid_1": (Kind.ACTIVATION, 32),
        "sid_2": (Kind.ACTIVATION, 32),
        "double.w": (Kind.WORKSPACE, 32),
    }


def test_the_largest_alignment_any_view_declares_is_kept():
    declared = capture_program(programs.TwoCalls).declared_alignments
    assert declared["double.w"] == 32
    assert declared["sid_1"] == 64


def test_what_belongs_to_the_caller_is_alive_throughout():
    mod = programs.TwoCalls
    steps = len(live_ranges(capture_program(mod).trace).steps)
    buffers = buffers_of(mod)
    for name in ("x", "y"):
        assert [(span.start, span.stop) for span in buffers[name].live_ranges] == [(0, steps)]


def test_dynamic_and_special_memory_is_left_alone_and_named():
    mod = tvm.IRModule(dict(programs.TwoCalls.functions.items()))
    double = mod["double"]
    var = tvm.tir.Var("t", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global.texture"))
    n = tvm.tir.Var("n", "int32")
    dynamic = tvm.tir.Var("d", tvm.ir.PointerType(tvm.ir.PrimType("float32"), "global"))
    body = tvm.tir.Allocate(var, "float32", [8], True, double.body)
    body = tvm.tir.LetStmt(n, tvm.tir.const(4), tvm.tir.Allocate(dynamic, "float32", [n], True, body))
    mod["double"] = double.with_body(body)
    left = {row.name: row for row in capture_program(mod).left_alone}
    assert left["t"].size == 32 and "global.texture" in left["t"].reason
    assert left["d"].size is None and "not a constant" in left["d"].reason


def test_a_module_without_an_aot_main_function_is_refused():
    mod = tvm.IRModule({"double": programs.TwoCalls["double"]})
    with pytest.raises(UnsupportedIR, match="__tvm_main__"):
        capture_program(mod)


def test_operator_names_are_what_people_call_them():
    assert operator_name("tvmgen_default_fused_nn_conv2d_1") == "fused_nn_conv2d_1"
    assert operator_name("tvmgen_kws_fused_nn_dense") == "fused_nn_dense"
    assert operator_name("tvmgen_default_cmsis_nn_main_0") == "cmsis_nn_main_0"


def test_an_argument_that_is_a_number_does_not_shift_the_others():
    buffers = buffers_of(programs.NumberBetweenBuffers)
    (span,) = buffers["sid_1"].live_ranges
    assert (span.start, span.stop) == (0, 2)
    assert {name: buffer.kind for name, buffer in buffers.items()} == {
        "x": Kind.INPUT,
        "sid_1": Kind.ACTIVATION,
        "y": Kind.OUTPUT,
    }
