"""From a board to the pools of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from tvm_memplan.boards import Board, Region, joined_regions
from tvm_memplan.errors import BadInput, DoesNotFit
from tvm_memplan.planning.model import Pool
from tvm_memplan.report.memory import MemoryReport
from tvm_memplan.sizes import show_size


@dataclass(frozen=True)
class Reserve:
    """Bytes of RAM that are not for the plan: stack, heap, the rest of the firmware.

    They are taken from the region called `region`, or from the preferred one when it is empty.
    """

    size: int = 0
    region: str = ""


class BoardPools(NamedTuple):
    """The pools of a board: RAM for activations and read-only memory for weights, each in order of preference."""

    activations: tuple[Pool, ...]
    weights: tuple[Pool, ...]


@dataclass(frozen=True)
class Usable:
    """The regions of a board that a plan may use, in order of preference, and what is kept free in them."""

    ram: tuple[Region, ...]
    rom: tuple[Region, ...]
    kept: dict[str, int]

    def have(self, region: Region) -> int:
        """Bytes of `region` that a plan may take."""
        return region.size_bytes - self.kept.get(region.name, 0)


#: Bytes to keep free in the preferred region, or what to keep free in which.
Reserves = Reserve | int | Sequence[Reserve]


def pools_for(board: Board, reserve: Reserves = 0, *, external: bool = False, memory: Sequence[str] = ()) -> BoardPools:
    """Return the pools a plan for `board` may use.

    Activations go to internal RAM, the largest region first, then the smaller ones: one arena in one region is what
    every runtime can take, so the region most likely to hold all of it comes first. Weights go to internal
    flash, or to external read-only memory on a board that has no other. Regions marked ``optional`` and
    external memory follow last, and only with `external`. Touching regions of one kind are one pool. A board that
    lists no read-only memory gets one pool ``weights`` without a capacity, which the judge then leaves open.

    Parameters
    ----------
    board : Board
        The device.
    reserve : int, Reserve or sequence of Reserve
        Bytes to keep free of the plan; several for one region add up.
    external : bool
        Whether memory outside the chip may be used.
    memory : sequence of str
        The regions for activations, the preferred one first, instead of the order above. Naming a region allows it,
        external and optional ones included.

    Raises
    ------
    BadInput
        If the reserve is larger than its region, or names a region that holds no activations; if `memory` names what
        is no RAM of the board, or the same bytes twice.
    """
    usable = usable_regions(board, reserve, external=external, memory=memory)
    return BoardPools(
        tuple(Pool(region.name, usable.have(region), region.alignment) for region in usable.ram),
        tuple(Pool(region.name, region.size_bytes, region.alignment) for region in usable.rom) or (Pool("weights"),),
    )


def chosen_pools(
    pools: Sequence[Pool] | None,
    weight_pools: Sequence[Pool] | None,
    board: Board | None,
    reserve: Reserve | int,
    usual: BoardPools,
) -> BoardPools:
    """Return the pools that a driver's options name: given ones, those of a board, or the usual ones.

    Raises
    ------
    BadInput
        Both a board and pools are given, or the reserve is too large.
    """
    if board is None:
        return BoardPools(tuple(pools or usual.activations), tuple(weight_pools or usual.weights))
    if pools is not None or weight_pools is not None:
        raise BadInput("give either a board or pools, not both")
    return pools_for(board, reserve)


def plan_for(pools: BoardPools, plan: Callable[[BoardPools], MemoryReport]) -> MemoryReport:
    """Plan into `pools`, or, where that fails, into the preferred ones as if they were large enough.

    Weights and activations are relaxed apart, so that weights which are too large do not change the
    figures of the activations. `plan` is called with the pools to use and raises `DoesNotFit` when they are too small.
    """
    relaxed = BoardPools(_unlimited(pools.activations), _unlimited(pools.weights))
    attempts = (
        pools,
        BoardPools(pools.activations, relaxed.weights),
        BoardPools(relaxed.activations, pools.weights),
    )
    # Pools without a capacity make some attempts equal; each is a whole planning run.
    for attempt in dict.fromkeys(attempts):
        with suppress(DoesNotFit):
            return plan(attempt)
    return plan(relaxed)


def usable_regions(board: Board, reserve: Reserves, *, external: bool, memory: Sequence[str] = ()) -> Usable:
    """Return which regions `pools_for` and the judge use, by the rules that `pools_for` gives."""
    regions = [r for r in joined_regions(board) if r.data and (external or not r.optional)]
    ram = _largest_first(r for r in regions if r.writable and r.internal)
    if external or not ram:
        ram += _largest_first(r for r in regions if r.writable and not r.internal)
    if memory:
        ram = _chosen(board, memory)
    rom = _largest_first(r for r in regions if r.kind == "flash")
    if external or not rom:
        rom += _largest_first(r for r in regions if r.kind == "external-ro")
    if not ram:
        raise BadInput(f"board {board.name}: its only RAM is optional; external=True (--external) allows it")
    return Usable(ram, rom, _kept(board, ram, with_reserves(reserve)))


def with_reserves(*reserves: Reserves) -> tuple[Reserve, ...]:
    """Return all of them as one sequence."""
    made: list[Reserve] = []
    for reserve in reserves:
        if isinstance(reserve, int):
            made.append(Reserve(reserve))
        else:
            made.extend([reserve] if isinstance(reserve, Reserve) else reserve)
    return tuple(made)


def _chosen(board: Board, names: Sequence[str]) -> tuple[Region, ...]:
    """Return the regions called `names`, as the board lists them or joined, in this order."""
    known = {r.name: r for r in (*joined_regions(board), *board.regions) if r.writable and r.data}
    for name in names:
        if name not in known:
            raise BadInput(f"board {board.name}: no RAM is called {name!r}; there is {', '.join(known)}")
    chosen = tuple(known[name] for name in names)
    for i, region in enumerate(chosen):
        for other in chosen[:i]:
            if region == other or _within(region, other) or _within(other, region):
                raise BadInput(f"board {board.name}: {other.name!r} and {region.name!r} have bytes in common")
    return chosen


def _largest_first(regions: Iterable[Region]) -> tuple[Region, ...]:
    return tuple(sorted(regions, key=lambda region: -region.size_bytes))


def _kept(board: Board, ram: Sequence[Region], reserves: Sequence[Reserve]) -> dict[str, int]:
    """Return how many bytes of which region are kept free."""
    kept: dict[str, int] = {}
    for reserve in reserves:
        if reserve.size < 0:
            raise BadInput(f"the reserve must not be negative, got {reserve.size} bytes")
        region = _find(board, ram, reserve.region) if reserve.region else ram[0]
        kept[region.name] = kept.get(region.name, 0) + reserve.size
        if kept[region.name] > region.size_bytes:
            raise BadInput(
                f"board {board.name}: a reserve of {show_size(kept[region.name])} is more than region "
                f"{region.name!r} has, {show_size(region.size_bytes)}"
            )
    return kept


def _find(board: Board, ram: Sequence[Region], name: str) -> Region:
    """Return the usable region called `name`, or the joined one that holds the board's region of that name."""
    for region in ram:
        if name == region.name:
            return region
    inner = board.region(name)
    for region in ram:
        if _within(inner, region):
            return region
    names = ", ".join(region.name for region in ram)
    raise BadInput(f"board {board.name}: cannot reserve in region {name!r}; activations use {names}")


def _within(inner: Region, outer: Region) -> bool:
    if inner.address is None or inner.end is None or outer.address is None or outer.end is None:
        return False
    return outer.address <= inner.address and inner.end <= outer.end


def _unlimited(pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    return tuple(replace(pool, capacity=None) for pool in pools[:1])
