"""Outputs in the arena or in the caller's tensors, and inputs that are given away."""

from itertools import pairwise

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R

from tests.relax import end_programs, programs
from tests.relax.networks import SMALL, Network, u_net
from tests.relax.running import FUSION, _seen, finished, lowered, plans
from tvm_memplan.boards import Board, Region
from tvm_memplan.budget import judge_budget
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Kind, Placement, Plan
from tvm_memplan.planning.planners import plan as plan_problem
from tvm_memplan.relax import PlanBlockMemory, build, pipeline, plan
from tvm_memplan.report.by_operator import peak_bytes
from tvm_memplan.report.json import from_json, to_json
from tvm_memplan.report.text import report_text


def called(executable, module, function, values, destinations=()):
    """What a function returns and what its kernels wrote; `destinations` go where the function expects them."""
    _seen.clear()
    inputs = int((module[function].attrs or {}).get("num_input", len(values)))
    result = relax.VirtualMachine(executable, tvm.cpu())[function](*values[:inputs], *destinations, *values[inputs:])
    return result, list(_seen)


def tensors(arrays):
    return [tvm.runtime.tensor(array) for array in arrays]


def flat(result):
    return [tensor for part in result for tensor in flat(part)] if not hasattr(result, "numpy") else [result]


def address(tensor):
    return np.from_dlpack(tensor).ctypes.data


def bits(tensors):
    return [tensor.numpy().tobytes() for tensor in tensors]


