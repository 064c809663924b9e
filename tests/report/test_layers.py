"""Names of layers wherever people look: whole where there is room, with their ends where there is not."""

import pickle
from dataclasses import replace

import pytest

from tvm_memplan.budget.suggest import suggest
from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.report import memory_report
from tvm_memplan.report.diff import diff_text, difference
from tvm_memplan.report.diff.match import match
from tvm_memplan.report.exchange.chrome_trace import chrome_trace
from tvm_memplan.report.exchange.torch_snapshot import torch_snapshot_file
from tvm_memplan.report.json import from_json, to_fields, to_json
from tvm_memplan.report.map import map_text
from tvm_memplan.report.origin import Origin, short_names
from tvm_memplan.report.text import report_text

FULL = "model/conv2d_3/Relu;model/bn_3/FusedBatchNormV3;model/conv2d_3/Conv2D"
LONG = "a_module_with_a_long_name/" * 6 + "conv2d_4/Relu"


def report(first=FULL, second=LONG, at=0, size=4096):
    """Two layers and the workspace of the second; the compiler's numbers begin at `at`."""
    operators = [f"fused_nn_conv2d_add_{at + i}" for i in range(2)]
    buffers = (
        Buffer(f"sid_{at}", 4096, (LiveRange(0, 2),), operator=operators[0]),
        Buffer(f"sid_{at + 1}", size, (LiveRange(1, 2),), operator=operators[1]),
        Buffer(f"{operators[1]}.pad_temp", 512, (LiveRange(1, 2),), kind=Kind.WORKSPACE, operator=operators[1]),
    )
    places = [Placement("sram", offset) for offset in (0, 4096, 4096 + size)]
    origins = {
        buffers[0].name: Origin((1, 32, 32, 4), "int8", first, (first,)),
        buffers[1].name: Origin((1, 32, 32, size // 1024), "int8", second, (second,), "net.py:12"),
        buffers[2].name: Origin((512,), "int8", "", (second,), "net.py:12"),
    }
    plan = Plan(Problem(buffers, (Pool("sram"),)), tuple(places), "by hand")
    return memory_report(plan, operators, "net", origins=origins, step_layers=(first, second))


def test_a_name_made_of_many_is_called_by_its_first_unless_that_is_anothers():
    assert short_names([FULL, "x"]) == {FULL: "model/conv2d_3/Relu", "x": "x"}
    assert short_names(["a;b", "a;c"]) == {"a;b": "a;b", "a;c": "a;c"}
    assert short_names(["a; rm -rf"]) == {"a; rm -rf": "a; rm -rf"}


def test_titles_are_the_layers():
    rows = report().allocations
    assert [row.title for row in rows] == ["model/conv2d_3/Relu", LONG, f"pad_temp in {LONG}"]
    assert rows[0].layers == (FULL,)
    several = replace(rows[2], layers=("a", "b", "c"))
    assert several.title == "pad_temp in c and 2 more"
    assert replace(rows[2], layers=()).title == rows[2].name


@pytest.mark.parametrize("show", [report_text, map_text])
def test_text_has_the_names_within_100_columns_and_their_ends(show):
    text = show(report())
    assert "model/conv2d_3/Relu" in text and "conv2d_4/Relu" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_the_peak_says_layer_operator_and_tensor():
    text = report_text(report(second="model/conv2d_4/Relu"))
    assert "at step 1, model/conv2d_4/Relu (fused_nn_conv2d_add_1)" in text
    assert "int8[1, 32, 32, 4]" in text
    assert "pad_temp in model/conv2d_4/Relu" in text


def test_a_name_cannot_move_the_cursor():
    text = report_text(report(first="evil\x1b[2J\r\nname"))
    assert "\x1b" not in text and "\r" not in text and "evil\\x1b[2J" in text


def test_names_survive_the_file_and_a_file_without_them_is_read():
    made = report()
    assert from_json(to_json(made)) == made
    fields = to_fields(made)
    assert fields["version"] == 2 and fields["allocations"][0]["layers"] == [FULL]
    bare = memory_report(Plan(Problem((Buffer("b", 1, (LiveRange(0, 1),)),)), (Placement("arena", 0),)), ["conv"])
    kept = to_fields(bare)
    assert "step_layers" not in kept and not {"layer", "layers", "source"} & kept["allocations"][0].keys()


def test_layers_have_to_be_as_many_as_steps():
    made = report()
    with pytest.raises(BadInput, match="step_layers"):
        from_json(to_json(replace(made, step_layers=("one",))))


def test_buffers_of_one_layer_are_one_buffer_whatever_the_compiler_calls_them():
    old, new = report(), report(at=7, size=8192)
    assert match(old.allocations, new.allocations) == [(0, 0), (1, 1), (2, 2)]
    found = difference(old, new)
    assert [(change.operator, change.growth) for change in found.operators] == [(LONG, 4096)]
    assert [(change.row.layer, change.growth) for change in found.buffers] == [(LONG, 4096)]
    assert "conv2d_4/Relu" in diff_text(found)


def test_layers_decide_where_sizes_would_have_it_the_other_way():
    rows = [
        replace(row, name=f"b{i}", operator="", size=size)
        for row, i, size in zip(report().allocations, (0, 1), (100, 200))
    ]
    swapped = [replace(rows[1], size=100, name="b0"), replace(rows[0], size=200, name="b1")]
    assert match(rows, swapped) == [(1, 0), (0, 1)]


def test_other_tools_get_layer_tensor_and_source():
    text = chrome_trace(report())
    assert '"layer": "model/conv2d_3/Relu"' in text and '"source": "net.py:12"' in text
    snapshot = pickle.loads(torch_snapshot_file(report()))
    frames = [event["frames"][0] for trace in snapshot["device_traces"] for event in trace]
    assert {"name": LONG, "filename": "net.py", "line": 12} in frames


def test_suggestions_call_buffers_by_their_layers():
    made = report(second="model/conv2d_4/Relu")
    plan = Problem(
        tuple(
            Buffer(row.name, row.size, row.live_ranges, kind=row.kind, operator=row.operator)
            for row in made.allocations
        )
    )
    advice = suggest(plan, titles={row.name: row.title for row in made.allocations}, time_limit=0.5, longer=0.5)
    assert any(
        "model/conv2d_4/Relu from" in one.what or "model/conv2d_4/Relu," in one.what for one in advice.smaller_peak
    )
