"""Sharing between threads, judged by running them; and the judge judged, by rules broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from tests.planning.programs import random_trace
from tests.planning.threads import disagreement
from tvm_memplan.errors import BadPlan, BadTrace
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.lifetimes import barriers
from tvm_memplan.planning.lifetimes.barriers import as_planned, block_problem, needed_barriers, without_barriers
from tvm_memplan.planning.model import Plan, Pool, Problem
from tvm_memplan.planning.planners import greedy_by_size, plan
from tvm_memplan.planning.trace import Alloc, Barrier, Branch, Loop, Node, Step, Trace

POOL = Pool("shared", scopes=("shared",))
SYNC = Barrier(("shared", "shared.dyn"))


def with_barriers(seed: int) -> Trace:
    """A random program of the threads of a block, with a boundary before every top statement."""
    random = Random(seed)

    def inside(nodes: tuple[Node, ...], dense: float) -> tuple[Node, ...]:
        made: list[Node] = []
        for node in nodes:
            if random.random() < dense:
                made.append(random.choice((SYNC, SYNC, SYNC, Barrier(("warp",)))))
            if isinstance(node, Alloc):
                node = replace(node, scope="shared", fresh=random.random() < 0.8)
            if isinstance(node, Loop):
                node = replace(node, body=inside(node.body, random.choice((0, 0.5))))
            elif isinstance(node, Branch):
                node = Branch(*(inside(body, random.choice((0, 0.5))) for body in (node.then, node.orelse)))
            made.append(node)
        return tuple(made)

    trace = random_trace(seed)
    body: list[Node] = []
    for k, node in enumerate(inside(trace.body, random.choice((0.1, 0.4)))):
        body += [Barrier(("shared",), possible=k), node]
    return Trace(tuple(body))


def planned(seed: int) -> tuple[Trace, Plan, tuple[int, ...]] | None:
    trace = with_barriers(seed)
    try:
        _, problem = block_problem(trace, POOL)
    except BadTrace:
        return None
    made = greedy_by_size(problem)
    return trace, made, needed_barriers(trace, made)


def test_threads_read_in_the_arena_what_they_read_in_storage_of_their_own():
    shared = inserted = 0
    for seed in range(250):
        made = planned(seed)
        if made is None:
            continue
        trace, layout, needed = made
        check_plan(as_planned(trace, layout, needed))
        assert (seed, disagreement(trace, layout, "shared", needed)) == (seed, None)
        shared += layout.size() < sum(buffer.size for buffer in layout.problem.buffers)
        inserted += bool(needed)
    assert shared > 60  # otherwise this test would not say much
    assert inserted > 25


def test_no_inserted_barrier_can_be_left_out():
    dropped = 0
    for seed in range(120):
        made = planned(seed)
        for k in made[2] if made else ():
            trace, layout, needed = made
            with pytest.raises(BadPlan):
                check_plan(as_planned(trace, layout, set(needed) - {k}))
            dropped += 1
    assert dropped > 10


def changed(change: Callable[[Node], tuple[Node, ...]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Intervals are found in another program than the one that runs."""

    def rewritten(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop):
                node = replace(node, body=rewritten(node.body))
            elif isinstance(node, Branch):
                node = Branch(rewritten(node.then), rewritten(node.orelse))
            out.extend(change(node))
        return tuple(out)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        right = barriers._meetings
        monkeypatch.setattr(
            barriers, "_meetings", lambda trace, *rest: right(replace(trace, body=rewritten(trace.body)), *rest)
        )

    return patch


def once(node: Node) -> tuple[Node, ...]:
    """The body runs once, or not at all."""
    return (Branch((), node.body),) if isinstance(node, Loop) else (node,)


def everywhere(node: Node) -> tuple[Node, ...]:
    return (replace(node, scopes=("shared",)),) if isinstance(node, Barrier) else (node,)


def apart(node: Node) -> tuple[Node, ...]:
    return (Branch((SYNC, *node.then), (SYNC, *node.orelse)),) if isinstance(node, Branch) else (node,)


WRONG: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a barrier is not asked for": lambda patch: patch.setattr(barriers, "_meetings", lambda *_: ()),
    "a round of a loop does not meet the next one": changed(once),
    "every loop runs": changed(lambda n: (replace(n, at_least_once=True),) if isinstance(n, Loop) else (n,)),
    "a barrier in a branch holds for what is outside": changed(
        lambda n: (*n.then, *n.orelse) if isinstance(n, Branch) else (n,)
    ),
    "a barrier in a loop holds for what is outside": changed(lambda n: n.body if isinstance(n, Loop) else (n,)),
    "the bodies of a branch never meet": changed(apart),
    "every barrier orders every memory": changed(everywhere),
    "possible barriers cost nothing and need not be put there": lambda patch: patch.setattr(
        barriers, "needed_barriers", lambda *_: ()
    ),
}


