"""Planners by name: each is a function from `Problem` to `Plan`, and `plan` runs one and has it judged.

Every planner honours alignments, capacities in order of preference, pinned and separate buffers, and in-place pairs;
what remains of a problem (granularities, penalties) is seen to by `plan`, before and after the planner. Without pins,
naive >= planned >= bound holds for what they return (see `tvm_memplan.planning.bound`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tvm_memplan.errors import BadInput, BadPlan, BadProblem, DoesNotFit
from tvm_memplan.planning.bound import bound, effective_alignment
from tvm_memplan.planning.check import check_plan
from tvm_memplan.planning.colour import colour as colour_slots
from tvm_memplan.planning.conflicts import Conflicts
from tvm_memplan.planning.granularity import without_granularity
from tvm_memplan.planning.model import Placement, Plan, Pool, Problem, round_up
from tvm_memplan.planning.orders import ORDERS, Order, arrange, by_conflicts, by_size, by_start
from tvm_memplan.planning.pack import Layout, Packer, cost, no_worse_than_a_stack
from tvm_memplan.planning.parts import part, parts
from tvm_memplan.planning.penalties import with_less_penalty
from tvm_memplan.planning.search import improve, moves_for


def plan(problem: Problem, planner: str = "auto") -> Plan:
    """Plan a problem and have the plan judged.

    Parameters
    ----------
    problem : Problem
        What to plan.
    planner : str
        One of `PLANNERS`.

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
    made = less_penalty(_planned(problem, planner), planner)
    check_plan(made)
    return made


def less_penalty(plan: Plan, planner: str, room: Mapping[str, int] | None = None) -> Plan:
    """Return a plan of the same problem with as little penalty as is found, not judged.

    Parameters
    ----------
    plan : Plan
        A right plan.
    planner : str
        What made it, one of `PLANNERS`.
    room : mapping of str to int or None
        Bytes up to which each pool's arena may grow for it; None for not at all.
    """
    names = (planner, "greedy_by_size", "greedy_by_conflicts", "first_fit_by_start")
    first, *quick = (partial(_planned, planner=name) for name in names)
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


def auto(problem: Problem) -> Plan:
    """Take the best of all orders and fits and of colouring, then improve it by hill climbing.

    Beyond some thousand buffers it takes the best of a few orders only. Groups of buffers that share no pool are
    planned apart. The search ends when the bound is reached, or after a number of moves that depends only on the
    number of buffers.
    """
    placements: dict[int, Placement] = {}
    for members, own in parts(problem):
        placements.update(zip(members, _best(own)))
    return _finish(problem, [placements[i] for i in range(len(problem.buffers))], "auto")


#: The planners, by the names that the command line and the passes take.
PLANNERS: dict[str, Callable[[Problem], Plan]] = {
    "auto": auto,
    "colour": colour,
    "first_fit_by_start": first_fit_by_start,
    "greedy_by_conflicts": greedy_by_conflicts,
    "greedy_by_size": greedy_by_size,
}


#: What `auto` tries on problems that are too large to search: orders, and whether gaps are chosen by best fit.
WHEN_LARGE = [
    ("conflicts", False),
    ("conflicts", True),
    ("pressure", False),
    ("size_then_start", True),
    ("start", False),
]


def _planned(problem: Problem, planner: str) -> Plan:
    return replace(PLANNERS[planner](without_granularity(problem)), problem=problem)


def _packed(problem: Problem, order: Order, name: str) -> Plan:
    conflicts = Conflicts(problem)
    packer = Packer(conflicts)
    return _finish(problem, packer.placements(packer.pack(arrange(conflicts, order))), name)


def _best(problem: Problem) -> Sequence[Placement]:
    conflicts = Conflicts(problem)
    goal = bound(problem).bytes
    moves = moves_for(len(problem.buffers))
    trials = [(name, best_fit) for name in sorted(ORDERS) for best_fit in (False, True)] if moves else WHEN_LARGE
    packer = Packer(conflicts, rounds=len(trials))
    found = packer.placements(packer.pack(arrange(conflicts, by_size))) if not moves else colour_slots(conflicts)
    best = no_worse_than_a_stack(problem, found)
    layouts: list[Layout] = []
    for name, best_fit in trials:
        if _reached(cost(problem, best), goal):
            return best
        layout = packer.pack(arrange(conflicts, ORDERS[name]), best_fit)
        if not best_fit:
            layouts.append(layout)
        packed = no_worse_than_a_stack(problem, packer.placements(layout))
        best = min(best, packed, key=lambda placements: cost(problem, placements))
    if not moves or _reached(cost(problem, best), goal):
        return best
    packer = Packer(conflicts, rounds=moves)
    starts = [packer.pack(layout.order) for layout in sorted(layouts, key=lambda layout: layout.cost)]
    improved = no_worse_than_a_stack(problem, packer.placements(improve(packer, starts, goal, moves)))
    return min(best, improved, key=lambda placements: cost(problem, placements))


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
            raise DoesNotFit(f"{name} found no room for buffer {buffer.name!r} of {buffer.size} bytes: pool {tried}")
    return made


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
    own = part(problem, members)
    fixed = tuple(buffer.pinned for buffer in own.buffers if buffer.pinned)
    try:
        check_plan(Plan(own, fixed))
    except BadPlan as error:
        raise BadProblem(f"the pinned buffers break a rule: {error}") from error
