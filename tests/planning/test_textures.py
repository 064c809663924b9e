"""Slots that are measured by their extents."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.strategies import spans
from tvm_memplan.errors import BadPlan, BadProblem
from tvm_memplan.planning.model import LiveRange
from tvm_memplan.planning.slots.textures import Texture, TextureSlot, check_texture_slots, texture_peaks, texture_slots

extents = st.lists(st.integers(1, 20), min_size=1, max_size=3).map(tuple)
textures = st.lists(
    st.builds(Texture, st.just("t"), extents, st.sampled_from(("half4", "float4")), spans()), max_size=12
)


def texture(name: str, width: int, height: int, start: int, stop: int, element: str = "half4") -> Texture:
    return Texture(name, (width, height), element, (LiveRange(start, stop),))


@given(rows=textures)
@settings(max_examples=150, deadline=None)
def test_slots_are_right_and_never_larger_than_without_sharing(rows):
    slots = texture_slots(rows)
    check_texture_slots(rows, slots)
    assert sum(slot.elements for slot in slots) <= sum(prod(row.extents) for row in rows)
    assert all(slot.extents == tuple(map(max, zip(*(rows[i].extents for i in slot.members)))) for slot in slots)


@given(rows=textures)
@settings(max_examples=100, deadline=None)
def test_no_slots_have_fewer_elements_than_the_peaks_of_their_types(rows):
    slots = texture_slots(rows)
    for peak in texture_peaks(rows):
        assert peak.elements <= sum(slot.elements for slot in slots if slot.element == peak.element)
        assert all(any(r.start <= peak.step < r.stop for r in rows[i].live_ranges) for i in peak.members)


def test_the_peak_is_that_of_one_step_and_one_type():
    rows = [
        texture("a", 4, 4, 0, 2),
        texture("b", 2, 2, 1, 3),
        texture("c", 8, 8, 1, 2, "float4"),
        texture("d", 4, 4, 2, 3),
    ]
    first, second = texture_peaks(rows)
    assert (first.element, first.elements, first.step, first.members) == ("half4", 20, 1, (0, 1))
    assert (second.element, second.elements, second.step, second.members) == ("float4", 64, 1, (2,))


def test_a_wide_and_a_tall_texture_do_not_share_although_they_have_equal_areas():
    rows = [texture("wide", 4096, 16, 0, 1), texture("tall", 16, 4096, 1, 2)]
    slots = texture_slots(rows)
    assert sorted(slot.extents for slot in slots) == [(16, 4096), (4096, 16)]
    assert sum(slot.elements for slot in slots) == 2 * 65536


def test_equal_textures_one_after_another_share_one_slot():
    rows = [texture(f"t{k}", 32, 8, k, k + 1) for k in range(5)]
    assert texture_slots(rows) == [TextureSlot((32, 8), "half4", (0, 1, 2, 3, 4))]


def test_a_slot_grows_where_that_is_cheaper_than_another():
    rows = [texture("a", 32, 8, 0, 1), texture("b", 30, 9, 1, 2)]
    assert texture_slots(rows) == [TextureSlot((32, 9), "half4", (1, 0))]


def test_types_and_dimensions_do_not_mix():
    rows = [
        texture("a", 8, 8, 0, 1),
        texture("b", 8, 8, 1, 2, "float4"),
        Texture("c", (64,), "half4", (LiveRange(2, 3),)),
    ]
    assert len(texture_slots(rows)) == 3


def test_no_slot_grows_beyond_what_the_device_has():
    rows = [texture("a", 10, 9, 0, 1), texture("b", 9, 10, 1, 2)]
    assert len(texture_slots(rows)) == 1
    assert len(texture_slots([rows[0], texture("b", 9, 9, 1, 2)], largest=(10, 9))) == 1
    assert len(texture_slots([texture("a", 10, 8, 0, 1), texture("b", 8, 10, 1, 2)], largest=(10, 10))) == 1
    with pytest.raises(BadProblem, match=r"'b' of \(9, 10\) is larger than \(10, 9\)"):
        texture_slots(rows, largest=(10, 9))


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([TextureSlot((8, 8), "half4", (0,))], "2 textures need one slot each"),
        ([TextureSlot((8, 8), "half4", (0, 1, 1))], "2 textures need one slot each"),
        ([TextureSlot((8, 8), "half4", (0, 1))], "'b' of float4 is in slot 0 of half4"),
        (
            [TextureSlot((8, 7), "half4", (0,)), TextureSlot((4, 4), "float4", (1,))],
            r"'a' of \(8, 8\) does not fit slot 0",
        ),
    ],
)
def test_broken_slots_are_noticed(slots, message):
    with pytest.raises(BadPlan, match=message):
        check_texture_slots([texture("a", 8, 8, 0, 2), texture("b", 4, 4, 1, 3, "float4")], slots)


def test_textures_alive_together_are_noticed():
    rows = [texture("a", 8, 8, 0, 2), texture("b", 4, 4, 1, 3)]
    with pytest.raises(BadPlan, match="'a' and 'b' are alive together in slot 0"):
        check_texture_slots(rows, [TextureSlot((8, 8), "half4", (0, 1))])


def test_extents_are_at_least_one():
    with pytest.raises(BadProblem, match="extents must be at least 1 each"):
        texture("a", 0, 8, 0, 1)
