"""Colouring: buffers of one colour share a slot, slots lie side by side.

Largest first, every buffer takes the first slot in which it meets no conflict, so that the first member of a slot
is its largest and slots never grow. This is the classical scheme of graph executors, whose slots can be separate
allocations; as an arena it is a little larger than what gap filling reaches, since a slot is never split::

    slot 0  |aaaaaaaa|  then |ddddd   |        bytes of slot 0 that d does not need are not used by anybody
    slot 1  |bbbb|      then |cc  |
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm_memplan.planning.bound import effective_alignment
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, round_up
from tvm_memplan.planning.orders import arrange, by_size


@dataclass
class _Slot:
    size: int
    alignment: int
    members: list[int] = field(default_factory=list)


def colour(conflicts: Conflicts) -> list[Placement]:
    """Return a placement per buffer: one offset per slot, above whatever is pinned in the pool.

    A buffer goes to the first candidate pool where it joins a slot or a new slot still fits the capacity; if there
    is none, it gets a slot of the last candidate beyond the capacity.
    """
    problem = conflicts.problem
    base = {pool.name: 0 for pool in problem.pools}
    for buffer in problem.buffers:
        if buffer.pinned:
            base[buffer.pinned.pool] = max(base[buffer.pinned.pool], buffer.pinned.offset + buffer.size)
    slots: dict[str, list[_Slot]] = {pool.name: [] for pool in problem.pools}
    slot_of: dict[int, _Slot] = {}
    for i in arrange(conflicts, by_size):
        buffer = problem.buffers[i]
        if buffer.pinned or not buffer.size:
            continue
        # Members of one slot start together, which is all that an in-place pair asks for.
        apart = set(conflicts.of(i).tolist()) - conflicts.partners.get(i, frozenset())
        taken = {id(slot_of[j]) for j in apart if j in slot_of}
        candidates = problem.candidates(buffer)
        for pool in candidates:
            alignment = effective_alignment(problem, i, pool)
            slot = next((s for s in slots[pool.name] if id(s) not in taken), _Slot(buffer.size, alignment))
            new = not slot.members
            before = slot.alignment
            slot.alignment = max(before, alignment)
            stacked = [*slots[pool.name], slot] if new else slots[pool.name]
            fits = pool.capacity is None or pool is candidates[-1]
            if fits or _stacked(stacked, base[pool.name])[1] <= (pool.capacity or 0):
                slots[pool.name] = stacked
                slot.members.append(i)
                slot_of[i] = slot
                break
            slot.alignment = before
    places: dict[int, Placement] = {}
    for i, buffer in enumerate(problem.buffers):
        if buffer.pinned or not buffer.size:  # a buffer of no bytes can lie anywhere
            places[i] = buffer.pinned or Placement(problem.candidates(buffer)[0].name, 0)
    for name, own in slots.items():
        for slot, offset in zip(own, _stacked(own, base[name])[0]):
            places.update((i, Placement(name, offset)) for i in slot.members)
    return [places[i] for i in range(len(problem.buffers))]


def _stacked(slots: list[_Slot], base: int) -> tuple[list[int], int]:
    """Return the offset of every slot, most aligned first from `base` up, and where the last one ends."""
    offsets, end = [0] * len(slots), base
    for k in sorted(range(len(slots)), key=lambda k: -slots[k].alignment):
        offsets[k] = round_up(end, slots[k].alignment)
        end = offsets[k] + slots[k].size
    return offsets, end
