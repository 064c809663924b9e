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

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

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
    """Share slots among textures, the one of most elements first; each goes where the slot grows least.

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
    slots: list[TextureSlot] = []
    for i in sorted(range(len(textures)), key=lambda i: (-prod(textures[i].extents), i)):
        texture = textures[i]
        if largest is not None and not _within(texture.extents, largest):
            raise BadProblem(
                f"texture {texture.name!r} of {texture.extents} is larger than {largest}, the largest there is"
            )
        best, price = -1, prod(texture.extents)  # a slot of its own
        for k, slot in enumerate(slots):
            grown = _joined(slot, texture)
            if grown is None or (largest is not None and not _within(grown, largest)):
                continue
            if any(_meet(texture, textures[j]) for j in slot.members):
                continue
            # Of equal prices sharing is the better: fewer allocations.
            growth = prod(grown) - slot.elements
            if growth < price or (best < 0 and growth == price):
                best, price = k, growth
        if best < 0:
            slots.append(TextureSlot(texture.extents, texture.element, (i,)))
        else:
            grown = _joined(slots[best], texture) or ()
            slots[best] = TextureSlot(grown, texture.element, (*slots[best].members, i))
    return slots


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


def _joined(slot: TextureSlot, texture: Texture) -> tuple[int, ...] | None:
    """The extents of a slot that holds the texture as well, None where they cannot share."""
    if slot.element != texture.element or len(slot.extents) != len(texture.extents):
        return None
    return tuple(map(max, slot.extents, texture.extents))


def _meet(one: Texture, other: Texture) -> bool:
    return any(a.overlaps(b) for a in one.live_ranges for b in other.live_ranges)
