"""Operators that end where the tensor between them is narrowest compute the same bits in less memory."""

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

from tvm import relay

from tests.relay import execution, networks, quantised
from tvm_memplan.dialects.relay import ranges, tails
from tvm_memplan.relay import build, micro_config, plan, read_model, recut
from tvm_memplan.relay.operator_memory import OperatorMemory

LESS = micro_config("cortex-m3")
PLAIN = micro_config("cortex-m3", less_workspace=False)


@pytest.fixture
def compiler():
    if not execution.c_compiler():
        pytest.skip("no C compiler")


def assert_same_bits(mod, params, folder, seeds=4, reference=execution.unplanned, **options):
    """Ours against TVM's own build, with intermediates where the model returns them."""
    built = build(mod, params, LESS, **options)
    batches = [networks.inputs_of(mod, seed, params) for seed in range(seeds)]
    ours = execution.run(built.module, LESS, folder, *batches)
    theirs = execution.run(reference(mod, params, PLAIN), PLAIN, folder, *batches)
    for mine, other in zip(ours, theirs):
        for a, b in zip(mine, other, strict=True):
            assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
    assert any(not np.array_equal(a, b) for a, b in zip(ours[0], ours[1])), "the network ignores its input"
    return built.report


@pytest.mark.parametrize("intermediates", [False, True])
@pytest.mark.parametrize("network", [quantised.separable, quantised.residual])
def test_the_same_bits_in_less_memory(network, intermediates, compiler, tmp_path):
    mod = network(intermediates)
    report = assert_same_bits(mod, None, tmp_path)
    assert report.pool("workspace").planned < plan(mod, target=PLAIN).plan.size("workspace")


def test_paddings_of_floating_point_numbers_are_read_through_too(compiler, tmp_path):
    report = assert_same_bits(quantised.padded_float(), None, tmp_path)
    assert not any("pad" in row.name.lower() and row.size > 1000 for row in report.allocations)
    assert report.pool("workspace").planned < plan(quantised.padded_float(), target=PLAIN).plan.size("workspace")


def test_the_report_says_what_was_done():
    notes = plan(quantised.separable(), target=LESS).report.notes
    assert any("between operators" in note for note in notes) and any("not stored" in note for note in notes)
    notes = plan(quantised.separable(), target=PLAIN).report.notes
    assert not any("between operators" in note or "not stored" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_networks_compute_the_same_bits(seed, compiler, tmp_path):
    mod = quantised.random_network(seed)
    report = assert_same_bits(mod, None, tmp_path)
    assert report.pool("workspace").planned <= plan(mod, target=PLAIN).plan.size("workspace")


@pytest.mark.slow
@pytest.mark.parametrize(("model", "tflm"), [("kws_ref_model.tflite", 24_272)])  # scripts/bench_micro.py has more
def test_a_real_model_takes_less_than_the_smallest_arena_of_tflm(model, tflm, compiler, tmp_path, shared_data):
    mod, params = read_model(shared_data / "models" / "mlperf_tiny" / model)
    report = assert_same_bits(mod, params, tmp_path, seeds=3)
    io = sum(row.size for row in report.allocations if row.pool == "caller")
    assert report.pool("workspace").planned + io < tflm


# What is moved, and what is not. Operators are written as FuseOps leaves them.


class Needs:
    """Stands for `OperatorMemory`: what an operator needs, or that it needs nothing."""

    def __init__(self, need=lambda operator: 0):
        self.need = need


def operator(params, body):
    return relay.Function(params, body).with_attr("Primitive", 1)


def var(name, dtype="int8", shape=(1, 4, 4, 8)):
    return relay.var(name, shape=shape, dtype=dtype)


def narrowed(value, low=-128, high=127):
    return relay.clip(value, low, high)


def widening(low=-128, high=127):
    """An operator whose int32 result lies in a range that a narrower type holds."""
    p = var("p", "int32")
    return operator([p], narrowed(relay.right_shift(p, relay.const(3, "int32")) * p, low, high))


def doubling():
    p = var("p", "int32")
    return operator([p], relay.cast(p + p, "int16"))


def moved(*functions, memory=None):
    """What `recut` does to a chain of operators, and the main function it makes."""
    x = var("x", str(functions[0].params[0].type_annotation.dtype))
    values = [x]
    for function in functions:
        values.append(relay.Call(function, [values[-1]]))
    main = quantised.module([x], values[-1])["main"]
    written, found = recut.recut(main, memory or Needs())
    return found, quantised.module(written.params, written.body)["main"]


def between(main):
    """The types of what lies between operators, in order."""
    found = []

    def visit(node):
        if isinstance(node, relay.Call) and isinstance(node.op, relay.Function):
            found.append(str(node.checked_type.dtype))

    relay.analysis.post_order_visit(main, visit)
    return found[:-1]


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(-128, 127, "int8"), (0, 255, "uint8"), (-129, 127, "int16"), (0, 256, "int16"), (0, 40_000, "uint16")],
)
def test_a_tensor_gets_the_narrowest_type_that_holds_its_values(low, high, dtype):
    found, main = moved(widening(low, high), doubling())
    assert [cut.after for cut in found] == [128 * (1 if dtype.endswith("8") else 2)]
    assert between(main) == [dtype]


