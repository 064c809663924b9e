"""The colouring planners: buffers of one colour share a slot.

`stacked` is the classical scheme of graph executors: largest first, every buffer takes the first slot in which it
meets no conflict, so that the first member of a slot is its largest and slots never grow; slots lie side by side. They
can be separate allocations; as an arena they are a little larger than what gap filling reaches, since a slot is never
split::

    slot 0  |aaaaaaaa|  then |ddddd   |        bytes of slot 0 that d does not need are not used by anybody
    slot 1  |bbbb|      then |cc  |

`colour` takes the best of that and of every colouring of `tvm_memplan.planning.slots.colouring` with its slots packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tvm_memplan.planning.bounds.bound import effective_alignment
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.model import Placement, Problem, round_up
from tvm_memplan.planning.packing.orders import arrange, by_conflicts, by_size
from tvm_memplan.planning.packing.pack import Packer, cost
from tvm_memplan.planning.slots.colouring import dsatur, largest_first, left_edge, smallest_last
from tvm_memplan.planning.slots.problem import placed, slot_problem


@dataclass
class _Slot:
    size: int
    alignment: int
    members: list[int] = field(default_factory=list)


#: Up to so many buffers every colouring is tried; above, only the one that needs no graph.
MOST_COLOURED = 1000


def colour(conflicts: Conflicts) -> list[Placement]:
    """Return a placement per buffer: the best of all colourings, stacked or packed."""
    problem = conflicts.problem
    best = stacked(conflicts)
    few = len(problem.buffers) <= MOST_COLOURED
    for colouring in (_by_intervals, *((_largest_first, _smallest_last, _dsatur) if few else ())):
        if colouring is _by_intervals and not _has_intervals(problem):
            continue
        slots, members = slot_problem(conflicts, colouring)
        inner = Conflicts(slots)
        packer = Packer(inner)
        for order in (by_size, by_conflicts):
            found = placed(problem, members, packer.placements(packer.pack(arrange(inner, order))))
            best = min(best, found, key=lambda placements: cost(problem, placements))
    return best


def _has_intervals(problem: Problem) -> bool:
    """Whether conflicts are those of one live range each, and nothing else."""
    one = all(len(buffer.live_ranges) == 1 for buffer in problem.buffers)
    return one and problem.conflicts is None and not problem.separate and not problem.in_place


def _by_intervals(conflicts: Conflicts, members: Sequence[int]) -> list[int]:
    buffers = [conflicts.problem.buffers[i] for i in members]
    return left_edge([buffer.live_ranges[0] for buffer in buffers], [buffer.size for buffer in buffers])


def _largest_first(conflicts: Conflicts, members: Sequence[int]) -> list[int]:
    return largest_first(_graph(conflicts, members), [conflicts.problem.buffers[i].size for i in members])


def _smallest_last(conflicts: Conflicts, members: Sequence[int]) -> list[int]:
    return smallest_last(_graph(conflicts, members))


def _dsatur(conflicts: Conflicts, members: Sequence[int]) -> list[int]:
    return dsatur(_graph(conflicts, members))


def _graph(conflicts: Conflicts, members: Sequence[int]) -> list[list[int]]:
    index = {i: k for k, i in enumerate(members)}
    near = []
    for i in members:
        # Members of one slot start together, which is all that an in-place pair asks for.
        partners = conflicts.partners.get(i, frozenset())
        near.append([index[j] for j in conflicts.of(i).tolist() if j in index and j not in partners])
    return near


def stacked(conflicts: Conflicts) -> list[Placement]:
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
