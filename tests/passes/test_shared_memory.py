"""Shared memory of device launches: what is planned, what is left alone and why, what it may take."""

import json

import pytest

from tests.opencl.kernels import NO_BARRIER, PIPELINE, SOFTMAX, Kernel
from tests.passes.line import tvm
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import MemPlanError
from tvm_memplan.transform import PlanMemory, RewriteStorage
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE, DONE_ATTRIBUTE

try:
    from tvm import s_tir, tirx

    PASSES = s_tir.transform
except ImportError:
    from tvm import tir as tirx

    PASSES = tirx.transform

SHARED = ("shared", "shared.dyn")


def launched(kernel):
    """The module of a kernel as our passes meet it: flat, and with explicit barriers."""
    module = tvm.IRModule({"entry": kernel.function.with_attr("global_symbol", "entry")})
    passes = [PASSES.UnifyThreadBinding(), PASSES.LowerOpaqueBlock(), tirx.transform.FlattenBuffer()]
    return tvm.transform.Sequential([*passes, *map(PASSES.ThreadSync, SHARED)])(module)


def report_of(kernel, **options):
    (report,) = analyze_memory(launched(kernel), **options).values()
    return report


def offsets(report):
    return {row.name: row.offset for row in report.allocations}


def one_block(body, scope="shared.dyn", **elements):
    return Kernel(body, elements or {"A": 128, "O": 128}, (128,), (1,), scope)


def test_a_report_has_each_scope_and_says_which_barriers_were_added_for_whom():
    report = report_of(NO_BARRIER)
    assert [(p.pool, p.naive, p.planned, p.bound) for p in report.pools] == [("launch.shared", 1536, 1024, 1024)]
    (note,) = report.notes
    assert note == "1 barrier is added, each once per launch, for 'third' on bytes of 'first'"
    assert report_of(PIPELINE).notes == ()


def test_global_memory_alone_is_planned_unless_shared_memory_is_asked_for():
    module = launched(PIPELINE)
    (function,) = RewriteStorage()(PlanMemory()(module)).functions.values()
    assert function.attrs is None or ARENA_ATTRIBUTE not in function.attrs
    report = report_of(PIPELINE, scopes=("global",))
    assert {left.name for left in report.left_alone} == {"s1", "s2", "s3"}
    assert all("after ThreadSync" in left.reason for left in report.left_alone)


def test_the_passes_do_a_scope_once():
    passes = [PlanMemory(scopes=SHARED), RewriteStorage()]
    once = tvm.transform.Sequential(passes)(launched(PIPELINE))
    (function,) = once.functions.values()
    assert json.loads(str(function.attrs[ARENA_ATTRIBUTE])) == {"launch.shared": 1024}
    assert json.loads(str(function.attrs[DONE_ATTRIBUTE])) == list(SHARED)
    tvm.ir.assert_structural_equal(tvm.transform.Sequential(passes)(once), once)


def test_both_touched_in_one_statement_lie_apart():
    """Case 12 of `tests.cases`."""
    report = report_of(one_block("a = SHARED(128)\nb = SHARED(128)\na[tx] = A[tx]\nb[tx] = a[tx]\nO[tx] = b[127 - tx]"))
    assert sorted(offsets(report).values()) == [0, 512]


def test_a_buffer_that_is_reached_only_through_its_address_lies_apart():
    """Case 3 of `tests.cases`."""
    body = """
a = SHARED(128)
b = SHARED(128)
a[tx] = A[tx]
b[tx] = A[tx] * T.float32(2)
O[tx] = b[tx] + T.call_extern("float32", "ext", T.address_of(a[0]))
"""
    report = report_of(one_block(body))
    assert sorted(offsets(report).values()) == [0, 512]


def test_what_a_reduction_across_threads_writes_is_left_alone():
    """Case 16 of `tests.cases`: its lowering looks for that buffer, and puts another into its place."""
    type_of_call = "" if tirx.__name__ == "tvm.tirx" else ', dtype="handle"'
    body = f"""
t = SHARED(1)
y = SHARED(128)
z = SHARED(128)
with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
    T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), t[0], tx{type_of_call})
y[tx] = A[tx] / t[0]
z[tx] = y[tx]
O[tx] = z[tx]
"""
    report = report_of(one_block(body, "shared"))
    (left,) = report.left_alone
    assert left.name == "t" and "tvm_thread_allreduce" in left.reason
    assert set(offsets(report)) == {"y", "z"}
    dynamic = report_of(one_block(body))  # of which a kernel has one allocation
    assert {left.name for left in dynamic.left_alone} == {"t", "y", "z"}


@pytest.mark.parametrize("elements", [1, 3])
def test_tiny_buffers_are_planned(elements):
    """Case 24 of `tests.cases`."""
    body = f"""
a = SHARED({elements})
b = SHARED(128)
if tx == 0:
    a[0] = A[0]
b[tx] = A[tx] + a[0]
O[tx] = b[127 - tx]
"""
    report = report_of(one_block(body))
    assert report.pools[0].planned == 512 + 4 * elements
    assert report.left_alone == ()


