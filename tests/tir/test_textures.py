"""Textures in TVM 0.19's TIR: who shares a slot, what the function looks like then, and what is left alone."""

import json

import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm
from tvm import tir

from tests.tir.texture_programs import Program, Tex, chain, launch, nested, residual, scheduled_chain
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import BadPlan
from tvm_memplan.report.json import from_json, to_json
from tvm_memplan.report.text import report_text
from tvm_memplan.transform import PlanMemory, RewriteStorage
from tvm_memplan.transform.function_plan import PLAN_ATTRIBUTE


def module(function):
    return tvm.IRModule({"entry": function})


def rewritten(function):
    return tvm.transform.Sequential([PlanMemory(), RewriteStorage()])(module(function))["entry"]


def report(function):
    return analyze_memory(module(function))["entry"]


def slots(function):
    """Who shares a slot, by name."""
    recorded = json.loads(str(PlanMemory()(module(function))["entry"].attrs[PLAN_ATTRIBUTE]))
    return sorted(sorted(names) for names in recorded["textures"]["body"])


def reasons(function):
    return {left.name: left.reason for left in report(function).left_alone}


def allocations(function):
    found = []

    def visit(node):
        if isinstance(node, tir.LetStmt):
            found.append((node.var.name, *(int(extent) for extent in node.value.args[2].args)))

    tir.stmt_functor.post_order_visit(function.body, visit)
    return found[::-1]


def test_a_slot_is_as_wide_and_as_high_as_each_of_its_members():
    function = chain((7, 5), (3, 6), (6, 6), (4, 2))
    assert slots(function) == [["t0", "t2"], ["t1", "t3"]]
    assert sorted(extents for _, *extents in allocations(rewritten(function))) == [[4, 6], [7, 6]]


def test_the_program_is_the_same_with_the_slots_variables_in_place_of_its_textures():
    first, second, third = (Tex(f"t{k}", 7, 5) for k in range(3))
    program = Program()
    steps = [program.write(first), program.write(second, [first]), program.write(third, [second])]
    plain = program.function(nested([*(p for pair in zip((first, second, third), steps) for p in pair),
                                     program.result([third])]))  # fmt: skip
    found = rewritten(plain)
    one, two = Tex("texture_0", 7, 5), Tex("texture_1", 7, 5)
    moved = [program.write(one), program.write(two, [one]), program.write(one, [two])]
    expected = program.function(nested([one, two, *moved, program.result([one])]))
    tvm.ir.assert_structural_equal(found.body, expected.body, map_free_vars=True)


def test_a_wide_and_a_tall_texture_keep_slots_of_their_own():
    assert slots(chain((400, 2), (1, 1), (2, 400), (1, 1))) == [["t0"], ["t1", "t3"], ["t2"]]


def test_another_name_for_a_texture_keeps_it_alive_and_follows_it():
    program, (a, b, c) = Program(), [Tex(name, 7, 5) for name in "abc"]
    alias = Tex("alias", 7, 5)
    inner = nested([program.write(c, [b]), program.result([c, alias])])
    named = tir.LetStmt(alias.var, a.var, inner)
    function = program.function(nested([a, b, c, program.write(a), program.write(b, [a]), named]))
    assert slots(function) == [["a"], ["b"], ["c"]]
    found = []
    tir.stmt_functor.post_order_visit(
        rewritten(function).body, lambda n: found.append(n.value) if isinstance(n, tir.LetStmt) else None
    )
    assert any(isinstance(value, tir.Var) and value.name.startswith("texture_") for value in found)


def test_a_texture_that_is_read_again_later_shares_with_nobody_in_between():
    assert slots(residual()) == [["t0"], ["t1"], ["t2"]]


