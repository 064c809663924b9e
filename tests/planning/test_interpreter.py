"""Live ranges judged by running programs; and the judge judged, by rules broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.planning.interpreter import disagreement, tight
from tests.planning.programs import random_trace
from tvm_memplan.errors import BadPlan, BadTrace
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.lifetimes import liveness
from tvm_memplan.planning.lifetimes.liveness import Liveness, live_ranges
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Problem
from tvm_memplan.planning.planners import PLANNERS, plan
from tvm_memplan.planning.trace import Alias, Branch, Loop, Node, Step, Trace

PROGRAMS = range(400)


def planned(seed: int, analysis: Callable[[Trace], Liveness] = live_ranges) -> tuple[Trace, Plan] | None:
    trace = random_trace(seed)
    try:
        found = analysis(trace)
    except BadTrace:
        return None
    return trace, tight(Problem(found.buffers))


def test_a_planned_program_reads_what_the_unplanned_one_reads():
    refused = shared = 0
    for seed in PROGRAMS:
        made = planned(seed)
        if made is None:
            refused += 1
            continue
        trace, layout = made
        check_plan(layout)
        assert (seed, disagreement(trace, layout)) == (seed, None)
        shared += layout.size() < sum(buffer.size for buffer in layout.problem.buffers)
    assert refused < len(PROGRAMS) // 4  # a name that is allocated again while it is alive
    assert shared > len(PROGRAMS) // 3  # otherwise this test would not say much


@pytest.mark.parametrize("planner", sorted(PLANNERS))
def test_every_planner_keeps_the_program_right(planner):
    for seed in range(60):
        made = planned(seed)
        if made:
            assert disagreement(made[0], plan(made[1].problem, planner)) is None


def rewritten(nodes: tuple[Node, ...], change: Callable[[Node], tuple[Node, ...]]) -> tuple[Node, ...]:
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            node = replace(node, body=rewritten(node.body, change))
        elif isinstance(node, Branch):
            node = Branch(rewritten(node.then, change), rewritten(node.orelse, change))
        out.extend(change(node))
    return tuple(out)


def on_trace(change: Callable[[Node], tuple[Node, ...]]) -> Callable[[Trace], Liveness]:
    return lambda trace: live_ranges(replace(trace, body=rewritten(trace.body, change)))


def on_ranges(change: Callable[[LiveRange], LiveRange]) -> Callable[[Trace], Liveness]:
    def analysis(trace: Trace) -> Liveness:
        found = live_ranges(trace)
        cut = [replace(b, live_ranges=tuple(map(change, b.live_ranges))) for b in found.buffers]
        return Liveness(tuple(cut), found.steps)

    return analysis


def without_aliases(trace: Trace) -> Liveness:
    names = set()

    def note(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Alias):
            names.add(node.name)
        return (node,)

    def forget(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Step):
            return (
                Step(node.operator, *(tuple(n for n in part if n not in names) for part in (node.reads, node.writes))),
            )
        return (node,)

    rewritten(trace.body, note)
    return on_trace(forget)(trace)


def without_carried(trace: Trace) -> Liveness:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(liveness._Place, "carried", property(lambda self: False, lambda self, value: None))
        return live_ranges(trace)


def longer(span: LiveRange) -> bool:
    return span.stop - span.start > 1


WRONG: dict[str, Callable[[Trace], Liveness]] = {
    "loops are straight line": on_trace(lambda n: n.body if isinstance(n, Loop) else (n,)),
    "nothing is carried to the next iteration": without_carried,
    "every loop runs": on_trace(lambda n: (replace(n, at_least_once=True),) if isinstance(n, Loop) else (n,)),
    "both bodies of a branch run": on_trace(lambda n: (*n.then, *n.orelse) if isinstance(n, Branch) else (n,)),
    "an alias is not a use": without_aliases,
    "deaths before births": on_ranges(lambda r: LiveRange(r.start, r.stop - 1) if longer(r) else r),
    "births after deaths": on_ranges(lambda r: LiveRange(r.start + 1, r.stop) if longer(r) else r),
    "inputs come with their first use": lambda trace: live_ranges(replace(trace, live_in=frozenset())),
    "results die with their last use": lambda trace: live_ranges(replace(trace, live_out=frozenset())),
}


@pytest.mark.parametrize("rule", sorted(WRONG))
def test_a_broken_rule_of_live_ranges_is_seen_in_what_programs_read(rule):
    for seed in range(3000):
        made = planned(seed, WRONG[rule])
        if made and disagreement(*made):
            return
    pytest.fail(f"no program shows that this is wrong: {rule}")


def test_an_offset_moved_onto_a_conflicting_buffer_is_refused():
    moved = 0
    for seed in range(150):
        made = planned(seed)
        if made is None:
            continue
        layout = made[1]
        buffers = layout.problem.buffers
        for i, a in enumerate(buffers):
            j = next((j for j, b in enumerate(buffers) if i != j and a.alive_with(b) and a.size and b.size), None)
            if j is None:
                continue
            places = list(layout.placements)
            places[i] = Placement("arena", places[j].offset)
            with pytest.raises(BadPlan):
                check_plan(Plan(layout.problem, tuple(places)))
            moved += 1
    assert moved > 100


def test_a_live_range_cut_short_is_refused_when_judged_against_the_whole_one():
    whole = Problem((Buffer("a", 8, (LiveRange(0, 4),)), Buffer("b", 8, (LiveRange(3, 6),))))
    cut = Problem((Buffer("a", 8, (LiveRange(0, 3),)), whole.buffers[1]))
    wrong = plan(cut)
    assert wrong.size() == 8
    with pytest.raises(BadPlan, match=r"'a' and 'b' share bytes \[0, 8\).*alive at step 3"):
        check_plan(Plan(whole, wrong.placements))
