"""Offline memory plans of TensorFlow Lite Micro: the contents of its ``OfflineMemoryAllocation`` metadata.

As tflite-micro's docs/memory_management.md has it: little-endian 32-bit integers, of which TFLM ignores the first two::

    word 0      format version          0
    word 1      number of subgraphs     0 is what Arm's Vela writes
    word 2      n, how many offsets follow; TFLM refuses one that is not the number of the model's tensors
    word 3...   for tensor 0, 1, ...: its byte offset from the start of the arena's head, or -1: TFLM places it

so a plan of n tensors is 12 + 4n bytes long. It knows neither sizes nor lives: those are the model's, here a problem
with one buffer for each tensor, in the order of the model. Weights are not in the arena and have -1.
"""

from __future__ import annotations

import struct

from tvm_memplan.errors import BadInput
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Kind, Placement, Plan, Problem

#: Bytes before the offsets, and the offset that means "not planned".
HEADER, ONLINE = 12, -1
#: What TFLM aligns the arena and everything in it to, in bytes.
ALIGNMENT = 16
_MOST = 2**31 - 1


def offsets_to_tflm(offsets: list[int]) -> bytes:
    """Return an offline plan; `ONLINE` leaves a tensor to TFLM. BadInput for what 32 bits cannot say."""
    for i, offset in enumerate(offsets):
        if not ONLINE <= offset <= _MOST:
            raise BadInput(f"TFLM offline plan: the offset of tensor {i}, {offset}, does not fit 32 bits")
    return struct.pack(f"<3i{len(offsets)}i", 0, 0, len(offsets), *offsets)


def offsets_from_tflm(data: bytes, source: str = "<bytes>") -> list[int]:
    """Read an offline plan: one offset per tensor, `ONLINE` where TFLM is to place it.

    Raises
    ------
    BadInput
        If the length is not that of the header and its n offsets, or an offset is negative and not -1.
    """
    if len(data) < HEADER or len(data) % 4:
        raise BadInput(f"{source}: {len(data)} bytes are no TFLM offline plan, which has 12 + 4n")
    version, _, count = struct.unpack_from("<3i", data)
    if version != 0:
        raise BadInput(f"{source}: word 0: the format version must be 0, got {version}")
    if count < 0 or len(data) != HEADER + 4 * count:
        raise BadInput(
            f"{source}: word 2 says {count} offsets, so the length must be {HEADER + 4 * count} bytes, "
            f"but it is {len(data)}"
        )
    offsets = list(struct.unpack_from(f"<{count}i", data, HEADER))
    for i, offset in enumerate(offsets):
        if offset < ONLINE:
            raise BadInput(f"{source}: word {3 + i}: the offset of tensor {i} is {offset}; only -1 may be negative")
    return offsets


def plan_to_tflm(plan: Plan) -> bytes:
    """Return a plan as an offline plan; the tensors of the model are the problem's buffers, in their order."""
    used = {place.pool for buffer, place in zip(plan.problem.buffers, plan.placements) if not _is_weight(buffer.kind)}
    if len(used) > 1:
        raise BadInput(f"a TFLM offline plan has one arena, and the plan uses pools {', '.join(sorted(used))}")
    named = zip(plan.problem.buffers, plan.placements)
    return offsets_to_tflm([ONLINE if _is_weight(buffer.kind) else place.offset for buffer, place in named])


def plan_from_tflm(data: bytes, problem: Problem, source: str = "<bytes>") -> Plan:
    """Read and judge an offline plan of a problem whose buffers are the tensors of the model, in their order.

    Raises
    ------
    BadInput
        If the data are malformed, are for another number of tensors, or leave a tensor that is no weight to TFLM.
    BadPlan
        If two tensors that are alive together share a byte.
    """
    offsets = offsets_from_tflm(data, source)
    if len(offsets) != len(problem.buffers):
        raise BadInput(f"{source}: {len(offsets)} offsets, but the problem has {len(problem.buffers)} buffers")
    places = []
    for i, (buffer, offset) in enumerate(zip(problem.buffers, offsets)):
        if _is_weight(buffer.kind):
            raise BadInput(
                f"{source}: buffer {buffer.name!r} is a weight, which an offline plan does not place; "
                "leave weights out of the problem"
            )
        if offset == ONLINE:
            raise BadInput(
                f"{source}: tensor {i}, {buffer.name!r}, is left to the runtime (-1), so this is no whole plan"
            )
        places.append(Placement(problem.candidates(buffer)[0].name, offset))
    plan = Plan(problem, tuple(places), "TFLM offline plan")
    check_plan(plan)
    return plan


def _is_weight(kind: Kind) -> bool:
    return kind is Kind.WEIGHTS
