"""The problems of USMP's own tests in TVM 0.19, as numbers: sizes in bytes, conflicts, pools, and what TVM takes.

The sizes of the sub-graphs follow from the shapes and element types of their tensors (int16[157323] padded input:
314,646 bytes, and so on), the conflicts from what is alive together.
"""

from __future__ import annotations

from tvm_memplan.planning.model import Buffer, Pool, Problem

WORKSPACE = (Pool("global_workspace"),)


def given(
    sizes: dict[str, int], conflicts: dict[str, str], pools: tuple[Pool, ...] = WORKSPACE, alignment: int = 1
) -> Problem:
    index = {name: i for i, name in enumerate(sizes)}
    buffers = tuple(Buffer(name, size, (), alignment) for name, size in sizes.items())
    pairs = {(index[a], index[b]) for a, others in conflicts.items() for b in others.split()}
    return Problem(buffers, pools, frozenset((min(pair), max(pair)) for pair in pairs))


LINEAR = given(
    {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 50}, {"a": "b", "b": "c", "c": "d", "d": "e", "e": "f"}
)

# Two conflicts of the fan-out are listed in one direction only: d names b, and g names f. TVM's planners look at what
# a buffer itself names, so whether they see the pair depends on who is placed last; its expected 190 has both pairs
# share bytes. 210 is the least when they may not, and 190 when they may.
SIZES = {"a": 10, "b": 20, "c": 100, "d": 40, "e": 50, "f": 60, "g": 70}
FAN_OUT_BOTH = given(SIZES, {"a": "b c", "b": "c e", "c": "e d", "d": "f e", "e": "f"})
FAN_OUT_EITHER = given(SIZES, {"a": "b c", "b": "c e d", "c": "e d", "d": "f e", "e": "f", "f": "g"})

MOBILENET = given(
    {"sid_9": 301056, "sid_8": 802816, "padded": 314646, "conv": 256, "tensor": 200704},
    {"padded": "sid_9 sid_8 conv", "sid_8": "conv tensor"},
    (Pool("fast", 200704), Pool("slow")),
    alignment=16,
)

RESNET = given(
    {
        "sid_2": 720000,
        "sid_6": 5760000,
        "sid_7": 720000,
        "sid_8": 720000,
        "padded": 720000,
        "conv": 256,
        "padded_1": 758912,
        "conv_1": 256,
        "padded_2": 720000,
        "conv_2": 256,
        "padded_3": 720000,
        "conv_3": 256,
    },
    {
        "sid_2": "padded sid_8 conv padded_1 sid_7 conv_1 padded_2 conv_2 sid_6 padded_3",
        "sid_6": "conv_2 padded_2 padded_3 conv_3",
        "sid_7": "padded_1 conv_1 padded_2",
        "sid_8": "padded conv padded_1",
        "padded": "conv",
        "padded_1": "conv_1",
        "padded_2": "conv_2",
        "padded_3": "conv_3",
    },
    alignment=16,
)

#: Problem, the pool that is counted, and the bytes that by_size, by_conflicts and hill_climb of TVM 0.19 take.
EXPECTED = {
    "linear": (LINEAR, "global_workspace", 140, 140, 140),
    "fan-out": (FAN_OUT_BOTH, "global_workspace", 190, 320, 190),
    "mobilenet": (MOBILENET, "slow", 1_418_528, 1_418_528, 1_117_462),
    "resnet": (RESNET, "global_workspace", 7_920_256, 7_200_256, 7_200_256),
}
