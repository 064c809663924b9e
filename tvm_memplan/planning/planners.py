"""Planners by name: each is a function from `Problem` to `Plan`, and `plan` runs one and has it judged.

Every planner honours alignments, capacities in order of preference, pinned and separate buffers, and in-place pairs;
what remains of a problem (granularities, penalties) is seen to by `plan`, before and after the planner. Without pins,
naive >= planned >= bound holds for what they return (see `tvm_memplan.planning.bounds.bound`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tvm_memplan.errors import BadInput, BadPlan, BadProblem, DoesNotFit
from tvm_memplan.planning.bounds.bound import bound, effective_alignment
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.effort import Effort, effort_for
from tvm_memplan.planning.exact.alone import arena
from tvm_memplan.planning.exact.alone import improve as search_alone
from tvm_memplan.planning.exact.infeasible import infeasible_subset
from tvm_memplan.planning.finishing.penalties import with_less_penalty
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.large.columns import Columns, columns
from tvm_memplan.planning.large.fit import fit
from tvm_memplan.planning.large.pack import pack as pack_columns
from tvm_memplan.planning.model import Outcome, Placement, Plan, Pool, Problem, round_up
from tvm_memplan.planning.packing.orders import ORDERS, Order, arrange, by_conflicts, by_size, by_start
from tvm_memplan.planning.packing.pack import MOST_LISTED, Layout, Packer, cost, no_worse_than_a_stack
from tvm_memplan.planning.packing.search import improve as climb_from
from tvm_memplan.planning.packing.search import moves_for
from tvm_memplan.planning.preparing.granularity import without_granularity
from tvm_memplan.planning.preparing.parts import part, parts
from tvm_memplan.planning.slots.colour import colour as colour_slots

#: The default time limit.
DEFAULT_SECONDS = 3.0


def plan(problem: Problem, planner: str = "auto", time_limit: float | None = DEFAULT_SECONDS) -> Plan:
    """Plan a problem and have the plan judged.

    Parameters
    ----------
    problem : Problem
        What to plan.
    planner : str
        One of `PLANNERS`.
    time_limit : float or None
        Seconds of wall-clock time for planners that search (`SEARCHING`), None for no limit. It decides how much work
        they may do, which is counted alike everywhere, so that the plan is the same on every machine; only where that
        work takes longer than the limit the search is cut, and the plan's outcome says so.

    Returns
    -------
    Plan
        A plan that passed `check_plan`.

    Raises
    ------
    BadInput
        There is no planner of that name.
    BadProblem
        Pinned buffers contradict each other or the rules of their pools.
    DoesNotFit
        The planner found no room for a buffer within the capacities.
    BadPlan
        The planner made a mistake (this would be a bug).
    """
    if planner not in PLANNERS:
        raise BadInput(f"no planner is called {planner!r}; there are {', '.join(PLANNERS)}")
    _check_pins(problem)
    if time_limit is not None and time_limit < 0:
        raise BadInput(f"the time limit must not be negative, got {time_limit} seconds")
    made = less_penalty(_planned(problem, planner, time_limit), planner, time_limit=time_limit)
    check_plan(made)
    return made


def less_penalty(
    plan: Plan,
    planner: str,
    room: Mapping[str, int] | None = None,
    time_limit: float | None = DEFAULT_SECONDS,
) -> Plan:
    """Return a plan of the same problem with as little penalty as is found, not judged.

    Parameters
    ----------
    plan : Plan
        A right plan.
    planner : str
        What made it, one of `PLANNERS`.
    room : mapping of str to int or None
        Bytes up to which each pool's arena may grow for it; None for not at all.
    time_limit : float or None
        As for `plan`; a planner that searches is asked once more, so it may take this once more.
    """
    names = (planner, "greedy_by_size", "greedy_by_conflicts", "first_fit_by_start")
    first, *quick = (partial(_planned, planner=name, time_limit=time_limit) for name in names)
    return with_less_penalty(plan, first, quick, room)


def colour(problem: Problem) -> Plan:
    """Colour the conflict graph, and stack or pack the slots: the best of several colourings."""
    return _finish(problem, colour_slots(Conflicts(problem)), "colour")


def greedy_by_size(problem: Problem) -> Plan:
    """Largest first, each at the lowest offset that is free."""
    return _packed(problem, by_size, "greedy_by_size")


def greedy_by_conflicts(problem: Problem) -> Plan:
    """Most conflicts first, each at the lowest offset that is free."""
    return _packed(problem, by_conflicts, "greedy_by_conflicts")


def first_fit_by_start(problem: Problem) -> Plan:
    """Born first, each at the lowest offset that is free."""
    return _packed(problem, by_start, "first_fit_by_start")


def auto(problem: Problem, time_limit: float | None = DEFAULT_SECONDS) -> Plan:
    """Take the best of all orders and fits and of colouring, then search for better ones; stop at the bound.

    The exact search is asked first; where it does not apply or has come to no end, hill climbing goes on from the best
    plan. Beyond some thousand buffers only a few orders are tried. Groups of buffers that share no pool are planned
    apart. See `plan` for the time limit; without one, the search goes on until the plan is proved optimal.
    """
    return _searched(problem, time_limit, "auto", quick=True)


def exact(problem: Problem, time_limit: float | None = DEFAULT_SECONDS) -> Plan:
    """Search exactly, from the bound upwards, starting from the largest-first plan.

    The outcome of the plan says whether it is proved optimal. Buffers that must choose between pools, and in-place
    pairs, are left as the start has them.
    """
    return _searched(problem, time_limit, "exact", quick=False)


#: The planners, by the names that the command line and the passes take.
PLANNERS: dict[str, Callable[[Problem], Plan]] = {
    "auto": auto,
    "colour": colour,
    "exact": exact,
    "first_fit_by_start": first_fit_by_start,
    "greedy_by_conflicts": greedy_by_conflicts,
    "greedy_by_size": greedy_by_size,
}


#: Those that take a time limit.
SEARCHING: dict[str, Callable[[Problem, float | None], Plan]] = {"auto": auto, "exact": exact}


#: Up to so many buffers a message says why a capacity cannot be met.
QUICKLY_PROVED = 500


#: What `auto` tries on problems that are too large to search: orders, and whether gaps are chosen by best fit.
WHEN_LARGE = [
    ("conflicts", False),
    ("conflicts", True),
    ("pressure", False),
    ("size_then_start", True),
    ("start", False),
]


def _planned(problem: Problem, planner: str, time_limit: float | None) -> Plan:
    plain = without_granularity(problem)
    made = SEARCHING[planner](plain, time_limit) if planner in SEARCHING else PLANNERS[planner](plain)
    return replace(made, problem=problem)


def _packed(problem: Problem, order: Order, name: str) -> Plan:
    return _finish(problem, _in_order(problem, order), name)


def _in_order(problem: Problem, order: Order) -> list[Placement]:
    """Place in order, each buffer at the lowest offset that is free."""
    conflicts = Conflicts(problem)
    large = columns(problem) if len(problem.buffers) > MOST_LISTED else None
    if large is not None and len(problem.pools) == 1:
        given, pool = large
        solid = [i for i in arrange(conflicts, order) if problem.buffers[i].size]
        offsets = fit(np.array(solid), given.size, given.align, given.ptr, given.start, given.stop)[0]
        return [Placement(pool.name, at) for at in offsets.tolist()]
    packer = Packer(conflicts)
    return packer.placements(packer.pack(arrange(conflicts, order)))


def _searched(problem: Problem, time_limit: float | None, name: str, quick: bool) -> Plan:
    effort = effort_for(time_limit)
    placements: dict[int, Placement] = {}
    outcomes = []
    groups = parts(problem)
    for k, (members, own) in enumerate(groups):
        share = effort.share(1 / (len(groups) - k))
        found, outcome = _best(own, share) if quick else _exactly(own, share)
        effort.spend(share.used - effort.used)
        placements.update(zip(members, found))
        outcomes.append(outcome)
    made = _finish(problem, [placements[i] for i in range(len(problem.buffers))], name)
    outcome = Outcome(sum(o.least for o in outcomes), all(o.proved for o in outcomes), any(o.cut for o in outcomes))
    return replace(made, outcome=outcome)


def _exactly(problem: Problem, effort: Effort) -> tuple[Sequence[Placement], Outcome]:
    start = no_worse_than_a_stack(problem, _in_order(problem, by_size))
    pool = arena(problem)
    if pool is None:
        goal = bound(problem).bytes
        return start, Outcome(goal, _reached(cost(problem, start), goal))
    found, outcome = search_alone(problem, pool, start, effort)
    return found, outcome


def _best(problem: Problem, effort: Effort) -> tuple[Sequence[Placement], Outcome]:
    if len(problem.buffers) > MOST_LISTED:
        given = columns(problem)
        if given is not None:
            return _large(problem, *given, effort)
    conflicts = Conflicts(problem)
    goal = bound(problem).bytes
    moves = moves_for(len(problem.buffers))
    trials = [(name, best_fit) for name in sorted(ORDERS) for best_fit in (False, True)] if moves else WHEN_LARGE
    packer = Packer(conflicts, rounds=len(trials))
    found = packer.placements(packer.pack(arrange(conflicts, by_size))) if not moves else colour_slots(conflicts)
    best: Sequence[Placement] = no_worse_than_a_stack(problem, found)
    layouts: list[Layout] = []
    for name, best_fit in trials:
        if _reached(cost(problem, best), goal):
            return best, Outcome(goal, True)
        layout = packer.pack(arrange(conflicts, ORDERS[name]), best_fit)
        if not best_fit:
            layouts.append(layout)
        packed = no_worse_than_a_stack(problem, packer.placements(layout))
        best = min(best, packed, key=lambda placements: cost(problem, placements))
    outcome = Outcome(goal, _reached(cost(problem, best), goal))
    if not moves or outcome.proved:
        return best, outcome
    pool = arena(problem)
    if pool is not None:
        best, outcome = search_alone(problem, pool, best, effort)
        if outcome.proved or len(problem.pools) == 1:
            return best, outcome
    packer = Packer(conflicts, rounds=moves)
    starts = [packer.pack(layout.order) for layout in sorted(layouts, key=lambda layout: layout.cost)]
    improved = no_worse_than_a_stack(problem, packer.placements(climb_from(packer, starts, goal, moves)))
    best = min(best, improved, key=lambda placements: cost(problem, placements))
    return best, replace(outcome, proved=_reached(cost(problem, best), outcome.least))


def _large(problem: Problem, given: Columns, pool: Pool, effort: Effort) -> tuple[Sequence[Placement], Outcome]:
    offsets, end = pack_columns(given, effort)
    goal = given.pressure
    if pool.capacity is None or end <= pool.capacity or len(problem.pools) == 1:
        return [Placement(pool.name, at) for at in offsets.tolist()], Outcome(goal, end <= goal, effort.cut)
    packer = Packer(Conflicts(problem))  # some must go elsewhere
    return packer.placements(packer.pack(arrange(packer.conflicts, by_size))), Outcome(goal, False, effort.cut)


def _reached(price: tuple[int, ...], goal: int) -> bool:
    """Whether everything lies in the most preferred pool, within the goal. `price` is as in `Layout.cost`."""
    return not any(price[:-1]) and price[-1] <= goal


def _finish(problem: Problem, placements: Sequence[Placement], name: str) -> Plan:
    made = Plan(problem, no_worse_than_a_stack(problem, placements), planner=name)
    pools = {pool.name: pool for pool in problem.pools}
    for i, (buffer, where) in enumerate(zip(problem.buffers, made.placements)):
        room = pools[where.pool].capacity
        if room is not None and where.offset + buffer.size > room:
            tried = ", ".join(
                f"{pool.name!r} has {pool.capacity} bytes and would need {_needed(made, i, pool)}"
                for pool in problem.candidates(buffer)
            )
            raise DoesNotFit(
                f"{name} found no room for buffer {buffer.name!r} of {buffer.size} bytes: pool {tried}{_why(problem)}"
            )
    return made


def _why(problem: Problem) -> str:
    """Say which buffers make it impossible, where there is one pool and a proof is quickly found."""
    capacity = problem.pools[0].capacity
    if len(problem.pools) > 1 or capacity is None or len(problem.buffers) > QUICKLY_PROVED:
        return ""
    found = infeasible_subset(problem, capacity)
    if found is None:
        return ""
    names = [f"{problem.buffers[i].name!r} ({problem.buffers[i].size})" for i in found.members]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"; no plan can hold {shown} in {capacity} bytes together"


def _needed(made: Plan, index: int, pool: Pool) -> int:
    """Bytes that a pool's arena must have for a buffer to fit, all others staying where they are."""
    buffers = made.problem.buffers
    others = [int(j) for j in Conflicts(made.problem).of(index) if made.placements[int(j)].pool == pool.name]
    end, alignment = 0, effective_alignment(made.problem, index, pool)
    for low, high in sorted((made.placements[j].offset, made.placements[j].offset + buffers[j].size) for j in others):
        if low - round_up(end, alignment) >= buffers[index].size:
            break
        end = max(end, high)
    return round_up(end, alignment) + buffers[index].size


def _check_pins(problem: Problem) -> None:
    members = [i for i, buffer in enumerate(problem.buffers) if buffer.pinned]
    if not members:
        return
    own = part(problem, members)
    fixed = tuple(buffer.pinned for buffer in own.buffers if buffer.pinned)
    try:
        check_plan(Plan(own, fixed))
    except BadPlan as error:
        raise BadProblem(f"the pinned buffers break a rule: {error}") from error
