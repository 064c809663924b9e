"""`suggest`: what would make a plan smaller, each figure computed for it, in two parts.

*A smaller peak*: the bound of the program with something changed, against its bound now. Where the plan is at its
bound, the changed program is planned, too, and what the plan gains is what counts. Where it is not, that would mix the
change with the luck of a search, so the bound alone speaks.

*A better plan*, only where the plan lies above its bound: other planners and a longer search, for the same program.

Weights are not counted, and capacities are not in the way: the question is how much memory it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tvm_memplan.budget.suggest.changes import CHANGES, peak_of
from tvm_memplan.budget.suggest.subproblem import of_activations
from tvm_memplan.planning import planners
from tvm_memplan.planning.model import Problem


@dataclass(frozen=True)
class Suggestion:
    """A change that makes the peak, or the plan, smaller.

    Parameters
    ----------
    kind : str
        One of `CHANGES` (shrink, operator, in place, caller, alignment) for the peak; planner or search for the plan.
    what : str
        The change, in words.
    gain : int
        Bytes.
    buffers : tuple of str
        The buffers that it is about.
    """

    kind: str
    what: str
    gain: int
    buffers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """What was found: plan and bound as they are (bytes), suggestions, best first, and what was tried in vain."""

    planned: int
    bound: int
    smaller_peak: tuple[Suggestion, ...]
    better_plan: tuple[Suggestion, ...]
    in_vain: tuple[str, ...]


def suggest(
    problem: Problem,
    *,
    planner: str = "auto",
    time_limit: float = 3.0,
    longer: float = 10.0,
    titles: Mapping[str, str] = MappingProxyType({}),
    tell: Callable[[str], None] = lambda what: None,
) -> Advice:
    """Try what could make the plan of a problem smaller.

    Parameters
    ----------
    problem : Problem
        What is planned.
    planner : str
        How to plan.
    time_limit : float
        Seconds for each plan.
    longer : float
        Seconds for the one long search, which is made only where the plan is above its bound.
    titles : mapping of str to str
        What people call the buffers, by name, such as `Allocation.title`.
    tell : callable
        Is given what is tried next, in words.
    """
    asked = of_activations(problem)
    if not asked.buffers:
        return Advice(0, 0, (), (), ())

    def planned(what: Problem, by: str = planner, limit: float = time_limit) -> int:
        return planners.plan(what, planner=by, time_limit=limit).size()

    tell("the plan as it is")
    now, peak = planned(asked), peak_of(asked)
    smaller: list[Suggestion] = []
    in_vain: list[str] = []
    for kind, changes in CHANGES.items():
        made = []
        for number, change in enumerate(changes(asked, titles), 1):
            tell(f"{kind} {number}")
            gain = peak - peak_of(change.problem)
            if gain > 0 and now <= peak:
                gain = min(gain, now - planned(change.problem))
            if gain > 0:
                made.append(Suggestion(kind, change.what, gain, change.buffers))
        smaller += made
        in_vain += [kind] * (not made)
    better: list[Suggestion] = []
    if now > peak:
        others = [("planner", f"plan with {name}", name, time_limit) for name in planners.PLANNERS if name != planner]
        tried = []
        for kind, what, name, seconds in (*others, ("search", f"let auto search for {longer:g} s", "auto", longer)):
            tell(what)
            tried.append(Suggestion(kind, what, now - planned(asked, name, seconds)))
        better = [one for one in tried if one.gain > 0]
        in_vain += ["another planner", "a longer search"] * (not better)
    return Advice(now, min(now, peak), _best_first(smaller), _best_first(better), tuple(in_vain))


def _best_first(found: list[Suggestion]) -> tuple[Suggestion, ...]:
    return tuple(sorted(found, key=lambda one: -one.gain))
