"""The textures of one region: which of them share a slot, as it is planned, recorded, judged and reported.

Every scope is planned on its own (``global.texture``, ``global.texture-weight`` and ``global.texture-nhwc`` lay out
the same tensor differently), and in it every element type. What is recorded is who shares a slot; how large the slot
is, follows from its members. Bytes are those of the texels, four channels each: TVM asks for images without a row
pitch, so a driver may pad rows, which neither the naive figure nor the planned one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tvm_memplan.dialects.captured import Region
from tvm_memplan.dialects.elements import element_bytes
from tvm_memplan.dialects.textures import TextureShape
from tvm_memplan.errors import BadPlan
from tvm_memplan.planning.lifetimes.liveness import Liveness
from tvm_memplan.planning.slots.textures import Texture, TextureSlot, check_texture_slots, texture_slots


@dataclass(frozen=True)
class ScopeTextures:
    """The textures of one scope and their slots."""

    scope: str
    textures: tuple[Texture, ...]
    slots: tuple[TextureSlot, ...]

    @property
    def element_bytes(self) -> dict[str, int]:
        """Bytes of a texel of each type that occurs."""
        return {texture.element: element_bytes(texture.element) or 0 for texture in self.textures}


@dataclass(frozen=True)
class TexturePlan:
    """The judged slots of all scopes of a region; empty where it has no textures."""

    scopes: tuple[ScopeTextures, ...] = ()

    def to_fields(self) -> list[list[str]]:
        """The names of the textures in each slot, for JSON."""
        return [[planned.textures[i].name for i in slot.members] for planned in self.scopes for slot in planned.slots]

    def for_rewriting(self) -> Iterator[tuple[str, TextureShape, list[str]]]:
        """Scope, shape and names of members of each slot."""
        for planned in self.scopes:
            for slot in planned.slots:
                shape = TextureShape(slot.extents, slot.element.rpartition("x")[0])
                yield planned.scope, shape, [planned.textures[i].name for i in slot.members]


def plan_textures(region: Region, liveness: Liveness) -> TexturePlan:
    """Give every texture of `region` a slot, and have the slots judged."""
    planned = []
    for scope, textures in _by_scope(region, liveness).items():
        slots = texture_slots(textures)
        check_texture_slots(textures, slots)
        planned.append(ScopeTextures(scope, textures, tuple(slots)))
    return TexturePlan(tuple(planned))


def recorded_textures(region: Region, liveness: Liveness, recorded: Any) -> TexturePlan:
    """Bring recorded slots and the textures as they are now together, and judge them.

    Raises
    ------
    BadPlan
        When a slot mixes scopes or types, or has members that are alive together or are not there, and when a
        texture has no slot.
    """
    by_scope = _by_scope(region, liveness)
    scope_of = {texture.name: scope for scope, textures in by_scope.items() for texture in textures}
    slots: dict[str, list[TextureSlot]] = {scope: [] for scope in by_scope}
    if not isinstance(recorded, (list, tuple)) or not all(isinstance(names, list) for names in recorded):
        raise BadPlan(f"slots of textures must be lists of names, got {recorded!r}")
    for names in recorded:
        scopes = {scope_of.get(str(name)) for name in names}
        scope = scopes.pop() if len(scopes) == 1 else None
        if scope is None:
            raise BadPlan(f"slot {list(names)} is not made of textures of one scope")
        textures = by_scope[scope]
        index = {texture.name: i for i, texture in enumerate(textures)}
        members = tuple(index[str(name)] for name in names)
        extents = tuple(map(max, zip(*(textures[i].extents for i in members))))
        slots[scope].append(TextureSlot(extents, textures[members[0]].element, members))
    for scope, textures in by_scope.items():
        check_texture_slots(textures, slots[scope])
    return TexturePlan(tuple(ScopeTextures(scope, by_scope[scope], tuple(slots[scope])) for scope in by_scope))


def _by_scope(region: Region, liveness: Liveness) -> Mapping[str, tuple[Texture, ...]]:
    found: dict[str, list[Texture]] = {}
    for buffer in liveness.buffers:
        shape = region.textures.get(buffer.name)
        if shape is not None:
            texture = Texture(buffer.name, shape.extents, shape.element, buffer.live_ranges)
            found.setdefault(buffer.scope, []).append(texture)
    return {scope: tuple(textures) for scope, textures in found.items()}
