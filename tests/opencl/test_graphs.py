"""A network with textures between its operators, run by storage id on an OpenCL device: TVM's ids, ours, wrong ones."""

import numpy as np
import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

from tests.opencl import graphs, images
from tvm_memplan.dialects.graph_json import read_graph
from tvm_memplan.errors import BadPlan
from tvm_memplan.relay import plan_graph
from tvm_memplan.relay.plan_graph import check_graph
from tvm_memplan.transform import PlanMemory, RewriteStorage


@pytest.fixture(scope="module")
def network():
    images.device()
    module, params = graphs.convolutions()
    return graphs.Network(module, params)


def inputs(seed):
    return {"x": np.random.default_rng(seed).normal(size=(1, 8, 12, 12)).astype("float32")}


def apart(graph_json):
    """Every tensor in a storage of its own."""
    return graphs.with_ids(graph_json, {e: e for e in range(len(read_graph(graph_json).tensors))})


def test_our_storage_ids_compute_the_same_bits_in_every_tensor(network):
    planned = plan_graph(network.graph_json)
    assert any("texture" in pool.pool and pool.planned < pool.naive for pool in planned.report.pools)
    outputs = []
    for seed in range(3):
        alone, out = network.run(apart(network.graph_json), inputs(seed))
        assert not np.isnan(out[0]).any()
        assert network.run(network.graph_json, inputs(seed))[0] == alone, "TVM's own ids"
        assert network.run(planned.graph_json, inputs(seed))[0] == alone, "ours"
        outputs.append(out[0])
    assert not np.array_equal(outputs[0], outputs[1]), "the network reacts to its input"


def test_a_texture_that_grew_for_another_tensor_changes_no_bit(network):
    # Two tensors of one scope and different extents in one storage; the smaller one lies in its corner.
    graph = read_graph(plan_graph(network.graph_json).graph_json)
    shared = {}
    for tensor in graph.tensors:
        if "texture" in tensor.scope:
            shared.setdefault(tensor.storage_id, set()).add(tensor.shape)
    assert any(len(shapes) > 1 for shapes in shared.values())


def test_two_live_tensors_in_one_texture_are_seen_and_refused(network):
    graph = read_graph(network.graph_json)
    # What the first convolution writes is read by the second, and added by the third.
    first, second = [e for e, tensor in enumerate(graph.tensors) if tensor.shape == (1, 4, 12, 12, 4)][:2]
    wrong = graphs.with_ids(network.graph_json, {second: graph.tensors[first].storage_id})
    with pytest.raises(BadPlan, match="writes into storage"):
        check_graph(read_graph(wrong))
    right, _ = network.run(network.graph_json, inputs(0))
    assert network.run(wrong, inputs(0))[0] != right


def test_operators_and_graph_planned_together_compute_the_same_bits(network):
    module, params = graphs.convolutions()
    both = graphs.Network(module, params, {"tir.add_lower_pass": [(1, PlanMemory()), (1, RewriteStorage())]})
    planned = plan_graph(both.graph_json).graph_json
    assert both.run(planned, inputs(0))[0] == network.run(network.graph_json, inputs(0))[0]
