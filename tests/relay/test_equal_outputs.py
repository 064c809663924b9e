"""Planned and unplanned builds compute the same bits."""

import numpy as np
import pytest

pytest.importorskip("tvm.relay")

import tvm

from tests.relay import execution, networks
from tvm_memplan.planning.model import Kind
from tvm_memplan.relay import build, host_config, micro_config, read_model

CONFIGURATIONS = {"llvm": host_config("llvm"), "c": host_config("c"), "micro": micro_config("cortex-m3")}
NETWORKS = {
    "classifier": networks.classifier,
    "classifier with intermediates": lambda: networks.classifier(intermediates=True),
    "residual": networks.residual,
    "residual with intermediates": lambda: networks.residual(intermediates=True),
    "wide residual": networks.wide_residual,
    "two outputs": networks.two_outputs,
    "integer": networks.integer,
    "no weights": networks.no_weights,
    "no workspace": networks.no_workspace,
    "identity": networks.identity,
}


@pytest.fixture(params=CONFIGURATIONS)
def config(request):
    chosen = CONFIGURATIONS[request.param]
    if chosen.target.startswith("c") and not execution.c_compiler():
        pytest.skip("no C compiler")
    return chosen


def assert_same_bits(mod, params, config, folder, **options):
    built = build(mod, params, config, **options)
    batches = [networks.inputs_of(mod, seed, params) for seed in (1, 2, 3)]
    batches.append(batches[0])
    ours = execution.run(built.module, config, folder, *batches)
    theirs = execution.run(execution.unplanned(mod, params, config), config, folder, *batches)
    for mine, reference in zip(ours, theirs):
        for a, b in zip(mine, reference, strict=True):
            assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())
    assert any(not np.array_equal(a, b) for a, b in zip(ours[0], ours[1])), "the network ignores its input"
    return built.report


@pytest.mark.parametrize("name", NETWORKS)
def test_a_planned_build_computes_the_same_bits(name, config, tmp_path):
    report = assert_same_bits(NETWORKS[name](), None, config, tmp_path)
    for figures in report.pools:
        assert figures.naive >= figures.planned >= figures.bound


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kws_ref_model.tflite", "ad01_int8.tflite"])
def test_a_real_model_computes_the_same_bits(name, config, tmp_path, shared_data):
    mod, params = read_model(shared_data / "models" / "mlperf_tiny" / name)
    report = assert_same_bits(mod, params, config, tmp_path)
    assert report.total(Kind.WEIGHTS) > 0


def test_every_planned_offset_is_in_the_lowered_module():
    built = build(networks.residual(), None, micro_config())
    found = set()

    def visit(node):
        if isinstance(node, tvm.tir.LetStmt) and node.var.name.endswith("_let"):
            found.add((node.var.name.removesuffix("_let"), int(node.value.args[0].indices[0])))

    for mod in built.module.lowered_ir_mods.values():
        for function in mod.functions.values():
            tvm.tir.stmt_functor.post_order_visit(function.body, visit)
    planned = {
        (row.name.removeprefix(f"{row.operator}.").split("#")[0], row.offset)
        for row in built.report.allocations
        if row.pool != "caller"
    }
    assert found == planned


def test_what_is_planned_is_what_is_built():
    built = build(networks.residual(), None, micro_config())
    pools = built.module.executor_codegen_metadata.pool_inputs.values()
    sizes = {str(pool.pool_info.pool_name): int(pool.allocated_size) for pool in pools}
    exact = {
        name: max(row.offset + row.size for row in built.report.allocations if row.pool == name)
        for name in ("workspace", "weights")
    }
    assert sizes == {"global_workspace": exact["workspace"], "global_const_workspace": exact["weights"]}