def alloc(name: str) -> Alloc:
    return Alloc(name, 4, scope="shared", fresh=True)


AB = (alloc("a"), alloc("b"))
A, B = Step("a", (), ("a",)), Step("b", (), ("b",))
READ_A, READ_B = Step("read a", ("a",)), Step("read b", ("b",))
#: Programs that random ones rarely have in them.
DIRECTED = (
    Trace((*AB, A, READ_A, Loop((SYNC,)), B, READ_B)),
    Trace((Loop((*AB, A, READ_A, SYNC, B, READ_B), at_least_once=True),)),
    Trace((*AB, Branch((A, READ_A), (B, READ_B)))),
    Trace((*AB, A, READ_A, Barrier(("warp",)), B, READ_B)),
    Trace((*AB, A, READ_A, Branch((SYNC,), ()), B, READ_B)),
)


@pytest.mark.parametrize("rule", sorted(WRONG))
def test_a_broken_rule_of_intervals_is_seen_in_what_threads_read(rule, monkeypatch):
    WRONG[rule](monkeypatch)
    for trace in (*DIRECTED, *map(with_barriers, range(400))):
        try:
            _, problem = barriers.block_problem(trace, POOL)
        except BadTrace:
            continue
        layout = greedy_by_size(problem)
        if disagreement(trace, layout, "shared", barriers.needed_barriers(trace, layout)):
            return
    pytest.fail(f"no program shows that this is wrong: {rule}")


def problem_of(*body: Node) -> Problem:
    return block_problem(Trace(body), POOL)[1]


PAIR = frozenset({(0, 1)})


@pytest.mark.parametrize(
    ("body", "separate"),
    [
        ((A, B), PAIR),
        ((A, SYNC, B), frozenset()),
        ((A, Loop((SYNC,)), B), PAIR),
        ((A, Loop((SYNC,), at_least_once=True), B), frozenset()),
        ((A, Branch((SYNC,), ()), B), PAIR),
        ((A, Branch((SYNC,), (SYNC,)), B), frozenset()),
        ((Branch((A,), (B,)),), PAIR),
        ((A, Barrier(("warp",)), B), PAIR),
        ((A, Barrier(("shared.dyn",)), B), PAIR),
        ((Loop((A, SYNC), at_least_once=True), B), frozenset()),
        ((Loop((A, SYNC)), B), frozenset()),
        ((Branch((A, SYNC), (B,)),), frozenset()),
        ((Loop((SYNC, A)), B), PAIR),
    ],
)
def test_what_a_barrier_separates(body, separate):
    assert problem_of(*AB, *body).separate == separate


def test_in_a_loop_the_last_interval_meets_the_first_of_the_next_round():
    assert problem_of(Loop((*AB, A, SYNC, B))).separate == PAIR
    assert problem_of(Loop((*AB, A, SYNC, B, SYNC))).separate == frozenset()


def test_one_barrier_serves_all_pairs_that_need_one_between_the_same_statements():
    body: list[Node] = [alloc(name) for name in "abcd"]
    for k, names in enumerate(("a", "b", "cd")):
        body += [Barrier(("shared",), possible=k), Step(names, (), tuple(names))]
    trace = Trace(tuple(body))
    layout = plan(block_problem(trace, POOL)[1])
    assert layout.size() == 8
    assert needed_barriers(trace, layout) == (2,)


def test_a_plan_that_needs_no_barrier_is_preferred():
    body = [alloc("a"), alloc("b"), alloc("c"), Barrier(("shared",), possible=0), A, SYNC]
    body += [Barrier(("shared",), possible=1), Step("bc", (), ("b",)), Barrier(("shared",), possible=2)]
    body += [Step("c", (), ("c",))]
    trace = Trace(tuple(body))
    layout = plan(replace(block_problem(trace, POOL)[1], pools=(Pool("shared", 8, scopes=("shared",)),)))
    assert layout.size() in (4, 8)
    assert len(needed_barriers(trace, layout)) == (layout.size() == 4)


def test_barriers_are_taken_out_at_any_depth():
    loop = Loop((A, SYNC, Branch((SYNC,), (B,))), at_least_once=True, name="i", extent=3)
    assert without_barriers((SYNC, loop)) == (replace(loop, body=(A, Branch((), (B,)))),)
