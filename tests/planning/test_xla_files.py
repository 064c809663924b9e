"""XLA's buffer assignment; the texts are shaped like those of a small jitted function with a loop."""

import pytest

from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.files.xla import plan_from_xla
from tvm_memplan.planning.model import Kind, LiveRange, View

ASSIGNMENT = """\
BufferAssignment:
allocation 0: size 2048, parameter 0, shape |f32[16,32]| at ShapeIndex {}:
 value: <59 w @0> (size=2048,offset=0): f32[16,32]{1,0}
allocation 1: size 128, output shape is |f32[32]|, maybe-live-out:
 value: <67 reduce @0> (size=128,offset=0): f32[32]{0}
allocation 2: size 4, constant:
 value: <56 constant.1 @0> (size=4,offset=0): f32[]
allocation 3: size 1, thread-local:
 value: <20 lt @0> (size=1,offset=0): pred[]
allocation 4: size 3096, preallocated-temp:
 value: <60 fusion @0> (size=1024,offset=0): f32[8,32]{1,0}
 value: <61 tanh @0> (size=1024,offset=0): f32[8,32]{1,0}
 value: <62 sort @0> (size=1024,offset=1024): f32[8,32]{1,0}
 value: <74 while{1} (phi) @0> (size=1024,offset=1024): f32[8,32]{1,0}
 value: <79 while{} (phi) @0> (size=24,offset=3072): (s32[], f32[8,32]{1,0})
"""
LIVES = """\
HloLiveRange (max 6):
  InstructionSequence:
    0:w
    1:fusion
    2:tanh
    3:sort
    4:while
    5:reduce
  BufferLiveRange:
    w{}:0-6
    fusion{}:1-2
    tanh{}:2-3
    sort{}:3-5
    while{1}:4-5
    while{}:4-4
    reduce{}:5-6
  Live ranges at 3 (peak):
    tanh{}: 1024 bytes (cumulative: 1024 bytes)
"""


def read(assignment=ASSIGNMENT, lives=LIVES):
    return plan_from_xla(assignment, lives, ("a.txt", "l.txt"))


def test_values_become_buffers_of_pools_by_what_they_are_for():
    plan, steps = read()
    by_name = {buffer.name: buffer for buffer in plan.problem.buffers}
    assert {name: buffer.kind for name, buffer in by_name.items()} == {
        "w": Kind.INPUT,
        "reduce": Kind.OUTPUT,
        "constant.1": Kind.WEIGHTS,
        "fusion": Kind.ACTIVATION,
        "tanh": Kind.ACTIVATION,
        "sort": Kind.ACTIVATION,
        "while{}": Kind.ACTIVATION,
    }
    assert steps == ("w", "fusion", "tanh", "sort", "while", "reduce")
    assert plan.pool_sizes == {"constant": 4, "parameter": 2048, "output": 128, "temp": 3096}


def test_the_last_use_is_counted_in():
    plan, _ = read()
    by_name = {buffer.name: buffer for buffer in plan.problem.buffers}
    assert by_name["while{}"].live_ranges == (LiveRange(4, 5),)
    assert by_name["fusion"].live_ranges == (LiveRange(1, 3),)


def test_values_of_one_place_that_live_together_are_one_buffer():
    plan, _ = read()
    names = [buffer.name for buffer in plan.problem.buffers]
    assert plan.problem.views == (View("while{1}", names.index("sort"), 0, 1024),)


def test_bytes_that_change_hands_at_one_step_are_an_in_place_pair():
    plan, _ = read()
    names = [buffer.name for buffer in plan.problem.buffers]
    assert plan.problem.in_place == {(names.index("tanh"), names.index("fusion"))}


def test_older_files_have_a_total_and_the_uses_behind():
    old = f"{ASSIGNMENT}\nTotal bytes used: 5277 (5.2KiB)\n\nUsed values:\n<0 w @0>\n positions:\n  w\n"
    assert read(old) == read()
    with pytest.raises(BadInput, match="total is 5278 bytes, but the allocations above have 5277"):
        read(old.replace("5277", "5278"))


def test_values_that_share_bytes_against_their_lives_are_refused():
    with pytest.raises(BadPlan, match=r"a\.txt"):
        read(
            ASSIGNMENT.replace(
                "size=1024,offset=1024): f32[8,32]{1,0}\n value: <74", "size=1024,offset=8): f\n value: <74"
            )
        )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("BufferAssignment:", "BufferAssignments:", r"a\.txt:1"),
        ("size=24,offset=3072", "size=25,offset=3072", r"a\.txt:15: 'while\{\}' ends beyond its allocation of 3096"),
        ("<61 tanh @0>", "<61 fusion @0>", r"a\.txt:12: 'fusion' comes twice"),
        ("<61 tanh @0>", "<61 cosh @0>", r"a\.txt:12: 'cosh' has no live range"),
        ("allocation 4: size 3096", "allocation 4: bytes 3096", r"a\.txt:10: neither an allocation nor a value"),
        ("(size=128,", "(size=-128,", r"a\.txt:5: neither"),
    ],
)
def test_a_malformed_assignment_is_named_by_its_line(old, new, says):
    with pytest.raises(BadInput, match=says):
        read(ASSIGNMENT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("HloLiveRange", "LiveRange", r"l\.txt:1"),
        ("    2:tanh", "    3:tanh", r"l\.txt:5: step 3 comes after 2 others"),
        ("tanh{}:2-3", "tanh{}:3-2", r"l\.txt:12: the live range 3-2"),
        ("tanh{}:2-3", "tanh{}:2", r"l\.txt:12: neither"),
    ],
)
def test_malformed_live_ranges_are_named_by_their_line(old, new, says):
    with pytest.raises(BadInput, match=says):
        read(lives=LIVES.replace(old, new, 1))


def test_a_file_that_was_cut_short_is_never_half_read():
    # Constants have no live range, so a file that ends behind one is still whole; all else is missed.
    for end in range(len(ASSIGNMENT)):
        with pytest.raises(BadInput):
            read(ASSIGNMENT[:end])
    for end in range(LIVES.index("    tanh{}: 1024")):
        if (
            not LIVES[:end].endswith(("  Live ranges at ", "(peak):", "(peak):\n"))
            and "  Live ranges at " not in LIVES[:end]
        ):
            with pytest.raises(BadInput):
                read(lives=LIVES[:end])
