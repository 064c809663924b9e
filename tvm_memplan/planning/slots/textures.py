"""Slots of several dimensions: textures and other blocks that are addressed by row and column, not by byte.

Such a block cannot start at a byte offset inside another, so whoever shares a slot starts at its corner, and the slot
is as large as the largest of them **in every dimension**::

    4096 x 16   |================|      one slot for both would be 4096 x 4096, 128 times what the two take apart,
    16 x 4096   |=|                     although they have equally many elements
                |=|

So what a slot costs a newcomer is its growth, dimension by dimension, and a new slot is opened where that would be
cheaper. Element types do not mix: a slot is one allocation of one type. (The idea of counting growth per dimension
is that of the two-dimensional allocator in TVM's graph memory planner; the choice made here is our own.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, prod

from tvm_memplan.errors import BadPlan, BadProblem
from tvm_memplan.planning.model import LiveRange


@dataclass(frozen=True)
class Texture:
    """One block to place.

    Parameters
    ----------
    name : str
        For people.
    extents : tuple of int
        Elements in each dimension, such as (width, height); at least 1 each.
    element : str
        The type of an element, such as ``"float16x4"``.
    live_ranges : tuple of LiveRange
        When it is alive, in steps.
    """

    name: str
    extents: tuple[int, ...]
    element: str
    live_ranges: tuple[LiveRange, ...]

    def __post_init__(self) -> None:
        if not self.extents or min(self.extents) < 1:
            raise BadProblem(f"texture {self.name!r}: extents must be at least 1 each, got {self.extents}")


@dataclass(frozen=True)
class TextureSlot:
    """One allocation and who shares it: indices of textures. `elements` is what it costs."""

    extents: tuple[int, ...]
    element: str
    members: tuple[int, ...]

    @property
    def elements(self) -> int:
        """How many elements the slot has."""
        return prod(self.extents)


def texture_slots(textures: Sequence[Texture], largest: tuple[int, ...] | None = None) -> list[TextureSlot]:
    """Share slots among textures: each in turn goes where the slot grows least.

    Several orders are tried for each type, largest first among them, and the one with the fewest elements is kept.

    Parameters
    ----------
    textures : sequence of Texture
        What is to be placed.
    largest : tuple of int or None
        What a slot may have in each dimension (devices limit images); a texture that is larger itself is an error.

    Returns
    -------
    list of TextureSlot
        All of them together have at most as many elements as the textures.
    """
    for texture in textures:
        if largest is not None and not _within(texture.extents, largest):
            raise BadProblem(
                f"texture {texture.name!r} of {texture.extents} is larger than {largest}, the largest there is"
            )
    groups: dict[tuple[str, int], list[int]] = {}
    for i, texture in enumerate(textures):
        groups.setdefault((texture.element, len(texture.extents)), []).append(i)
    slots: list[TextureSlot] = []
    for members in groups.values():
        found = (_shared(textures, sorted(members, key=order), largest) for order in _orders(textures))
        slots += min(found, key=lambda slots: sum(slot.elements for slot in slots))
    return slots


def _orders(textures: Sequence[Texture]) -> list[Callable[[int], tuple[int, ...]]]:
    """Keys to sort by: most elements first, then the longest in one dimension first, then in order of birth."""
    first = [min((live.start for live in texture.live_ranges), default=0) for texture in textures]
    areas = [prod(texture.extents) for texture in textures]
    return [
        lambda i: (-areas[i], i),
        lambda i: (-textures[i].extents[0], -areas[i], i),
        lambda i: (-textures[i].extents[-1], -areas[i], i),
        lambda i: (first[i], -areas[i], i),
    ]


def _shared(textures: Sequence[Texture], order: Sequence[int], largest: tuple[int, ...] | None) -> list[TextureSlot]:
    """Slots for the textures in `order`, of one type: each goes where the slot grows least, or into one of its own."""
    slots: list[TextureSlot] = []
    for i in order:
        texture = textures[i]
        best, price = -1, (prod(texture.extents), inf)  # a slot of its own
        for k, slot in enumerate(slots):
            grown = tuple(map(max, slot.extents, texture.extents))
            if largest is not None and not _within(grown, largest):
                continue
            if any(_meet(texture, textures[j]) for j in slot.members):
                continue
            # Of equal growth the smallest slot is the best, since devices are slower where much of an image is unused.
            cost = (prod(grown) - slot.elements, slot.elements)
            if cost < price:
                best, price = k, cost
        if best < 0:
            slots.append(TextureSlot(texture.extents, texture.element, (i,)))
        else:
            grown = tuple(map(max, slots[best].extents, texture.extents))
            slots[best] = TextureSlot(grown, texture.element, (*slots[best].members, i))
    return slots


@dataclass(frozen=True)
class TexturePeak:
    """The elements of one type that are alive together at most: `step` is the first where it is so."""

    element: str
    elements: int
    step: int
    members: tuple[int, ...]


def texture_peaks(textures: Sequence[Texture]) -> list[TexturePeak]:
    """Return the peak of every element type; no slots of that type have fewer elements than its peak.

    Whatever is alive together has slots of its own, and types do not mix, so the sum over all types bounds all slots.
    """
    peaks = []
    for element in dict.fromkeys(texture.element for texture in textures):
        members = [i for i, texture in enumerate(textures) if texture.element == element]
        starts = sorted({live.start for i in members for live in textures[i].live_ranges})
        best = TexturePeak(element, 0, starts[0] if starts else 0, ())
        for step in starts:
            alive = tuple(i for i in members if any(r.start <= step < r.stop for r in textures[i].live_ranges))
            elements = sum(prod(textures[i].extents) for i in alive)
            if elements > best.elements:
                best = TexturePeak(element, elements, step, alive)
        peaks.append(best)
    return peaks


def check_texture_slots(textures: Sequence[Texture], slots: Sequence[TextureSlot]) -> None:
    """Raise BadPlan unless every texture has one slot that holds it, of its type, with nobody alive at one step."""
    homes = sorted(i for slot in slots for i in slot.members)
    if homes != list(range(len(textures))):
        raise BadPlan(f"{len(textures)} textures need one slot each, the slots have members {homes}")
    for k, slot in enumerate(slots):
        for at, i in enumerate(slot.members):
            one = textures[i]
            if one.element != slot.element:
                raise BadPlan(f"texture {one.name!r} of {one.element} is in slot {k} of {slot.element}")
            if not _within(one.extents, slot.extents):
                raise BadPlan(f"texture {one.name!r} of {one.extents} does not fit slot {k} of {slot.extents}")
            for j in slot.members[:at]:
                if _meet(one, textures[j]):
                    raise BadPlan(f"textures {textures[j].name!r} and {one.name!r} are alive together in slot {k}")


def _within(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    return len(inner) == len(outer) and all(a <= b for a, b in zip(inner, outer))


def _meet(one: Texture, other: Texture) -> bool:
    return any(a.overlaps(b) for a in one.live_ranges for b in other.live_ranges)
