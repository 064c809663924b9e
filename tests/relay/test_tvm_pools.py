"""TVM's descriptions of memory as they are."""

import pytest

pytest.importorskip("tvm.relay")

import tvm
from tvm.ir.memory_pools import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)

from tests.relay import networks
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Pool
from tvm_memplan.relay import micro_config, plan
from tvm_memplan.relay.tvm_pools import as_pools


def workspace(name, size=-1):
    return WorkspacePoolInfo(name, [tvm.target.Target("c")], PoolInfoProperties(size_hint_bytes=size))


def test_pool_infos_are_pools_with_their_hints_as_capacities():
    assert as_pools([workspace("dtcm", 4096), workspace("sram")]) == (Pool("dtcm", 4096), Pool("sram"))
    assert as_pools(WorkspaceMemoryPools([workspace("a", 8)])) == (Pool("a", 8),)
    flash = ConstantPoolInfo("flash", [tvm.target.Target("c")], [], PoolInfoProperties())
    assert as_pools(ConstantMemoryPools([flash])) == (Pool("flash"),)
    assert as_pools([Pool("mine", 3)]) == (Pool("mine", 3),)


def test_what_is_no_pool_is_refused():
    with pytest.raises(BadInput, match="weight_pools: 'sram'"):
        as_pools(["sram"], "weight_pools")
    with pytest.raises(BadInput, match="'a' has a size hint of 0"):
        as_pools([workspace("a", 0)])


def test_a_model_is_planned_into_them_and_what_is_moved_least_leaves_the_first():
    made = plan(
        networks.integer_residual(),
        None,
        micro_config(less_workspace=False),
        pools=WorkspaceMemoryPools([workspace("dtcm", 3000), workspace("sram")]),
        io_in_pool=True,
    )
    sizes = made.plan.pool_sizes
    assert 0 < sizes["dtcm"] <= 3000
    assert sizes["sram"] > 0
    assert any("dtcm cannot hold all" in note for note in made.report.notes)
