"""What is a fault, what is only a difference, and that each is named."""

import json
from dataclasses import replace

import pytest

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.measured import (
    Arena,
    Handed,
    Measurement,
    Request,
    Stack,
    compare,
    reality_fields,
    reality_text,
)
from tvm_memplan.report.memory import Allocation, LeftAlone, PoolFigures

EXACT = Arena("sram", 48000, 48000, guard=64)


def seen(*arenas, **others):
    return Measurement("here", 4, arenas, **others)


def test_a_run_that_uses_what_was_planned_holds(report):
    found = compare(report, seen(EXACT, requests=()))
    assert found.holds and not found.faults
    sram = found.pools[0]
    assert (sram.planned, sram.measured, sram.beyond, sram.idle) == (48000, 48000, 0, 0)
    assert "the plan holds" in reality_text(found)
    assert "flash: weights" in reality_text(found), "what was not measured is said"


def test_bytes_that_no_run_wrote_to_are_named_by_the_buffers_there_and_break_nothing(report):
    found = compare(report, seen(replace(EXACT, high=47000, untouched=((15000, 20000), (47000, 48000)))))
    assert found.holds
    first, second = found.pools[0].untouched
    assert (first.start, first.stop, first.buffers) == (15000, 20000, (("b1 of conv2d", 4000), ("b0 of pad", 1000)))
    assert second.buffers == (), "no buffer of the plan lies there"
    text = reality_text(found)
    assert "no run wrote to 6,000 B" in text and "4,000 B of b1 of conv2d and of 1 more" in text
    assert "padding: no buffer lies there" in text


def test_an_arena_that_is_larger_than_planned_is_a_fault_with_both_figures(report):
    found = compare(report, seen(Arena("sram", 48016, 48016)))
    (fault,) = found.faults
    assert "48,016 B" in fault and "48,000 B" in fault and fault.endswith("16 B more")
    assert found.pools[0].beyond == 16


def test_a_write_behind_or_before_the_arena_is_a_fault(report):
    behind = compare(report, seen(Arena("sram", 48000, 48003, guard=64)))
    assert not behind.holds and "3 B behind the end" in behind.faults[0] and "there may be more" not in behind.faults[0]
    far = compare(report, seen(Arena("sram", 48000, 48064, guard=64)))
    assert "there may be more" in far.faults[0]
    padded = compare(report, seen(Arena("sram", 47990, 47991, guard=64)))
    assert not padded.holds and padded.pools[0].beyond == 1, "planned for rounding up, and not the arena's"
    before = compare(report, seen(replace(EXACT, below=8)))
    assert "8 B before the start" in before.faults[0]


def test_a_smaller_arena_than_planned_is_a_difference_and_no_fault(report):
    found = compare(report, seen(Arena("sram", 40000, 40000)))
    assert found.holds and found.pools[0].idle == 8000


def test_memory_that_the_plan_does_not_count_is_a_fault_by_the_name_of_who_asked(report):
    asked = Request("kernel workspace", "conv2d", 512, 2, 1024)
    (fault,) = compare(report, seen(EXACT, requests=(asked,))).faults
    assert "'conv2d'" in fault and "1,024 B" in fault
    (fault,) = compare(report, seen(EXACT, requests=(replace(asked, function=""),))).faults
    assert "could not be named" in fault


@pytest.mark.parametrize(("size", "holds"), [(1024, True), (1023, False), (None, True)])
def test_what_was_left_alone_may_be_asked_for_as_far_as_it_says(report, size, holds):
    left = replace(report, left_alone=(LeftAlone("pad", "conv2d", "global", size, "in a parallel loop"),))
    found = compare(left, seen(EXACT, requests=(Request("kernel workspace", "conv2d", 512, 2, 1024),)))
    assert found.holds is holds
    assert len(found.counted) == holds and len(found.unplanned) == (not holds)


def test_scratch_that_is_counted_is_allowed_to_its_kernel_alone(report):
    scratch = Allocation(
        "conv2d scratch", "conv2d", Kind.WORKSPACE, "global", 512, 1, (LiveRange(1, 2),), "kernel scratch", 0
    )
    counted = replace(
        report,
        pools=(*report.pools, PoolFigures("kernel scratch", None, 1, 512, 512, 512, "pressure", None)),
        allocations=(*report.allocations, scratch),
    )
    asked = Request("kernel workspace", "conv2d", 512, 1, 512)
    assert compare(counted, seen(EXACT, requests=(asked,), workspace_at_once=512)).holds
    assert not compare(counted, seen(EXACT, requests=(replace(asked, function="dense"),), workspace_at_once=512)).holds
    over = compare(counted, seen(EXACT, requests=(), workspace_at_once=513))
    assert over.faults == ("kernel scratch: 513 B are taken, where the plan has 512 B: 1 B more",)


def test_a_stack_that_was_used_up_is_a_fault(report):
    assert compare(report, seen(EXACT, stack=Stack(4096, 4095))).holds
    (fault,) = compare(report, seen(EXACT, stack=Stack(4096, 4096))).faults
    assert "stack" in fault


def test_what_the_run_time_takes_for_itself_stands_apart_and_breaks_nothing(report):
    found = compare(report, seen(EXACT, handed=(Handed("sram", 49152), Handed("", 4096, "pages"))))
    assert found.holds and found.pools[0].handed == 49152 and found.own == (Handed("", 4096, "pages"),)
    assert "4,096 B (4.0 KiB): pages" in reality_text(found)


def test_a_measurement_of_another_build_is_refused(report):
    with pytest.raises(BadInput, match=r"pool 'dtcm' was measured.*sram"):
        compare(report, seen(replace(EXACT, pool="dtcm")))


def test_the_text_fits_a_terminal_and_the_json_has_every_figure(report):
    long = "fused_" + "conv2d_add_" * 20
    rows = tuple(replace(row, name=long) for row in report.allocations)
    found = compare(
        replace(report, model=long, allocations=rows),
        seen(
            replace(EXACT, high=48010, guard=64, untouched=tuple((i * 100, i * 100 + 8) for i in range(12))),
            requests=(Request("kernel workspace", long, 512, 2, 1024),),
            handed=(Handed("", 4096, "pages"),),
            stack=Stack(4096, 100),
            unmeasured=("what " * 50,),
        ),
    )
    assert max(map(len, reality_text(found).splitlines())) <= 100
    fields = json.loads(json.dumps(reality_fields(found)))
    assert fields["holds"] is False and len(fields["faults"]) == 2
    assert fields["pools"][0]["beyond_bytes"] == 10 and len(fields["pools"][0]["never_touched"]) == 12
    assert fields["pools"][1]["never_touched"] is None
    assert fields["requests"][0]["planned"] is False and fields["stack"] == {"kept_bytes": 4096, "used_bytes": 100}
