"""The passes given to `relay.build`: every operator of a network with its workspace in an arena, same outputs."""

import json

import numpy as np
import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm
from tvm import relay
from tvm.contrib import graph_executor

from tests.relay import networks
from tests.tir.running import Poison
from tvm_memplan.transform import PlanMemory, RewriteStorage, VerifyBudget
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE


def outputs(mod, passes, target="llvm"):
    """What three runs of the built network give, each on other inputs."""
    config = {"tir.add_lower_pass": [(1, p) for p in passes]}
    with tvm.transform.PassContext(opt_level=3, config=config):
        library = relay.build(mod, target=target)
    module = graph_executor.GraphModule(library["default"](tvm.cpu()))
    results = []
    for seed in range(3):
        module.run(**networks.inputs_of(mod, seed))
        results.append([module.get_output(i).numpy() for i in range(module.get_num_outputs())])
    return results


@pytest.mark.parametrize("network", [networks.classifier, networks.residual, networks.integer])
def test_a_network_built_with_the_passes_computes_the_same_bits(network):
    mod = network()
    arenas = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def look(function, module, context):
        if function.attrs is not None and ARENA_ATTRIBUTE in function.attrs:
            arenas.append(json.loads(str(function.attrs[ARENA_ATTRIBUTE])))
        return function

    plain = outputs(mod, ())
    planned = outputs(mod, (PlanMemory(), RewriteStorage(), VerifyBudget("1MiB"), Poison, look))
    assert len(arenas) >= 2, "several operators have workspace to plan"
    assert all(a.tobytes() == b.tobytes() for one, two in zip(plain, planned) for a, b in zip(one, two))
    assert not np.array_equal(plain[0][0], plain[1][0]), "the network reacts to its input"
