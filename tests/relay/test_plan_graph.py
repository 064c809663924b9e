"""Other storage ids for the graph executor: who may share, what that takes, and that the judge sees a wrong one."""

import json
import random

import numpy as np
import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm
from tvm import relay
from tvm.contrib import graph_executor

from tests.relay import networks
from tvm_memplan.dialects.graph_json import read_graph, with_storage_ids
from tvm_memplan.dialects.textures import texture_extents
from tvm_memplan.errors import BadInput, BadPlan, UnsupportedIR
from tvm_memplan.relay import plan_graph
from tvm_memplan.relay.plan_graph import check_graph

TEXTURE = "global.texture"


def graph_of(*nodes, heads=None):
    """A graph of (reads, shape, scope) per node, each with one output; nodes without reads are inputs.

    A scope of ``"nop"`` makes a node that gives its input another shape. Every tensor gets a storage id of its own.
    """
    made, shapes, scopes = [], [], []
    for k, (reads, shape, scope) in enumerate(nodes):
        nop = scope == "nop"
        operator = {"func_name": "__nop" if nop else f"f{k}"}
        node = {"op": "tvm_op" if reads else "null", "name": f"n{k}", "inputs": [[r, 0, 0] for r in reads]}
        made.append({**node, "attrs": operator} if reads else node)
        shapes.append(list(shape))
        scopes.append(scopes[reads[0]] if nop else scope)
    count = len(made)
    return json.dumps(
        {
            "nodes": made,
            "arg_nodes": [k for k, (reads, _, _) in enumerate(nodes) if not reads],
            "heads": [[k, 0, 0] for k in (heads or [count - 1])],
            "attrs": {
                "dltype": ["list_str", ["float32"] * count],
                "device_index": ["list_int", [4] * count],
                "storage_id": ["list_int", list(range(count))],
                "shape": ["list_shape", shapes],
                "storage_scope": ["list_str", scopes],
            },
            "node_row_ptr": list(range(count + 1)),
        }
    )


def ids(graph_json):
    return [tensor.storage_id for tensor in read_graph(graph_json).tensors]


def chain(*shapes, scope=TEXTURE):
    return graph_of(([], (1, 4), ""), *(([k], shape, scope) for k, shape in enumerate(shapes)))


def test_tensors_that_are_not_alive_together_share_and_inputs_do_not():
    assert ids(plan_graph(chain((8, 8), (8, 8), (8, 8), (8, 8), scope="")).graph_json) == [0, 1, 2, 1, 2]


def test_textures_share_as_wide_and_as_high_as_needed():
    planned = plan_graph(chain((2, 3, 5, 4), (1, 1, 1, 4), (2, 4, 4, 4), (1, 1, 1, 4)))
    assert ids(planned.graph_json) == [0, 1, 2, 1, 2]
    (figures,) = planned.report.pools
    assert figures.naive == 16 * (30 + 1 + 32 + 1)
    assert figures.planned == 16 * (5 * 8 + 1), "5 wide for the first, 8 high for the third"
    assert figures.bound == 16 * 33


def test_a_wide_and_a_tall_texture_do_not_share():
    planned = plan_graph(chain((1, 1, 400, 4), (1, 1, 1, 4), (20, 20, 1, 4), (1, 1, 1, 4)))
    wide, tall = ids(planned.graph_json)[1::2]
    assert wide != tall


def test_scopes_do_not_share():
    nodes = [([], (1, 4), "")]
    for k in range(4):
        nodes.append(([k], (2, 2, 2, 4), (TEXTURE, "global.texture-nhwc", "", TEXTURE)[k]))
    assert ids(plan_graph(graph_of(*nodes)).graph_json) == [0, 1, 2, 3, 1]


def test_a_nop_shares_with_its_input_and_keeps_it_alive():
    nodes = [([], (8,), ""), ([0], (8,), ""), ([1], (2, 4), "nop"), ([0], (8,), ""), ([2, 3], (8,), "")]
    assert ids(plan_graph(graph_of(*nodes)).graph_json) == [0, 1, 1, 2, 3]
    on_input = [([], (8,), ""), ([0], (2, 4), "nop"), ([1], (8,), ""), ([2], (8,), ""), ([1, 3], (8,), "")]
    assert ids(plan_graph(graph_of(*on_input)).graph_json) == [0, 0, 1, 2, 1]


def test_every_output_is_kept_to_the_end():
    planned = plan_graph(graph_of(*[([], (8,), "")], *(([k], (8,), "") for k in range(4)), heads=[1, 4]))
    assert ids(planned.graph_json) == [0, 1, 2, 3, 2]


@pytest.mark.parametrize(
    ("scope", "shape", "extents"),
    [
        ("global.texture", (1, 8, 14, 15, 4), (15, 8 * 14, 4)),
        ("global.texture-weight", (8, 32, 3, 3, 4), (32 * 9, 8, 4)),
        ("global.texture-nhwc", (1, 14, 15, 8, 4), (15 * 8, 14, 4)),
        ("global.texture-nhwc", (14, 15, 4), (15, 14, 4)),
        ("global.texture", (14, 4), None),
        ("global.texture-odd", (1, 8, 14, 15, 4), None),
    ],
)
def test_a_tensor_is_cut_into_rows_and_columns_as_tvm_does(scope, shape, extents):
    assert texture_extents(shape, scope) == extents


