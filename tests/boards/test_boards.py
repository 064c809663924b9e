import json

import pytest

from tvm_memplan.boards import Board, Region, joined_regions, list_boards, load_board
from tvm_memplan.errors import BadInput

SRAM = Region("sram", 1024, "sram", address=0x2000_0000)


def test_every_board_that_ships_passes_the_checks_and_names_its_sources():
    names = list_boards()
    assert len(names) >= 15
    for name in names:
        board = load_board(name)
        assert board.name == name
        assert board.sources and board.verified and board.title and board.cpu


def test_the_boards_agree_with_the_recorded_facts(shared_data):
    for fact in json.loads((shared_data / "boards.json").read_text()):
        board = load_board(fact["id"])
        for recorded in fact["regions"]:
            address = None if recorded["addr"] is None else int(recorded["addr"], 16)
            region = board.region(recorded["name"].partition("(")[0])
            assert (region.size_bytes, region.kind, region.address, region.optional) == (
                recorded["size_bytes"],
                recorded["kind"],
                address,
                recorded.get("optional", False),
            )


def test_touching_regions_of_one_kind_are_one():
    (ram,) = (r for r in joined_regions(load_board("max78000")) if r.kind == "sram")
    assert ram.size_bytes == 128 * 1024
    assert ram.name == "sram0+sram1+sram2+sram3"
    assert ram.address == 0x2000_0000


def test_regions_that_nothing_may_span_stay_apart():
    assert [r.name for r in joined_regions(load_board("frdm_k64f")) if r.kind == "sram"] == ["sram_l", "sram_u"]


def test_regions_of_different_kinds_or_with_a_gap_stay_apart():
    names = [r.name for r in joined_regions(load_board("stm32f746g_disco"))]
    assert "dtcm" in names and "sram1+sram2" in names
    gap = Board("b", "", "", (SRAM, Region("next", 64, "sram", address=0x2000_0401)))
    assert [r.name for r in joined_regions(gap)] == ["sram", "next"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"kind": "ram"}, "kind 'ram' is not one of sram, tcm, flash, external, external-ro"),
        ({"size_bytes": 0}, "size_bytes must be positive, got 0"),
        ({"size_bytes": -4}, "size_bytes must be positive, got -4"),
        ({"alignment": 3}, "alignment must be a power of two, got 3"),
        ({"alignment": 0}, "alignment must be a power of two, got 0"),
        ({"address": -1}, "address must not be negative"),
        ({"address": 0x2000_0004, "alignment": 8}, "0x20000004 is not a multiple of its alignment 8"),
    ],
)
def test_a_region_that_cannot_be_is_refused_by_name(fields, says):
    with pytest.raises(BadInput, match="region 'r'") as caught:
        Region(**{"name": "r", "size_bytes": 64, "kind": "sram", **fields})
    assert says in str(caught.value)


def test_regions_that_overlap_are_refused_by_both_names():
    with pytest.raises(BadInput, match=r"region 'b': its address 0x200003ff lies within region 'sram'"):
        Board("x", "", "", (SRAM, Region("b", 16, "sram", address=0x2000_03FF)))


def test_a_board_without_ram_is_refused():
    flash = Region("flash", 1024, "flash")
    code = Region("iram", 1024, "sram", data=False)
    with pytest.raises(BadInput, match="no region is RAM"):
        Board("x", "", "", (flash, code))


def test_a_board_says_which_regions_it_has():
    with pytest.raises(BadInput, match=r"nrf52840dk: no region 'ccm'; it has sram, flash"):
        load_board("nrf52840dk").region("ccm")
