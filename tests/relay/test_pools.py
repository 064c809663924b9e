"""What TVM's pools can hold, checked on plans alone."""

import pytest

pytest.importorskip("tvm.relay")

from tvm_memplan.errors import BadInput, BadPlan, UnsupportedIR
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.relay.pools import c_name, check_c_layout, check_pools


def plan_of(*placements, size=10, kind=Kind.WEIGHTS):
    """One buffer per (pool, offset)."""
    pools = tuple(Pool(name) for name in dict.fromkeys(pool for pool, _ in placements))
    buffers = tuple(Buffer(f"b{i}", size, (LiveRange(0, 1),), kind=kind) for i in range(len(placements)))
    return Plan(Problem(buffers, pools), tuple(Placement(pool, offset) for pool, offset in placements))


def test_weights_are_laid_out_as_c_lays_out_a_struct():
    check_c_layout(plan_of(("w", 32), ("w", 0), ("w", 16)), 16)
    with pytest.raises(BadPlan, match=r"'b0' at offset 48.* 32"):
        check_c_layout(plan_of(("w", 48), ("w", 0), ("w", 16)), 16)


def test_more_pools_than_tvm_keeps_in_order_are_refused():
    names = {f"p{i}" for i in range(4)}
    plan = plan_of(*((name, 0) for name in (*names, "w")))
    check_pools(plan, names - {"p0"}, {"w"})
    with pytest.raises(UnsupportedIR, match="5 pools"):
        check_pools(plan, names, {"w"})


def test_weights_in_two_pools_are_refused():
    with pytest.raises(UnsupportedIR, match="v, w"):
        check_pools(plan_of(("v", 0), ("w", 0)), set(), {"v", "w"})


def test_a_pool_larger_than_tvm_counts_is_refused():
    with pytest.raises(UnsupportedIR, match="2147483648 bytes"):
        check_pools(plan_of(("p", 0), size=2**31), {"p"}, set())


def test_pools_that_are_one_in_c_are_refused():
    assert c_name("sram1+sram2") == "workspace_sram1_sram2"
    with pytest.raises(BadInput, match="workspace_a_b"):
        check_pools(plan_of(("a-b", 0), ("a+b", 0)), {"a-b", "a+b"}, set())