def test_all_that_one_launch_touches_is_alive_through_it():
    # The first statement reads `a` for the last time, the second writes `c` for the first: other threads still read.
    program, (a, b, c) = Program(), [Tex(name, 7, 5) for name in "abc"]

    def body(column, row, channel):
        first = tir.Call("handle", "tir.texture2d_store", [b.var, column, row, a.load(column, row, channel)])
        second = tir.Call("handle", "tir.texture2d_store", [c.var, column, row, tir.const(1.0, "float32")])
        return tir.SeqStmt([tir.Evaluate(first), tir.Evaluate(second)])

    items = [a, b, c, program.write(a), launch(7, 5, body), program.result([b, c])]
    assert slots(program.function(nested(items))) == [["a"], ["b"], ["c"]]


def test_a_texture_from_outside_a_host_loop_is_alive_through_all_of_it():
    program, (a, b, c) = Program(), [Tex(name, 7, 5) for name in "abc"]
    inner = nested([program.write(b, [a]), c, program.write(c, [b])])
    loop = tir.For(tir.Var("n", "int32"), 0, 3, tir.ForKind.SERIAL, inner)
    function = program.function(nested([a, b, program.write(a), loop, program.result([b])]))
    assert slots(function) == [["a"], ["b"], ["c"]]
    assert len(allocations(rewritten(function))) == 3, "the texture inside the loop is allocated once, before it"


def test_scopes_and_element_types_do_not_mix():
    function = chain((7, 5), (7, 5), (7, 5), (7, 5), scopes=("global.texture", "global.texture-weight"))
    assert slots(function) == [["t0", "t2"], ["t1", "t3"]]
    program = Program()
    one, two, three = Tex("one", 7, 5), Tex("two", 7, 5), Tex("three", 7, 5, dtype="float16")
    items = [one, program.write(one), two, program.write(two, [one]), three]
    value = tir.const(0.0, "float16")
    store = launch(7, 5, lambda x, y, c: tir.Evaluate(tir.Call("handle", "tir.texture2d_store",
                                                               [three.var, x, y, value])))  # fmt: skip
    function = program.function(nested([*items, store, program.result([two])]))
    assert slots(function) == [["one"], ["three"], ["two"]]
    (figures,) = report(function).pools
    assert (figures.naive, figures.planned) == (35 * 40, 35 * 40), "16 bytes per texel of float32, 8 of float16"


def test_the_report_counts_texels_and_names_slots():
    made = report(chain((7, 5), (3, 6), (6, 6), (4, 2)))
    (figures,) = made.pools
    assert figures.pool == "global.texture"
    assert figures.naive == 16 * (35 + 18 + 36 + 8)
    assert figures.planned == 16 * (42 + 24)
    assert figures.bound == 16 * (18 + 36)
    assert {row.name: row.slot for row in made.allocations}["t1"] in ("0: 4 x 6 float32x4", "1: 4 x 6 float32x4")
    assert "slot 1" in report_text(made)
    assert from_json(to_json(made)) == made


def test_running_the_passes_twice_changes_nothing_more():
    once = rewritten(chain((7, 5), (3, 6), (6, 6)))
    tvm.ir.assert_structural_equal(rewritten(once), once)


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_a_scheduled_chain_needs_two_slots_whenever_the_passes_run(phase):
    schedule, arguments = scheduled_chain()
    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(phase, PlanMemory()), (phase, RewriteStorage())]}):
        function = tvm.lower(schedule, arguments, name="entry")["entry"]
    assert len(allocations(function)) == 2


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([["t0", "t2"], ["t1"]], "'t0' and 't2' are alive together in slot 0"),
        ([["t0"], ["t1"]], "3 textures need one slot each"),
        ([["t0"], ["t1"], ["t2"], ["t3"]], "is not made of textures of one scope"),
        ([["t0"], ["t1"], []], "is not made of textures of one scope"),
        (7, "slots of textures must be lists of names"),
        ([7], "slots of textures must be lists of names"),
    ],
)
def test_a_recorded_plan_is_judged_before_it_is_used(slots, message):
    planned = PlanMemory()(module(residual()))["entry"]
    recorded = json.loads(str(planned.attrs[PLAN_ATTRIBUTE]))
    recorded["textures"]["body"] = slots
    with pytest.raises(BadPlan, match=message):
        RewriteStorage()(module(planned.with_attr(PLAN_ATTRIBUTE, json.dumps(recorded))))


