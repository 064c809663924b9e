"""Tensors of unknown sizes as guests of others that are no smaller, whatever the sizes turn out to be.

::

    a = f32[n, 64]    alive at first     256 * n bytes
    b = f32[n]        alive later          4 * n bytes: no more than a takes, so it lies where a did

A guest takes units of an arena that nobody needs while it is alive, so the arena stays as large as it was. That it is
no larger is proved from the factors of both sizes (`TensorSize.held_by`): `n` has room in `n * m` and in `n * n`, but
`n` and `m` have none in each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_memplan.planning.model import LiveRange


@dataclass(frozen=True)
class Draft:
    """An arena in the making: what `tvm_memplan.transform.graphs.symbolic.SymbolicArena` says, and

    Parameters
    ----------
    size : TensorSize
        Of the factors that a unit is multiplied by.
    places, sizes : mapping of str to int
        The offset of each tensor, and what it takes, in units.
    raised : frozenset of Var
        The variables that count as 1 at least.
    bodies : mapping
        The kernels that were looked into, by step.
    """

    device: int
    scope: str
    size: Any
    units: int
    unit: int
    rounded: bool
    places: Mapping[str, int]
    sizes: Mapping[str, int]
    raised: frozenset[Any]
    bodies: Mapping[int, Any]

    @property
    def shares(self) -> bool:
        """Whether two tensors have bytes in common."""
        return self.units < sum(self.sizes.values())


#: The live ranges of each tensor.
Alive = Mapping[str, tuple[LiveRange, ...]]


def moved_in(
    drafts: Sequence[Draft], tensors: Mapping[str, Any], alive: Alive, again: Callable[[Draft, list[str]], Draft]
) -> list[Draft]:
    """The arenas with guests in them; those of which all have moved elsewhere are gone.

    Parameters
    ----------
    drafts : sequence of Draft
        The arenas.
    tensors : mapping of str to Tensor
        What lies in them.
    alive : mapping of str to tuple of LiveRange
        When each is alive.
    again : callable
        Plans an arena once more, for some of its tensors.
    """
    made = list(drafts)
    hosts: set[int] = set()  # what has guests stays
    smallest_first = sorted(range(len(made)), key=lambda i: (len(made[i].size.factors), made[i].unit, i))
    for i in smallest_first:
        if i in hosts:
            continue
        mine = made[i]
        # Whether there is enough of it is the same for all in the arena.
        raised = {k: mine.size.held_by(host.size) for k, host in enumerate(made) if k != i and _beside(host, mine)}
        others = {k: made[k] for k, some in raised.items() if some is not None}
        leaving: list[str] = []
        chosen: set[int] = set()
        for name in mine.sizes if others else ():
            for k, host in others.items():
                with_guest = _with(host, name, tensors[name], alive)
                if with_guest is not None:
                    others[k] = replace(with_guest, raised=host.raised | (raised[k] or frozenset()))
                    chosen.add(k)
                    leaving.append(name)
                    break
        if not leaving:
            continue
        staying = [name for name in mine.sizes if name not in leaving]
        rest = again(mine, staying) if staying else replace(mine, units=0, places={}, sizes={})
        if rest.units < mine.units:
            made = [rest if k == i else others.get(k, made[k]) for k in range(len(made))]
            hosts |= chosen
    return [draft for draft in made if draft.sizes]


def _beside(host: Draft, guest: Draft) -> bool:
    return bool(host.sizes) and (host.device, host.scope) == (guest.device, guest.scope)


def _with(host: Draft, name: str, guest: Any, alive: Alive) -> Draft | None:
    """The host with one more guest, None when it has no room."""
    units = -(-guest.size.coefficient // host.unit)
    taken = sorted(
        (at, at + host.sizes[other])
        for other, at in host.places.items()
        if any(a.overlaps(b) for a in alive[other] for b in alive[name])
    )
    start = _gap(taken, units, host.units)
    if start is None:
        return None
    places, sizes = {**host.places, name: start}, {**host.sizes, name: units}
    return replace(host, places=places, sizes=sizes)


def _gap(taken: Iterable[tuple[int, int]], units: int, end: int) -> int | None:
    start = 0
    for low, high in taken:
        if low - start >= units:
            break
        start = max(start, high)
    return start if start + units <= end else None