NETWORKS = {
    "perceptron": (SMALL["perceptron"], (), ["x"]),
    "u_net": (lambda: u_net(base=2, image=8, depth=1), FUSION, ["x"]),
    "concat": (lambda: Network(end_programs.Concat, "main"), FUSION, ["keys", "values"]),
    "decode": (lambda: Network(end_programs.Decode, "main"), (), ["keys", "values"]),
    "branching": (SMALL["branching"], (), ["x"]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_models_compute_the_same_bits_wherever_their_outputs_lie_and_whatever_they_may_overwrite(name):
    make, fusion, donated = NETWORKS[name]
    network = make()
    module, function = lowered(network.module, fusion), network.function
    plain = finished(module, lambda module: module)
    arena = finished(module, PlanBlockMemory(outputs="arena", donated=donated), poison=True)
    caller = finished(module, PlanBlockMemory(outputs="caller"), poison=True)
    for seed in (1, 2, 3):
        values = network.arguments(seed, network.sizes[seed % len(network.sizes)])
        wanted, kernels = called(plain, module, function, tensors(values))
        wanted = flat(wanted)
        given = tensors(values)
        got, seen = called(arena, module, function, given)
        assert bits(flat(got)) == bits(wanted) and seen == kernels
        named = dict(zip((str(param.name) for param in module[function].params), zip(given, values)))
        assert all(t.numpy().tobytes() == v.tobytes() for n, (t, v) in named.items() if n not in donated)
        places = tensors(np.full(tensor.shape, 7, str(tensor.dtype)) for tensor in wanted)
        given = tensors(values)
        got, seen = called(caller, module, function, given, places)
        assert bits(flat(got)) == bits(places) == bits(wanted) and seen == kernels
        assert [address(tensor) for tensor in flat(got)] == [address(tensor) for tensor in places]
        assert bits(given) == [value.tobytes() for value in values]


def test_a_decoders_cache_is_replaced_where_it_lies():
    report = plan(end_programs.Decode, donated=["keys", "values"]).report
    rows = {row.name: row for row in report.allocations}
    new = [row for row in rows.values() if row.kind is Kind.OUTPUT and row.pool.startswith("donated")]
    assert sorted((row.pool, row.in_place_of is not None, row.offset) for row in new) == [
        ("donated keys", True, 0),
        ("donated values", True, 0),
    ]
    without = plan(end_programs.Decode).report
    assert without.pool("caller").planned - report.pool("caller").planned == 4 * 16 * 32 * 4
    assert report.pool("arena").planned <= without.pool("arena").planned
    executable, _ = build(end_programs.Decode, donated=["keys", "values"])
    values = tensors(Network(end_programs.Decode, "main").arguments(1))
    result, _ = called(executable, end_programs.Decode, "main", values)
    assert [address(tensor) for tensor in flat(result)[1:]] == [address(tensor) for tensor in values[2:4]]


def test_on_a_board_what_is_overwritten_counts_once():
    board = Board("b", "", "", (Region("ram", 1 << 20, "sram"), Region("rom", 1 << 20, "flash")))
    need = {}
    for donated in ([], ["keys", "values"]):
        report = plan(end_programs.Decode, board=board, donated=donated).report
        row = next(row for row in judge_budget(report, board).rows if row.region == "ram")
        need[bool(donated)] = row.need
        pools = [pool for pool in report.pools if pool.pool != "rom"]
        assert row.need == sum(pool.planned for pool in pools)
    assert need[False] - need[True] >= 2 * 16 * 32 * 4


def test_a_dead_input_is_room_for_what_comes_later():
    module = end_programs.Concat
    with_room, without = (plan(module, donated=names, in_place=False).report for names in (["keys", "values"], []))
    inside = [row for row in with_room.allocations if row.pool.startswith("donated") and row.kind is not Kind.INPUT]
    assert inside
    total = [sum(pool.planned for pool in report.pools) for report in (with_room, without)]
    assert total[0] < total[1]


def test_the_whole_peak_is_smaller_with_outputs_in_the_arena():
    one, other = (plan(SMALL["perceptron"]().module, outputs=outputs).report for outputs in ("own", "arena"))
    weights = (Kind.WEIGHTS,)
    assert one.total(Kind.OUTPUT) == other.total(Kind.OUTPUT) == 1024
    assert peak_bytes(one, weights) == peak_bytes(other, weights)
    own = one.pool("arena").planned + one.total(Kind.OUTPUT)
    assert other.pool("arena").planned < own
    assert other.pool("caller").planned == other.total(Kind.INPUT)


def test_outputs_in_the_arena_stay_when_the_function_is_called_again():
    network = SMALL["perceptron"]()
    executable, report = build(network.module, outputs="arena")
    machine = relax.VirtualMachine(executable, tvm.cpu())
    values = [tensors(network.arguments(seed)) for seed in range(4)]
    for value in values:
        value[1:] = values[0][1:]
    results = [machine["forward"](*value) for value in values]
    again = [machine["forward"](*value) for value in values]
    assert bits(results) == bits(again) and len(set(bits(results))) == 4
    places = sorted(address(result) for result in (*results, *again))
    arena = report.pool("arena").planned
    assert all(b - a >= arena for a, b in pairwise(places))
    assert any("as long as one of them is held, so is all" in note for note in report.notes)


def test_outputs_that_are_no_plain_tensors_of_the_functions_own():
    module = lowered(end_programs.Shapes)
    made = plans(end_programs.Shapes, outputs="caller")["main"]
    supplied = [(out.position, out.parameter, list(out.type.shape)) for out in made.graph.results.values() if out.type]
    assert sorted(supplied) == [(1, "output_1", [32]), (2, "output_2", [4, 8]), (5, "output_5", [4, 8])]
    assert any("output 4" in note and "not always this one" in note for note in made.report().notes)
    plain = finished(module, lambda module: module)
    for outputs in ("arena", "caller"):
        ours = finished(module, PlanBlockMemory(outputs=outputs), poison=True)
        for condition in (True, False):
            numbers = np.random.default_rng(condition)
            values = [np.array(condition), numbers.random((4, 8), "float32"), numbers.random(8, "float32")]
            places = tensors([np.zeros(32, "float32"), *np.zeros((2, 4, 8), "float32")] if outputs == "caller" else [])
            (wanted, kernels), (got, seen) = (
                called(plain, module, "main", tensors(values)),
                called(ours, module, "main", tensors(values), places),
            )
            assert bits(flat(got)) == bits(flat(wanted)) and seen == kernels
            if places:
                assert [address(flat(got)[i]) for i in (1, 2, 3, 5)] == [address(places[i]) for i in (0, 1, 1, 2)]


@pytest.mark.parametrize("bound", [8, None], ids=["bounded", "unbounded"])
def test_open_dimensions(bound):
    module = lowered(end_programs.Growing)
    bounds = {"n": bound} if bound else {}
    donated = ["y"] if bound else []
    plain = finished(module, lambda module: module)
    arena = finished(module, PlanBlockMemory(outputs="arena", donated=donated, bounds=bounds), poison=True)
    caller = finished(module, PlanBlockMemory(outputs="caller", bounds=bounds), poison=True)
    for n in (1, 3, 8):
        values = list(np.random.default_rng(n).random((2, n, 16), "float32"))
        wanted, kernels = called(plain, module, "main", tensors(values))
        given = tensors(values)
        got, seen = called(arena, module, "main", given)
        assert bits(flat(got)) == bits(flat(wanted)) and seen == kernels
        if bound:  # what has as many bytes whatever n is took its place
            assert address(flat(got)[0]) == address(given[1])
        places = tensors(np.zeros(tensor.shape, "float32") for tensor in flat(wanted))
        got, seen = called(caller, module, "main", tensors(values), places)
        assert bits(places) == bits(flat(wanted)) and seen == kernels


def test_nothing_lies_at_an_offset_of_an_input_whose_size_depends_on_a_dimension():
    report = plan(end_programs.Growing, donated=["x", "y"], bounds={"n": 8}).report
    inside = [row for row in report.allocations if row.pool.startswith("donated")]
    assert len(inside) > 2 and {row.offset for row in inside} == {0}
    assert {row.size for row in inside} == {8 * 16 * 4}


def test_a_tensor_of_another_shape_or_type_is_refused_by_name():
    executable, _ = build(end_programs.Chain, outputs="caller")
    x = np.ones(64, "float32")
    machine = relax.VirtualMachine(executable, tvm.cpu())["main"]
    for wrong in (np.ones(32, "float32"), np.ones(64, "float64"), np.ones((8, 8), "float32")):
        with pytest.raises((RuntimeError, ValueError, TypeError), match="param=output"):
            machine(*tensors([x, wrong]))


def test_destinations_stand_before_the_weights():
    made = pipeline("llvm", outputs="caller")(end_programs.Decode)["main"]
    names = [str(param.name) for param in made.params]
    assert names == ["x", "here", "keys", "values", "output_0", "output_1", "output_2", "wk", "wv"]
    assert made.attrs["num_input"] == 7


def test_a_parameter_of_that_name_is_left_its_name():
    @I.ir_module
    class Named:
        @R.function
        def main(output: R.Tensor((8,), "float32")):
            return R.exp(output)

    made = pipeline("llvm", outputs="caller")(Named)["main"]
    assert [str(param.name) for param in made.params] == ["output", "output_"]


# -- what is refused --------------------------------------------------------------------------------------------------


def refused(module, name, function="main", **options):
    with pytest.raises(BadInput) as caught:
        plan(module, donated=[name], **options)
    message = str(caught.value)
    assert repr(name) in message and repr(function) in message
    return message


def test_what_cannot_be_donated_is_refused_by_name():
    assert "it is a weight" in refused(end_programs.Decode, "wk")
    assert "'main' takes x, here, keys" in refused(end_programs.Decode, "nothing")
    assert "hands it back" in refused(end_programs.Shapes, "z")
    assert "hands it back" in refused(end_programs.Shapes, "x")
    assert "no upper bound" in refused(end_programs.Growing, "x")

    @I.ir_module
    class Tuple:
        @R.function
        def main(x: R.Tuple(R.Tensor((8,), "float32"), R.Tensor((8,), "float32"))):
            return R.add(x[0], x[1])

    assert "no tensor" in refused(Tuple, "x")


def test_a_view_of_an_input_counts_as_the_input():
    @I.ir_module
    class Viewed:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            a = R.exp(x)
            b = R.match_cast(x, R.Tensor((4, 8), "float32"))
            return a, b

    assert "hands it back" in refused(Viewed, "x")

    @I.ir_module
    class ReadLate:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                flat = R.reshape(x, R.shape([32]))
                a = R.exp(x)
                b = R.sqrt(a)
                c = R.add(R.reshape(b, R.shape([32])), flat)
                R.output(c)
            return c

    rows = {row.name: row for row in plan(ReadLate, donated=["x"]).report.allocations}
    inside = [row for row in rows.values() if row.pool == "donated x" and row.name != "x"]
    assert rows["x"].live_ranges[0].stop == 3 and [row.operator for row in inside] == ["add"]


def test_functions_that_others_call_keep_their_outputs():
    for outputs in ("arena", "caller"):
        made = plan(end_programs.Entries, outputs=outputs)
        assert any("'inner' is called by others" in note for note in made.notes)
        assert made.reports["inner"].pool("caller").planned == 512
    module = lowered(end_programs.Entries)
    values = [np.random.default_rng(1).random((8, 8), "float32")]
    wanted = flat(called(finished(module, lambda m: m), module, "main", tensors(values))[0])
    ours = finished(module, PlanBlockMemory(outputs="caller", donated=["x"]), poison=True)
    places = tensors(np.zeros((1, 8, 8), "float32"))
    called(ours, module, "main", tensors(values), places)
    assert bits(places) == bits(wanted)
    made = plan(programs.Recursive, outputs="arena")
    assert any("'main' is called by others" in note for note in made.notes)


def test_outputs_do_not_lie_in_an_arena_that_is_kept_from_call_to_call():
    target = tvm.target.Target("cuda")
    with target, tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        with pytest.raises(BadInput, match="use_cuda_graph"):
            pipeline(target, outputs="arena")(SMALL["perceptron"]().module)
        made = pipeline(target, outputs="caller")(SMALL["perceptron"]().module)
    # What writes into the caller's tensor is in no graph: the tensor may be another one at the next call.
    assert "output" not in "".join(f.script() for v, f in made.functions.items() if "cuda_graph" in str(v.name_hint))
    assert made["forward"].attrs["num_input"] == 2


def test_where_pointers_cannot_move_nothing_is_overwritten():
    target = tvm.target.Target("opencl")
    made = plan(end_programs.Chain, target, outputs="arena", donated=["x"])
    assert any("pointers cannot be moved" in note for note in made.notes)
    assert {pool.pool for pool in made.report.pools} == {"arena", "caller"}
    assert next(row for row in made.report.allocations if row.kind is Kind.OUTPUT).pool == "arena"


def test_an_unknown_place_for_outputs_is_bad_input():
    with pytest.raises(BadInput, match="own, arena, caller, and not 'heap'"):
        PlanBlockMemory(outputs="heap")
    with pytest.raises(BadInput, match=r"donated=\['cache'\]"):
        PlanBlockMemory(donated="cache")


# -- the oracle -------------------------------------------------------------------------------------------------------


def test_overwriting_an_input_too_early_shows(monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.graphs.plan.check_plan", lambda plan: None)

    def over(problem):
        made = plan_problem(problem)
        places = (
            Placement("donated x", 0) if "donated x" in b.pools else p for b, p in zip(problem.buffers, made.placements)
        )
        return Plan(problem, tuple(places))

    module = lowered(end_programs.Reversed)
    values = list(np.random.default_rng(1).random((2, 64), "float32"))
    wanted, kernels = called(finished(module, lambda m: m), module, "main", tensors(values))
    for planner, agree in (("auto", True), (over, False)):
        ours = finished(module, PlanBlockMemory(planner, donated=["x"]), poison=True)
        got, seen = called(ours, module, "main", tensors(values))
        assert (bits(flat(got)) == bits(flat(wanted)) and seen == kernels) is agree


def test_an_output_on_bytes_that_are_still_in_use_shows(monkeypatch):
    monkeypatch.setattr("tvm_memplan.transform.graphs.plan.check_plan", lambda plan: None)

    def below(problem):
        made = plan_problem(problem)
        places = [
            Placement("arena", 0) if b.kind is Kind.OUTPUT else p for b, p in zip(problem.buffers, made.placements)
        ]
        return Plan(problem, tuple(places))

    module = lowered(end_programs.Decode)
    values = Network(end_programs.Decode, "main").arguments(1)
    wanted, _ = called(finished(module, lambda m: m), module, "main", tensors(values))
    ours = finished(module, PlanBlockMemory(below, outputs="arena"), poison=True)
    got, _ = called(ours, module, "main", tensors(values))
    assert bits(flat(got)) != bits(flat(wanted))


def test_kernels_that_write_over_a_donated_input_take_it_once():
    with tvm.target.Target("llvm"):
        made = PlanBlockMemory(donated=["x"])(lowered(end_programs.Chain))
    kernels = {str(v.name_hint): f for v, f in made.functions.items() if isinstance(f, tirx.PrimFunc)}
    assert len(kernels["add_in_place"].params) == 1 and "tirx.noalias" in kernels["add_in_place"].attrs


def test_the_report_survives_json_and_names_everything():
    report = plan(end_programs.Decode, outputs="caller", donated=["keys"]).report
    assert from_json(to_json(report)) == report
    text = report_text(report)
    assert "donated keys" in text and "parameter 'output_1'" in " ".join(text.split())
    arena = plan(end_programs.Decode, outputs="arena", donated=["keys", "values"]).report
    assert from_json(to_json(arena)) == arena
    assert {row.pool for row in arena.allocations if row.kind is Kind.OUTPUT} == {
        "arena",
        "donated keys",
        "donated values",
    }


def test_the_compiled_executor_takes_destinations_and_donations_as_well():
    executable, _ = build(end_programs.Chain, outputs="caller", donated=["x"], exec_mode="compiled")
    x = np.linspace(0, 1, 64, dtype="float32")
    given, place = tensors([x, np.zeros(64, "float32")])
    result, _ = called(executable, end_programs.Chain, "main", [given], [place])
    plain = relax.VirtualMachine(relax.build(end_programs.Chain, "llvm"), tvm.cpu())["main"](tvm.runtime.tensor(x))
    assert bits([result, place]) == bits([plain, plain])
