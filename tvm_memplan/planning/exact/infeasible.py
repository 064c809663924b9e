"""Why a capacity cannot be met: a few buffers that do not fit it, of which none can be left out.

Such a set is *irreducible*: it does not fit, but it would without any one of its members. It is found by deletion:
leave buffers out one by one, for good when the rest still does not fit. "Does not fit" is always a proof, by the sum
of those that must lie side by side or by an exact search that came back empty; a search that comes to no end keeps
the buffer, and the set may then be larger than it need be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.effort import Effort
from tvm_memplan.planning.exact.alone import arena
from tvm_memplan.planning.exact.attempts import ORDERS, WORTH_COMPILING, Ranked, attempt, dive
from tvm_memplan.planning.exact.hunt import FIRST_DIVES, GROWTH
from tvm_memplan.planning.exact.kernel import FOUND, NONE, UNDECIDED
from tvm_memplan.planning.exact.sections import Sections, sections
from tvm_memplan.planning.model import Pool, Problem, round_up
from tvm_memplan.planning.preparing.parts import part

#: Work for a message: a fraction of a second, compiled or not.
CHEAP = 2_000_000


@dataclass(frozen=True)
class Subset:
    """Buffers that cannot lie within a capacity together.

    Parameters
    ----------
    members : tuple of int
        Indices into the problem, ascending.
    irreducible : bool
        Whether each of them is needed to make it impossible; else that was not proved of some.
    """

    members: tuple[int, ...]
    irreducible: bool


def infeasible_subset(problem: Problem, capacity: int, effort: Effort | None = None) -> Subset | None:
    """Return a few buffers that cannot lie within one arena of `capacity` bytes, however they are placed.

    Parameters
    ----------
    problem : Problem
        All its buffers must prefer the same pool, and it must have no in-place pairs; else None is returned.
    capacity : int
        Bytes.
    effort : Effort or None
        What may be spent on proofs; None for a fraction of a second.

    Returns
    -------
    Subset or None
        None when everything fits, or no proof of the contrary was found.
    """
    pool = arena(problem)
    if pool is None:
        return None
    effort = effort or Effort(CHEAP)
    solid = [i for i, buffer in enumerate(problem.buffers) if buffer.size]
    start = _crowd(problem, pool, solid, capacity)
    if start is None:
        if _fits(problem, pool, solid, capacity, effort) != NONE:
            return None
        start = _small_start(problem, pool, solid, capacity, effort)
    kept, sure = list(start), True
    for i in sorted(start, key=lambda i: (problem.buffers[i].size, i)):
        rest = [j for j in kept if j != i]
        result = _fits(problem, pool, rest, capacity, effort)
        if result == NONE:
            kept = rest
        elif result == UNDECIDED:
            sure = False
    return Subset(tuple(sorted(kept)), sure)


def _crowd(problem: Problem, pool: Pool, members: Sequence[int], capacity: int) -> list[int] | None:
    """Return buffers that must lie side by side and take more than the capacity, if there are any."""
    for found in _sections(problem, pool, members):
        room = _units(found, capacity, problem, pool, members)
        for clique in found.cliques:
            if sum(found.size[i] for i in clique) > room:
                return sorted(members[found.members[i]] for i in clique)
    return None


def _small_start(problem: Problem, pool: Pool, members: list[int], capacity: int, effort: Effort) -> list[int]:
    """Leave out large blocks of buffers first, by time, as most have nothing to do with it."""
    kept = sorted(members, key=lambda i: (problem.buffers[i].live_ranges or (), i))
    block = len(kept) // 2
    while block > 1:
        at = 0
        while at < len(kept):
            rest = kept[:at] + kept[at + block :]
            if rest and _fits(problem, pool, rest, capacity, effort) == NONE:
                kept = rest
            else:
                at += block
        block //= 2
    return kept


def _fits(problem: Problem, pool: Pool, members: Sequence[int], capacity: int, effort: Effort) -> int:
    """Return FOUND, NONE or UNDECIDED. The arena's end is rounded up, so that only NONE is exact to the byte."""
    result = FOUND
    for found in _sections(problem, pool, members):
        room = _units(found, capacity, problem, pool, members)
        if found.least > room:
            return NONE
        own = _search(found, room, effort)
        if own == NONE:
            return NONE
        result = min(result, own)
    return result


def _search(found: Sections, room: int, effort: Effort) -> int:
    if sum(found.size) <= room and max(found.align) == 1 and max(found.pin) < 0:
        return FOUND
    limit = FIRST_DIVES * dive(found)
    while not effort.over:
        for order in ORDERS:
            fast = effort.used + limit > WORTH_COMPILING
            result, _ = attempt(Ranked(found, order, fast), room, limit, effort)
            if result != UNDECIDED:
                return result
        limit *= GROWTH
    return UNDECIDED


def _sections(problem: Problem, pool: Pool, members: Iterable[int]) -> list[Sections]:
    own = part(problem, list(members))
    one = replace(pool, capacity=None)
    buffers = tuple(replace(b, pools=(), scope=pool.scopes[0]) for b in own.buffers)
    return sections(Conflicts(replace(own, buffers=buffers, pools=(one,))), one)


def _units(found: Sections, capacity: int, problem: Problem, pool: Pool, members: Sequence[int]) -> int:
    least = min(max(problem.buffers[i].alignment, pool.alignment) for i in members)
    return round_up(capacity, least) // found.unit