@pytest.mark.parametrize(
    ("condition", "counts"), [("tx < 64", False), ("A[0] > T.float32(0)", False), ("bx < 1", True)]
)
def test_a_barrier_under_a_condition_counts_when_all_threads_decide_alike(condition, counts):
    body = f"""
a = SHARED(128)
b = SHARED(128)
a[tx] = A[tx]
O[tx] = a[tx]
if {condition}:
    T.evaluate(T.tvm_storage_sync("shared"))
    b[tx] = A[tx]
    O[tx] = b[tx]
"""
    report = report_of(Kernel(body, {"A": 128, "O": 128}, (128,)))
    assert report.pools[0].planned == 512
    assert (report.notes == ()) == counts  # else a barrier is added outside


def test_registers_are_left_to_the_compiler():
    report = report_of(one_block("a = SHARED(128)\nr = LOCAL(4)\nr[0] = A[tx]\na[tx] = r[0]\nO[tx] = a[127 - tx]"))
    assert [(left.name, left.scope) for left in report.left_alone] == [("r", "local")]
    assert "registers" in report.left_alone[0].reason


def test_a_pointer_that_is_kept_leaves_all_dynamic_memory_of_the_launch_alone():
    body = """
a = SHARED(128)
b = SHARED(128)
a[tx] = A[tx]
b[tx] = A[tx]
T.evaluate(T.call_intrin("handle", "NAME", T.address_of(a[0])))
O[tx] = b[127 - tx]
"""
    prefix = "tirx" if tirx.__name__.endswith("tirx") else "tir"
    body = body.replace("NAME", f"{prefix}.reinterpret")
    left = {left.name: left.reason for left in report_of(one_block(body)).left_alone}
    assert left["a"] == f"its address goes into {prefix}.reinterpret"
    assert left["b"] == "'a' of the same launch is left alone, and a kernel has one dynamic allocation for both"
    (report,) = analyze_memory(launched(one_block(body, "shared"))).values()
    assert [row.name for row in report.allocations] == ["b"]


def test_more_than_a_block_may_have_is_an_error_with_the_numbers():
    with pytest.raises(Exception, match=r"need 1,024 B of shared memory, have 1,000 B, .*'s1' 512 B") as error:
        PlanMemory(scopes=SHARED, shared_limit=1000)(launched(PIPELINE))
    assert isinstance(error.value, MemPlanError) or "OverBudget" in str(error.value)
    PlanMemory(scopes=SHARED, shared_limit=1024)(launched(PIPELINE))


def test_a_target_that_the_function_carries_says_what_a_block_may_have():
    target = tvm.target.Target({"kind": "opencl", "max_shared_memory_per_block": 512}, host="llvm")
    module = tirx.transform.BindTarget(target)(launched(SOFTMAX))
    with pytest.raises(Exception, match="need 1,536 B of shared memory, have 512 B"):
        PlanMemory(scopes=SHARED)(module)


def test_each_launch_has_arenas_of_its_own():
    """Case 40 of `tests.cases`."""
    first, second = launched(PIPELINE)["entry"], launched(SOFTMAX)["entry"]
    parameters = list(second.params)
    if hasattr(second, "buffer_map") and len(second.buffer_map):
        body, maps = tirx.SeqStmt([first.body, second.body]), {**first.buffer_map, **second.buffer_map}
        both = tirx.PrimFunc([*first.params, *parameters], body, None, maps)
    else:
        both = tirx.PrimFunc([*first.params, *parameters], tirx.SeqStmt([first.body, second.body]))
    module = tvm.IRModule({"entry": both.with_attr("global_symbol", "entry")})
    after = tvm.transform.Sequential([PlanMemory(scopes=SHARED), RewriteStorage()])(module)
    (function,) = after.functions.values()
    assert json.loads(str(function.attrs[ARENA_ATTRIBUTE])) == {"launch.shared": 1024, "launch#2.shared": 1536}
    assert "arena_launch_shared" in after.script()
    assert "arena_launch_2_shared" in after.script()


def test_the_last_look_at_a_condition_meets_what_follows_the_loop():
    """A fast thread is behind the loop while a slow one still evaluates the condition."""
    body = """
s = SHARED(128)
t = SHARED(128)
s[tx] = A[tx]
T.evaluate(T.tvm_storage_sync("shared"))
while T.tvm_thread_invariant(s[0] > T.float32(1)):
    T.evaluate(T.tvm_storage_sync("shared"))
    if tx == 0:
        s[0] = s[0] - T.float32(1)
    T.evaluate(T.tvm_storage_sync("shared"))
t[tx] = A[tx]
T.evaluate(T.tvm_storage_sync("shared"))
O[tx] = t[127 - tx]
"""
    kernel = one_block(body, "shared")
    module = tvm.IRModule({"entry": kernel.function.with_attr("global_symbol", "entry")})
    passes = [PASSES.UnifyThreadBinding(), PASSES.LowerOpaqueBlock(), tirx.transform.FlattenBuffer()]
    (report,) = analyze_memory(tvm.transform.Sequential(passes)(module)).values()
    assert len(set(offsets(report).values())) == 2 or "1 barrier is added" in report.notes[0]
