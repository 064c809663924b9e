"""Which buffers threads may reuse from each other: sharing that only a barrier makes right.

Threads of a block run one program at different speeds, and only a barrier holds the fast ones back. Two steps *meet*
when a path leads from one to the other without a barrier on it: around loops, past loops that do not run, through
either body of a branch. Then one thread may be at the first while another is at the second already::

    a                       a meets c and, when the loop does not run, e
    loop: c
          -- barrier --
          d                 d meets the c of the next round, and e behind the loop
    e
    -- barrier --
    f                       f meets nobody

A loop or branch with a barrier in it is taken in the same way by all threads, or they would not meet at the barrier;
others need not be, so the two bodies of a branch without one meet each other.

Two buffers may share bytes when their live ranges in the order of the program are apart *and* no step that touches one
meets a step that touches the other: then every access to one comes before or after every access to the other, in every
run, as the program has it.

Some barriers are only *possible*: boundaries between statements that stand in no loop and no branch. A pair that is
apart once all possible barriers are there costs a barrier, and is a penalty of the problem. For a finished plan, the
fewest that separate all pairs which do share are found by stabbing: accesses in top statements ``u < v`` need
one of the boundaries ``u + 1 .. v``; the interval that ends first gets a barrier at its end, and so on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tvm_memplan.planning.lifetimes.liveness import Liveness, live_ranges
from tvm_memplan.planning.model import Plan, Pool, Problem
from tvm_memplan.planning.trace import Alias, Barrier, Branch, Loop, Node, Step, Trace

_ALL = range(10**9)
_NONE: frozenset[int] = frozenset()


def block_problem(trace: Trace, pool: Pool, inserted: Container[int] | None = None) -> tuple[Liveness, Problem]:
    """Return what is to be planned for a trace that the threads of a block run together.

    Parameters
    ----------
    trace : Trace
        The program of one thread, with its barriers.
    pool : Pool
        Where everything goes; its scopes are the memory that barriers have to order.
    inserted : container of int or None
        The possible barriers that are there. None leaves it open: sharing that needs one is then a penalty.

    Returns
    -------
    (Liveness, Problem)
        The live ranges are those of the program in its order; what is not ordered between threads is in `separate`.
    """
    liveness = live_ranges(trace)
    names = [buffer.name for buffer in liveness.buffers]
    now = _met(trace, pool.scopes, _NONE if inserted is None else inserted)
    least = now if inserted is not None else _met(trace, pool.scopes, _ALL)
    separate, penalties = set(), set()
    for i, one in enumerate(names):
        for j in range(i + 1, len(names)):
            other = names[j]
            if liveness.buffers[i].alive_with(liveness.buffers[j]):
                continue
            if frozenset((one, other)) in least:
                separate.add((i, j))
            elif frozenset((one, other)) in now:
                penalties.add((i, j, 1))
    problem = Problem(liveness.buffers, (pool,), separate=frozenset(separate), penalties=frozenset(penalties))
    return liveness, problem


def needed_barriers(trace: Trace, plan: Plan) -> tuple[int, ...]:
    """Return the fewest possible barriers that make `plan`, made for `block_problem` of `trace`, right; ascending."""
    (pool,) = plan.problem.pools
    spans: set[tuple[int, int]] = set()
    costly = {(i, j) for i, j, _ in plan.problem.penalties if plan.share(i, j)}
    number = {buffer.name: i for i, buffer in enumerate(plan.problem.buffers)}
    for one, other in _meetings(trace, pool.scopes, _NONE):
        pairs = {tuple(sorted((number[a], number[b]))) for a in one.buffers for b in other.buffers}
        if pairs & costly:
            spans.add((min(one.top, other.top), max(one.top, other.top)))
    chosen: list[int] = []
    for u, v in sorted(spans, key=lambda span: span[1]):
        if not chosen or chosen[-1] <= u:
            chosen.append(v)
    return tuple(chosen)


def as_planned(trace: Trace, plan: Plan, inserted: Iterable[int]) -> Plan:
    """`plan` as a plan of the problem in which just the `inserted` of the possible barriers are there."""
    (pool,) = plan.problem.pools
    return replace(plan, problem=block_problem(trace, pool, frozenset(inserted))[1])


def without_barriers(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The same nodes without any barrier, for bodies in which it cannot be told that every thread gets to them."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            kept.append(replace(node, body=without_barriers(node.body)))
        elif isinstance(node, Branch):
            kept.append(Branch(without_barriers(node.then), without_barriers(node.orelse)))
        elif not isinstance(node, Barrier):
            kept.append(node)
    return tuple(kept)


def _met(trace: Trace, scopes: Sequence[str], inserted: Container[int]) -> set[frozenset[str]]:
    """The pairs of buffers that are touched by steps which meet."""
    found: set[frozenset[str]] = set()
    seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    for one, other in _meetings(trace, scopes, inserted):
        if (one.buffers, other.buffers) not in seen:
            seen.add((one.buffers, other.buffers))
            found.update(frozenset((a, b)) for a in one.buffers for b in other.buffers)
    return found


def _meetings(trace: Trace, scopes: Sequence[str], inserted: Container[int]) -> Iterable[tuple[_Touch, _Touch]]:
    """All pairs of steps that meet."""
    walk = _Walk(scopes, inserted)
    walk.body(trace.body, set())
    return ((step, walk.steps[k]) for step in walk.steps for k in step.meets)


@dataclass
class _Touch:
    """A step: what it touches, the top statement that it is in, and the steps that it meets on the way to it."""

    buffers: tuple[str, ...]
    top: int
    meets: set[int] = field(default_factory=set)


@dataclass
class _Walk:
    """Follows through a trace which steps lead to a place without a barrier in between."""

    scopes: Sequence[str]
    inserted: Container[int]
    steps: list[_Touch] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    at: int = 0
    top: int = 0

    def body(self, nodes: Iterable[Node], coming: set[int]) -> set[int]:
        """Note the steps of `nodes`, to which the steps `coming` lead; return those that lead to their end."""
        for node in nodes:
            if isinstance(node, Step):
                coming = self._step(node, coming)
            elif isinstance(node, Barrier):
                if self._holds(node):
                    coming = set()
            elif isinstance(node, Loop):
                first = self.at
                once = self.body(node.body, coming)
                # What leads to the end leads to the start of the next round, as far as the first barrier in there.
                self.at = first
                again = self.body(node.body, coming | once)
                coming = again if node.at_least_once else coming | again
            elif isinstance(node, Branch):
                then = self.body(node.then, coming)
                # Some threads may be in one body while others are in the other, unless they meet at a barrier there.
                uniform = self._synchronised((*node.then, *node.orelse))
                coming = then | self.body(node.orelse, coming if uniform else then)
            elif isinstance(node, Alias):
                self.aliases[node.name] = self.aliases.get(node.of, node.of)
        return coming

    def _step(self, node: Step, coming: set[int]) -> set[int]:
        if self.at == len(self.steps):
            names = dict.fromkeys(self.aliases.get(name, name) for name in (*node.reads, *node.writes))
            self.steps.append(_Touch(tuple(names), self.top))
        self.steps[self.at].meets |= coming
        self.at += 1
        return coming | {self.at - 1}

    def _holds(self, barrier: Barrier) -> bool:
        if barrier.possible is not None:
            self.top = barrier.possible
            if barrier.possible not in self.inserted:
                return False
        return any(scope in barrier.scopes for scope in self.scopes)

    def _synchronised(self, nodes: Iterable[Node]) -> bool:
        return any(
            (isinstance(node, Barrier) and self._holds(node))
            or (isinstance(node, Loop) and self._synchronised(node.body))
            or (isinstance(node, Branch) and self._synchronised((*node.then, *node.orelse)))
            for node in nodes
        )
