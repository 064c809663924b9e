"""Two builds of one model that differ in one operator: that operator is named, though all numbers shift."""

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

import tvm
from tvm import relay

from tvm_memplan.relay import micro_config, plan
from tvm_memplan.report.diff import Growth, Limits, difference, overruns


def network(channels=8, extra=False):
    """Four convolutions in a row; the second one has so many channels, and a pooling may come before it."""
    rng = np.random.default_rng(0)
    x = y = relay.var("x", shape=(1, 8, 12, 12))
    inputs = 8
    for i, outputs in enumerate((8, channels, 8, 8)):
        if i == 1 and extra:
            y = relay.nn.max_pool2d(y, (3, 3), (1, 1), padding=(1, 1))
        w = relay.const(rng.standard_normal((outputs, inputs, 3, 3)).astype("float32"))
        y = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), channels=outputs, kernel_size=(3, 3)))
        inputs = outputs
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))


@pytest.fixture(scope="module")
def before():
    return plan(network(), target=micro_config()).report


def test_the_operator_that_was_widened_and_what_reads_it_are_named(before):
    after = plan(network(channels=12), target=micro_config()).report
    found = difference(before, after)
    activations = [c for c in found.buffers if c.row.kind.value == "activation"]
    assert {(c.what, c.growth) for c in activations} == {("grown", 4 * 12 * 12 * 4)}
    changed = {c.operator for c in found.operators}
    steps = {row.operator for row in before.allocations if row.operator}
    assert changed and len(changed) < len(steps)  # the first and the last convolution are not accused
    assert overruns(found, Limits(Growth.read("1%")))


def test_the_operator_that_was_put_in_is_named(before):
    after = plan(network(extra=True), target=micro_config()).report
    found = difference(before, after)
    assert [(c.what, c.row.operator) for c in found.buffers] == [("added", "fused_nn_max_pool2d")]
    assert [(c.operator, c.old, c.new) for c in found.operators] == [("fused_nn_max_pool2d", None, 8 * 12 * 12 * 4)]


def test_the_same_model_built_again_has_not_changed(before):
    found = difference(before, plan(network(), target=micro_config()).report)
    assert found.empty and not overruns(found, Limits(Growth.read("0")))
