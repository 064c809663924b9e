"""Runs a trace with several threads in one block of memory: the judge of what barriers allow.

Each thread owns some cells of every buffer, dealt out differently from buffer to buffer, and reads and writes only
those. So in storage of its own each buffer holds what its thread wrote, whatever the others do; in an arena, a thread
that runs ahead writes over cells that a slow one still needs, unless a barrier holds it back.

Threads are taken in random turns, often one for a long time. Control flow with a barrier in it is the same for all;
other loops and branches differ from thread to thread.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from random import Random

from tvm_memplan.planning.model import Plan
from tvm_memplan.planning.trace import Alias, Alloc, Barrier, Branch, Loop, Node, Step, Trace

THREADS = 3
Path = tuple[int, ...]


def synchronised(nodes: tuple[Node, ...]) -> bool:
    """Whether there is any barrier in `nodes`."""
    return any(
        isinstance(node, Barrier)
        or (isinstance(node, Loop) and synchronised(node.body))
        or (isinstance(node, Branch) and synchronised(node.then + node.orelse))
        for node in nodes
    )


@dataclass
class Block:
    """The memory of all threads: an arena, or, without a plan, storage of its own for every cell."""

    plan: Plan | None
    arena: dict[int, str] = field(default_factory=dict)
    own: dict[tuple[Path, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.offsets = (
            {b.name: p.offset for b, p in zip(self.plan.problem.buffers, self.plan.placements)} if self.plan else {}
        )

    def read(self, alloc: Alloc, path: Path, cell: int) -> str | None:
        if self.plan is None:
            return self.own.get((path, cell))
        return self.arena.get(self.offsets[alloc.buffer] + cell)

    def write(self, alloc: Alloc, path: Path, cell: int, value: str | None) -> None:
        if self.plan is None:
            self.own[path, cell] = value
        elif value is not None:  # fresh storage promises nothing, and does nothing
            self.arena[self.offsets[alloc.buffer] + cell] = value


class Thread:
    """One thread; `seen` has what it read. `run` stops after every access, and says where it waits."""

    def __init__(self, number: int, block: Block, scope: str, inserted: Container[int], seed: int) -> None:
        self.number, self.block, self.scope, self.inserted, self.seed = number, block, scope, inserted, seed
        self.seen: list[tuple[str, str | None]] = []
        self.count = 0

    def cells(self, alloc: Alloc) -> list[int]:
        turn = sum(map(ord, alloc.buffer))
        return [cell for cell in range(alloc.size) if (cell + turn) % THREADS == self.number]

    def chosen(self, nodes: tuple[Node, ...], path: Path, rounds: Path) -> Random:
        return Random(repr((self.seed, path, rounds, None if synchronised(nodes) else self.number)))

    def run(
        self, nodes: tuple[Node, ...], path: Path, rounds: Path, names: dict[str, tuple[Alloc, Path]]
    ) -> Iterator[bool]:
        """Yields True at a barrier."""
        for k, node in enumerate(nodes):
            here = (*path, k)
            if isinstance(node, Alloc):
                names[node.buffer] = node, here
                for cell in self.cells(node) if node.fresh else ():
                    self.block.write(node, here, cell, None)
            elif isinstance(node, Alias):
                names[node.name] = names[node.of]
            elif isinstance(node, Barrier):
                if self.scope in node.scopes and (node.possible is None or node.possible in self.inserted):
                    yield True
            elif isinstance(node, Step):
                for name in node.reads:
                    alloc, place = names[name]
                    for cell in self.cells(alloc):
                        self.seen.append((f"{node.operator} reads {alloc.buffer}", self.block.read(alloc, place, cell)))
                    yield False
                for name in node.writes:
                    alloc, place = names[name]
                    for cell in self.cells(alloc):
                        self.count += 1
                        self.block.write(alloc, place, cell, f"{self.number}.{self.count}")
                    yield False
            elif isinstance(node, Loop):
                for turn in range(self.chosen(node.body, here, rounds).randint(node.at_least_once, 2)):
                    yield from self.run(node.body, here, (*rounds, turn), dict(names))
            elif self.chosen(node.then + node.orelse, here, rounds).random() < 0.5:
                yield from self.run(node.then, (*here, 0), rounds, dict(names))
            else:
                yield from self.run(node.orelse, (*here, 1), rounds, dict(names))


def run(trace: Trace, plan: Plan | None, scope: str, inserted: Container[int], seed: int) -> list[Thread]:
    """All threads after a run; the turns they take depend on the seed, the paths do too, but not on the plan."""
    block, turns = Block(plan), Random(seed)
    threads = [Thread(number, block, scope, inserted, seed) for number in range(THREADS)]
    going = {thread: thread.run(trace.body, (), (), {}) for thread in threads}
    waiting: list[Thread] = []
    stay = turns.choice((0.0, 0.7, 1.0))
    last: Thread | None = None
    while going:
        ready = [thread for thread in going if thread not in waiting]
        if not ready:
            waiting = []
            continue
        if last not in ready or turns.random() > stay:
            last = turns.choice(ready)
        assert last is not None
        try:
            if next(going[last]):
                waiting.append(last)
        except StopIteration:
            del going[last]
    return threads


def disagreement(
    trace: Trace, plan: Plan, scope: str, inserted: Container[int] = (), seeds: range = range(12)
) -> str | None:
    """What a thread reads in the arena that it does not read in storage of its own, or None."""
    for seed in seeds:
        for alone, together in zip(run(trace, None, scope, inserted, seed), run(trace, plan, scope, inserted, seed)):
            assert len(alone.seen) == len(together.seen)
            for (what, expected), (_, actual) in zip(alone.seen, together.seen):
                if expected is not None and actual != expected:
                    return f"run {seed}, thread {alone.number}: {what}: {actual} instead of {expected}"
    return None