def test_what_no_texture_holds_is_refused_by_name():
    with pytest.raises(UnsupportedIR, match=r"node 'n1': no texture of scope 'global.texture' holds \(8, 4\)"):
        plan_graph(chain((8, 4)))
    with pytest.raises(UnsupportedIR, match="has 1 or 4 channels, not 3"):
        plan_graph(chain((8, 4, 3)))
    moved = graph_of(([], (1, 4), ""), ([0], (4, 2, 4), TEXTURE), ([1], (2, 4, 4), "nop"), ([2], (1, 4), ""))
    with pytest.raises(UnsupportedIR, match="'n1' is a texture that is read in another shape"):
        plan_graph(moved)
    data = json.loads(moved)
    data["attrs"]["storage_scope"][1][2] = ""
    with pytest.raises(UnsupportedIR, match="'n2' does nothing, but its input is in another scope"):
        plan_graph(json.dumps(data))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda g: g["attrs"].pop("storage_id"), "not a graph executor's JSON .KeyError"),
        (lambda g: g["attrs"]["shape"][1].pop(), "shape has 2 values for 3 tensors"),
        (lambda g: g["nodes"][1]["inputs"].append([2, 0, 0]), "node 1 reads output 0 of node 2"),
        (lambda g: g["heads"].append([9, 0, 0]), "reads output 0 of node 9"),
        (lambda g: g["attrs"]["dltype"][1].__setitem__(1, "thing"), "'n1' has the unknown type 'thing'"),
    ],
)
def test_a_damaged_graph_is_refused_with_the_place(damage, message):
    graph = json.loads(chain((8, 8), (8, 8), scope=""))
    damage(graph)
    with pytest.raises(BadInput, match=message):
        plan_graph(json.dumps(graph))


def random_graph(dice):
    nodes = [([], (4, 4), "") for _ in range(dice.randint(1, 3))]
    for k in range(len(nodes), len(nodes) + dice.randint(2, 14)):
        reads = sorted(dice.sample(range(k), min(k, dice.randint(1, 3))))
        scope = dice.choice(("", "", TEXTURE, "global.texture-weight", "nop"))
        if scope == "nop":
            reads, shape = reads[:1], nodes[reads[0]][1]
        else:
            shape = (*(dice.randint(1, 6) for _ in range(3)), 4)
        nodes.append((reads, shape, scope))
    heads = sorted(dice.sample(range(len(nodes)), dice.randint(1, 2)))
    return graph_of(*nodes, heads=heads)


def test_random_graphs_are_planned_between_bound_and_naive_and_most_broken_ids_are_refused():
    broken = caught = 0
    for seed in range(150):
        dice = random.Random(seed)
        text = random_graph(dice)
        planned = plan_graph(text)  # judged inside
        for pool in planned.report.pools:
            assert pool.bound <= pool.planned <= pool.naive
        graph = read_graph(planned.graph_json)
        numbers = ids(planned.graph_json)
        one, other = dice.randrange(len(numbers)), dice.randrange(len(numbers))
        changed = list(numbers)
        changed[one] = numbers[other]
        if changed != numbers and graph.tensors[one].scope == graph.tensors[other].scope:
            broken += 1
            try:
                check_graph(read_graph(with_storage_ids(text, changed)))
            except BadPlan:
                caught += 1
    assert broken > 20
    assert caught > broken / 2, "some changes are right by luck: the two were never alive together"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({2: 1}, "'n2' writes into storage 1"),
        ({1: 0}, "'n1' writes into storage 0"),
        ({3: 0}, "the caller does not find 'n0'"),
        ({4: 2, 3: 1}, "'n4' writes into storage 2|does not find"),
    ],
)
def test_wrong_storage_ids_are_refused(change, message):
    text = graph_of(([], (8,), ""), ([0], (8,), ""), ([1], (8,), ""), ([2], (8,), ""), ([3, 2], (8,), ""))
    numbers = [change.get(k, k) for k in range(5)]
    with pytest.raises(BadPlan, match=message):
        check_graph(read_graph(with_storage_ids(text, numbers)))


@pytest.mark.parametrize("network", [networks.classifier, networks.residual])
def test_tvms_own_executor_computes_the_same_bits_with_our_ids(network):
    mod = network()
    with tvm.transform.PassContext(opt_level=3):
        library = relay.build(mod, target="llvm")
    planned = plan_graph(library.get_graph_json())
    for figures, before in zip(planned.report.pools, planned.before):
        assert figures.planned <= before.planned
    results = []
    for text in (library.get_graph_json(), planned.graph_json):
        module = graph_executor.create(text, library.get_lib(), tvm.cpu())
        module.load_params(tvm.runtime.save_param_dict(library.get_params()))
        for seed in range(2):
            module.run(**networks.inputs_of(mod, seed))
            results.append([module.get_output(k).numpy().tobytes() for k in range(module.get_num_outputs())])
    assert results[:2] == results[2:]
    assert not np.array_equal(results[0], results[1])
