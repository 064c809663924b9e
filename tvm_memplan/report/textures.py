"""Textures in a report: the figures of a scope, and a row per texture that names its slot instead of an offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod

from tvm_memplan.planning.model import Kind
from tvm_memplan.planning.slots.textures import Texture, TextureSlot, texture_peaks
from tvm_memplan.report.memory import Allocation, Peak, PoolFigures


def texture_figures(
    scope: str,
    textures: Sequence[Texture],
    slots: Sequence[TextureSlot],
    element_bytes: Mapping[str, int],
    steps: Sequence[str] = (),
) -> PoolFigures:
    """Return the figures of the textures of one scope.

    Parameters
    ----------
    scope : str
        What the pool is called.
    textures, slots
        A judged assignment.
    element_bytes : mapping of str to int
        Bytes of one element (a texel, all channels) of each type.
    steps : sequence of str
        The operator of every step.

    Returns
    -------
    PoolFigures
        In bytes of texels, without a padding of rows, which is the driver's. The bound is the largest sum alive at
        once, added up over the types, since no slot serves two of them; the peak is that of the heaviest type.
    """
    peaks = texture_peaks(textures)
    heaviest = max(peaks, key=lambda peak: peak.elements * element_bytes[peak.element])
    holders = sorted((textures[i] for i in heaviest.members), key=lambda t: (-prod(t.extents), t.name))
    operator = steps[heaviest.step] if heaviest.step < len(steps) else ""
    return PoolFigures(
        pool=scope,
        capacity=None,
        alignment=1,
        naive=sum(prod(t.extents) * element_bytes[t.element] for t in textures),
        planned=sum(slot.elements * element_bytes[slot.element] for slot in slots),
        bound=sum(peak.elements * element_bytes[peak.element] for peak in peaks),
        bound_kind="pressure",
        peak=Peak(heaviest.step, operator, tuple(t.name for t in holders)),
    )


def texture_rows(
    scope: str,
    textures: Sequence[Texture],
    slots: Sequence[TextureSlot],
    element_bytes: Mapping[str, int],
    kind: Kind = Kind.WORKSPACE,
) -> tuple[Allocation, ...]:
    """Return a row per texture, in the order of `textures`; `size` is in bytes of its texels.

    Slots are allocations of their own, without an order. For a map they are laid one behind the other, and `offset` is
    where the texture's slot then begins.
    """
    home = {i: k for k, slot in enumerate(slots) for i in slot.members}
    starts = list(accumulate((slot.elements * element_bytes[slot.element] for slot in slots), initial=0))
    return tuple(
        Allocation(
            name=texture.name,
            operator="",
            kind=kind,
            scope=scope,
            size=prod(texture.extents) * element_bytes[texture.element],
            alignment=1,
            live_ranges=texture.live_ranges,
            pool=scope,
            offset=starts[home[i]],
            slot=f"{home[i]}: {' x '.join(map(str, slots[home[i]].extents))} {texture.element}",
        )
        for i, texture in enumerate(textures)
    )