def with_use(use):
    """A function with a texture that `use` (a statement of it) does something to, and one that can be planned."""
    program, texture, other = Program(), Tex("t", 7, 5), Tex("other", 7, 5)
    items = [texture, program.write(texture), other, program.write(other), use(texture), program.result([other])]
    return program.function(nested(items))


def call(name, *arguments):
    return tir.Evaluate(tir.Call("int32", name, list(arguments)))


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda t: call("tir.tvm_call_packed", tir.StringImm("f"), t.var), "its handle goes into tir.tvm_call_packed"),
        (lambda t: call("tir.call_extern", tir.StringImm("f"), t.var), "its handle goes into tir.call_extern"),
        (lambda t: call("tir.isnullptr", t.var), "its handle goes into tir.isnullptr"),
        (lambda t: tir.AttrStmt(t.var, "pragma_layout", 1, tir.Evaluate(0)), "it carries the attribute pragma_layout"),
        (lambda t: tir.AttrStmt(t.var, "storage_alignment", 64, tir.Evaluate(0)), "the attribute storage_alignment"),
        (
            lambda t: tir.Evaluate(tir.BufferLoad(tir.decl_buffer([140], "float32", "v", data=t.var), [0])),
            "accessed by index rather than by column and row",
        ),
    ],
)
def test_a_texture_that_goes_elsewhere_is_left_alone(use, reason):
    function = with_use(use)
    (name, told), *others = reasons(function).items()
    assert (name, others) == ("t", [])
    assert reason in told
    assert slots(function) == [["other"]]
    assert [name for name, *_ in allocations(rewritten(function))] == ["texture_0", "t"]


def alone(texture, around=lambda body: body):
    program = Program()
    return program.function(around(nested([texture, program.write(texture)])))


def test_what_cannot_be_measured_is_left_alone():
    n = tir.Var("n", "int32")
    function = alone(Tex("t", n, 5), lambda body: tir.LetStmt(n, tir.Call("int32", "tir.tvm_call_packed",
                                                                         [tir.StringImm("f")]), body))  # fmt: skip
    assert reasons(function) == {"t": "its size n x 5 is not a constant"}
    assert reasons(alone(Tex("t", 7, 0))) == {"t": "it holds no element"}
    assert "allocated by bytes" in reasons(flat_texture())["t"]


def flat_texture():
    texture = Tex("t", 7, 5)
    body = tir.Allocate(texture.var, "float32", [140], tir.IntImm("bool", 1), tir.Evaluate(0))
    return Program().function(body)


def test_a_texture_that_exists_once_per_worker_is_left_alone():
    def parallel(body):
        return tir.For(tir.Var("i", "int32"), 0, 2, tir.ForKind.PARALLEL, body)

    assert reasons(alone(Tex("t", 7, 5), parallel)) == {"t": "it is a texture that is allocated inside a parallel loop"}
    program, texture = Program(), Tex("t", 7, 5)
    inner = launch(7, 5, lambda x, y, c: texture.let(tir.Evaluate(texture.load(x, y, c))))
    assert "inside" in reasons(program.function(inner))["t"]


def test_a_texture_beyond_the_limit_of_the_target_is_left_alone():
    function = alone(Tex("t", 20000, 5))
    assert reasons(function) == {}
    with tvm.target.Target("opencl -device=adreno"):
        told = reasons(function)["t"]
    assert told == "it has 20000 x 5 texels, and 20000 is more than the target's 16384"
    targeted = alone(Tex("t", 7, 5)).with_attr(
        "target", tvm.target.Target("opencl -device=adreno -texture_spatial_limit=4")
    )
    assert "7 is more than the target's 4" in reasons(targeted)["t"]


def test_a_function_that_cannot_be_read_names_its_textures():
    body = tir.AttrStmt(tir.StringImm("s"), "async_scope", 1, nested([Tex("t", 7, 5), tir.Evaluate(0)]))
    assert "async_scope" in reasons(Program().function(body))["t"]