def test_a_tensor_that_needs_its_type_keeps_it():
    found, main = moved(widening(-40_000, 40_000), doubling())
    assert found == () and between(main) == ["int32"]


def test_what_the_caller_gets_keeps_its_type():
    x = var("x", "int32")
    first = relay.Call(widening(), [x])
    main = quantised.module([x], relay.Tuple([first, relay.Call(doubling(), [first])]))["main"]
    written, found = recut.recut(main, Needs())
    assert found == () and written.same_as(main)


def test_a_reader_that_only_reshapes_is_left_alone():
    p = var("p", "int32")
    reshaping = operator([p], relay.reshape(p, (128,))).with_attr("relay.reshape_only", 1)
    found, _ = moved(widening(), reshaping)
    assert found == ()


def test_every_reader_gets_what_moved():
    x = var("x", "int32")
    first = relay.Call(widening(), [x])
    main = quantised.module([x], relay.Tuple([relay.Call(doubling(), [first]), relay.Call(doubling(), [first])]))
    written, found = recut.recut(main["main"], Needs())
    assert len(found) == 1
    readers = quantised.module(written.params, written.body)["main"].body.fields
    assert {str(reader.op.params[0].checked_type.dtype) for reader in readers} == {"int8"}


def scaled():
    """An operator that ends in a product after its result was narrow."""
    p = var("p", "int32")
    return operator([p], relay.fixed_point_multiply(narrowed(p * p), 1395864371, 2))


def adding():
    p = var("p", "int32")
    return operator([p], relay.cast(narrowed(p + relay.const(1, "int32")), "int8"))


def spreading():
    """An operator that reads elements more than once."""
    p = var("p", "int32")
    return operator([p], relay.nn.max_pool2d(p, (3, 3), padding=(1, 1), layout="NHWC"))


def test_a_dear_step_moves_to_a_reader_that_takes_each_element_once():
    found, main = moved(scaled(), adding())
    assert [cut.operators for cut in found] == ["fixed_point_multiply"] and between(main) == ["int8"]


def test_a_dear_step_is_not_done_again_and_again():
    found, main = moved(scaled(), spreading())
    assert found == () and between(main) == ["int32"]
    x = var("x", "int32")
    first = relay.Call(scaled(), [x])
    main = quantised.module([x], relay.Tuple([relay.Call(adding(), [first]), relay.Call(adding(), [first])]))["main"]
    assert recut.recut(main, Needs())[1] == ()


def test_a_result_that_lies_on_its_argument_keeps_it_as_large_as_it_is():
    p = var("p", "int32")
    in_place = operator([p], p + relay.const(1, "int32"))
    found, main = moved(widening(), in_place)
    assert found == () and between(main) == ["int32"]


def test_floating_point_is_left_alone():
    p, q = var("p"), var("q", "float32")
    floating = operator([p], relay.cast(p, "float32"))
    found, _ = moved(floating, operator([q], q + q))
    assert found == ()


def test_a_change_is_made_only_where_operators_need_no_more():
    worse = Needs(lambda operator: 1 if "int8" in str(operator.params[0].type_annotation) else 0)
    assert moved(widening(), doubling(), memory=worse)[0] == ()
    unknown = Needs(lambda operator: None)
    assert moved(widening(), doubling(), memory=unknown)[0] == ()


def test_an_operator_that_cannot_be_lowered_needs_an_unknown_amount():
    p = var("p")
    weight = relay.const(np.zeros((8, 8, 2, 2), "int8"))
    impossible = operator([p], relay.nn.conv2d(p, weight, data_layout="NHWC", kernel_layout="OIHW"))
    assert OperatorMemory(PLAIN.target, 16).workspace(impossible) is None


def test_a_type_that_does_not_hold_the_values_is_caught(monkeypatch, compiler, tmp_path):
    mod = quantised.wide_sums()
    assert_same_bits(mod, None, tmp_path, seeds=2)
    monkeypatch.setattr(tails, "narrowest", lambda expr: "int8")
    with pytest.raises(AssertionError):
        assert_same_bits(mod, None, tmp_path, seeds=2)


def test_a_range_is_never_smaller_than_what_comes_out():
    rng = np.random.default_rng(0)
    x = var("x", "int32", (64,))
    given = rng.integers(-70_000, 70_000, 64).astype("int32")
    for dtype in ("int8", "uint8", "int16", "uint16", "int32"):
        for low, high in ((-128, 127), (-5.5, 5.5), (0, 300), (-70_000, 70_000)):
            y = relay.cast(relay.clip(x, low, high), dtype)
            y = relay.nn.pad(y, ((2, 2),), float(rng.integers(-300, 300)))
            body = quantised.module([x], y)["main"].body
            least, most = ranges.value_range(body)
            out = relay.create_executor("debug", mod=quantised.module([x], y)).evaluate()(given).numpy()
            assert least <= out.min() and out.max() <= most
