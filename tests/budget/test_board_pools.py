import pytest

from tvm_memplan.boards import Board, Region, list_boards, load_board
from tvm_memplan.budget import BoardPools, Reserve, plan_for, pools_for
from tvm_memplan.errors import BadInput, DoesNotFit
from tvm_memplan.planning.model import Pool

DISCO = load_board("stm32f746g_disco")


def test_the_largest_internal_ram_comes_first():
    pools = pools_for(DISCO)
    assert [(p.name, p.capacity) for p in pools.activations] == [("sram1+sram2", 262144), ("dtcm", 65536)]
    assert [p.name for p in pools.weights] == ["flash"]


def test_external_memory_comes_last_and_only_on_request():
    pools = pools_for(DISCO, external=True)
    assert [p.name for p in pools.activations] == ["sram1+sram2", "dtcm", "sdram1"]
    assert [p.name for p in pools.weights] == ["flash", "qspi"]


def test_a_board_with_only_external_flash_uses_it_for_weights():
    assert [p.name for p in pools_for(load_board("rpi_pico")).weights] == ["flash"]


def test_optional_and_instruction_memory_hold_nothing_unasked():
    board = load_board("esp32s3_devkit")
    assert [p.name for p in pools_for(board).activations] == ["sram1+sram2"]
    assert [p.name for p in pools_for(board, external=True).activations] == ["sram1+sram2", "psram"]


def test_a_board_without_flash_leaves_the_weights_open():
    assert pools_for(load_board("gap8")).weights == (Pool("weights"),)


def test_the_reserve_comes_out_of_the_preferred_region_or_the_named_one():
    assert [p.capacity for p in pools_for(DISCO, 24576).activations] == [262144 - 24576, 65536]
    assert [p.capacity for p in pools_for(DISCO, Reserve(24576, "dtcm")).activations] == [262144, 65536 - 24576]


def test_a_joined_region_answers_to_the_names_of_its_parts():
    (pool,) = pools_for(load_board("max78000"), Reserve(1024, "sram2")).activations
    assert pool.capacity == 128 * 1024 - 1024


@pytest.mark.parametrize(
    ("reserve", "says"),
    [
        (300 * 1024, "is more than region 'sram1.sram2' has"),
        (Reserve(70000, "dtcm"), "is more than region 'dtcm' has"),
        (Reserve(1, "flash"), "cannot reserve in region 'flash'; activations use sram1.sram2, dtcm"),
        (Reserve(1, "ccm"), "no region 'ccm'; it has dtcm"),
        (-1, "must not be negative"),
    ],
)
def test_a_reserve_that_cannot_be_is_refused(reserve, says):
    with pytest.raises(BadInput, match=says):
        pools_for(DISCO, reserve)


def test_a_reserve_of_the_whole_region_leaves_an_empty_pool():
    assert pools_for(DISCO, Reserve(65536, "dtcm")).activations[1].capacity == 0


@pytest.mark.parametrize("name", list_boards())
def test_pools_never_have_more_than_the_board(name):
    board = load_board(name)
    pools = pools_for(board, external=True)
    assert sum(p.capacity for p in pools.activations) == sum(
        r.size_bytes for r in board.regions if r.writable and r.data
    )


def test_the_alignment_of_a_region_is_that_of_its_pool():
    board = Board("b", "", "", (Region("ram", 1024, "sram", alignment=16),))
    assert pools_for(board).activations == (Pool("ram", 1024, 16),)


POOLS = BoardPools((Pool("a", 100), Pool("b", 50)), (Pool("f", 1000),))


def test_a_plan_that_fits_is_made_once_within_the_capacities():
    asked = []
    assert plan_for(POOLS, lambda pools: asked.append(pools) or "report") == "report"
    assert asked == [POOLS]


@pytest.mark.parametrize("small", ["activations", "weights", "both"])
def test_only_what_does_not_fit_loses_its_capacity(small):
    def plan(pools):
        if small != "weights" and pools.activations[0].capacity:
            raise DoesNotFit("activations")
        if small != "activations" and pools.weights[0].capacity:
            raise DoesNotFit("weights")
        return pools

    used = plan_for(POOLS, plan)
    assert used.activations == (POOLS.activations if small == "weights" else (Pool("a"),))
    assert used.weights == (POOLS.weights if small == "activations" else (Pool("f"),))


def test_equal_attempts_are_not_repeated():
    asked = []

    def plan(pools):
        asked.append(pools)
        if pools.activations[0].capacity:
            raise DoesNotFit("no")
        return "report"

    plan_for(BoardPools(POOLS.activations, (Pool("weights"),)), plan)
    assert len(asked) == 2


def test_reserves_in_several_regions_are_each_taken_off():
    board = load_board("nucleo_h743zi")
    first, second, *_ = (pool.name for pool in pools_for(board).activations)
    sizes = {pool.name: pool.capacity for pool in pools_for(board).activations}
    reserves = (Reserve(100, first), Reserve(30, second), Reserve(8, first))
    less = {pool.name: pool.capacity for pool in pools_for(board, reserves).activations}
    assert less == {**sizes, first: sizes[first] - 108, second: sizes[second] - 30}


def test_named_memory_comes_in_the_order_of_the_names_and_naming_it_allows_it():
    pools = pools_for(load_board("stm32f746g_disco"), memory=("sdram1", "dtcm")).activations
    assert [pool.name for pool in pools] == ["sdram1", "dtcm"]


def test_memory_that_is_no_ram_or_named_twice_is_refused():
    regions = (Region("a", 10, "sram", address=0), Region("b", 10, "sram", address=10), Region("f", 9, "flash"))
    board = Board("x", "", "", regions)
    assert pools_for(board, memory=("b", "a")).activations == (Pool("b", 10), Pool("a", 10))
    with pytest.raises(BadInput, match=r"no RAM is called 'f'; there is a\+b, a, b"):
        pools_for(board, memory=("f",))
    with pytest.raises(BadInput, match=r"'a\+b' and 'b' have bytes in common"):
        pools_for(board, memory=("a+b", "b"))
