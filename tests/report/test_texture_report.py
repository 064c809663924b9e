"""Textures in a report: figures in bytes of texels, and a slot in the place of an offset."""

from tvm_memplan.planning.model import LiveRange
from tvm_memplan.planning.slots.textures import Texture, texture_slots
from tvm_memplan.report.json import from_json, to_fields, to_json
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.report.text import report_text
from tvm_memplan.report.textures import texture_figures, texture_rows

BYTES = {"half4": 8, "float4": 16}
TEXTURES = (
    Texture("a", (5, 4), "half4", (LiveRange(0, 2),)),
    Texture("b", (4, 6), "half4", (LiveRange(2, 3),)),
    Texture("c", (3, 3), "float4", (LiveRange(1, 3),)),
)


def report():
    slots = texture_slots(TEXTURES)
    figures = texture_figures("global.texture", TEXTURES, slots, BYTES, ("one", "two", "three"))
    rows = texture_rows("global.texture", TEXTURES, slots, BYTES)
    return MemoryReport("f", "", "auto", (figures,), rows, ("one", "two", "three"))


def test_figures_are_the_bytes_of_texels_and_types_add_up():
    (figures,) = report().pools
    assert figures.naive == 8 * (20 + 24) + 16 * 9
    assert figures.planned == 8 * 30 + 16 * 9
    assert figures.bound == 8 * 24 + 16 * 9
    assert (figures.peak.step, figures.peak.operator, figures.peak.holders) == (2, "three", ("b",))


def test_a_row_names_its_slot_in_text_and_in_json():
    made = report()
    slots = {row.name: row.slot for row in made.allocations}
    assert slots["a"] == slots["b"] == "0: 5 x 6 half4"
    assert slots["c"] == "1: 3 x 3 float4"
    assert "slot 1" in report_text(made)
    assert from_json(to_json(made)) == made
    assert to_fields(made)["allocations"][0]["slot"] == "0: 5 x 6 half4"
