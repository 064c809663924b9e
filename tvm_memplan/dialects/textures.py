"""Textures of a function: what one allocation asks for, and which uses of it leave it movable; the same on both lines.

A texture is a grid of *texels* of four channels each (RGBA), whatever the program says about its innermost dimension,
and its elements are reached by column and row. So two of them can share an allocation (a *slot*) when it is at least
as wide and as high as each: coordinates stay as they are, and nothing is counted in bytes.

What a larger slot changes is a read outside the texture: it meets somebody's old texels where the device would have
returned its border colour. TVM's own runtime does the same, since its pool hands out textures that are larger than
what was asked for, so the value of such a read is nothing that a program may depend on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tvm_memplan.dialects.elements import Allocation, element_bytes

#: Values in a texel: every texture that TVM allocates is RGBA.
CHANNELS = 4

#: Calls (without the dialect's prefix) that touch texels of the texture that is their first argument: does it write?
TEXEL_CALLS = {"texture2d_load": False, "texture2d_store": True}


def is_texture(scope: str) -> bool:
    """Whether a storage scope is one of textures; TVM asks in the same way."""
    return "texture" in scope


@dataclass(frozen=True)
class TextureAllocation(Allocation):
    """A texture that a program asks for; `extents` are its width, height and perhaps layers, in texels.

    Parameters
    ----------
    limits : tuple of int or None
        What the target allows in each dimension, None where it does not say.
    rank : int
        How many dimensions textures have on this line.
    wrong : str
        What else keeps it from being planned, empty when nothing does.
    """

    limits: tuple[int | None, ...] = ()
    rank: int = 2
    wrong: str = ""

    def size(self) -> int | None:
        """Bytes of all texels, None when an extent is not a constant; a driver may pad the rows, unknown to anybody."""
        texels = super().size()
        return None if texels is None else texels * CHANNELS

    def why_not_planned(self) -> str:
        """The reason for which it has to stay as it is, empty when it can be planned."""
        if len(self.extents) != self.rank:
            return f"a texture of {len(self.extents)} dimensions is not planned, only of {self.rank} are"
        if any(extent is None for extent in self.extents):
            return f"its size {self.extent_text} is not a constant"
        if min(extent or 0 for extent in self.extents) <= 0:
            return "it holds no element"
        if element_bytes(self.dtype) is None or "x" in self.dtype:
            return f"a channel of type {self.dtype} is stored differently from target to target"
        for extent, limit in zip(self.extents, self.limits):
            if limit is not None and (extent or 0) > limit:
                return f"it has {self.extent_text} texels, and {extent} is more than the target's {limit}"
        return self.wrong


@dataclass(frozen=True)
class TextureShape:
    """What a texture needs of its slot: texels in each dimension, and the type of a channel."""

    extents: tuple[int, ...]
    dtype: str

    @property
    def element(self) -> str:
        """The type of a texel, such as ``"float16x4"``."""
        return f"{self.dtype}x{CHANNELS}"


def shape_of(what: TextureAllocation) -> TextureShape:
    """The shape of a texture that can be planned."""
    return TextureShape(tuple(extent or 0 for extent in what.extents), what.dtype)


def texture_extents(shape: Sequence[int], scope: str) -> tuple[int, int, int] | None:
    """Width, height and channels of the texture that holds a tensor, None where TVM has no rule for it.

    TVM cuts the shape in two: what lies before the cut counts rows, what lies behind it columns, and the last dimension
    channels. ``global.texture`` (N, C, H, W, c) cuts before W, ``global.texture-weight`` (O, I, H, W, c) behind O, and
    ``global.texture-nhwc`` (N, H, W, C, c) behind H, or behind the first of three dimensions.
    """
    rank = len(shape)
    cuts = {
        "global.texture": rank - 2,
        "global.texture-weight": 1,
        "global.texture-nhwc": 1 if rank == 3 else 2,
    }
    cut = cuts.get(scope, 0)
    if rank < 3 or cut < 1:
        return None
    return prod(shape[cut : rank - 1]), prod(shape[:cut]), shape[-1]
