"""Runs a trace on real bytes: the judge of live ranges.

Every write stores a fresh pattern, every read notes the bytes it sees. A program is run once with storage of its own
for every allocation, and once in an arena laid out by a plan; as both runs take the same turns, what a step reads must
be the same in both, wherever the first run reads something that was written before.

The arena run is as unkind as an operator may be: outputs are written before inputs are read, and the outputs of one
step must all be whole at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from tvm_memplan.planning.model import Plan, Problem
from tvm_memplan.planning.planners import greedy_by_size
from tvm_memplan.planning.trace import Alias, Alloc, Loop, Node, Step, Trace

Path = tuple[int, ...]


@dataclass(frozen=True)
class Storage:
    """An allocation at its place in the program, which is what makes it different from others of its name."""

    alloc: Alloc
    path: Path


class Own:
    """Every allocation has storage of its own, which keeps its bytes when a loop comes back to it."""

    def __init__(self) -> None:
        self.bytes: dict[Storage, bytes] = {}

    def read(self, storage: Storage) -> bytes | None:
        return self.bytes.get(storage)

    def write(self, storage: Storage, value: bytes) -> None:
        self.bytes[storage] = value


class Arena:
    """Everything lies in one poisoned arena."""

    def __init__(self, offsets: Mapping[str, int], size: int) -> None:
        self.offsets = offsets
        self.bytes = bytearray(b"\xa5" * size)

    def read(self, storage: Storage) -> bytes | None:
        start = self.offsets[storage.alloc.buffer]
        return bytes(self.bytes[start : start + storage.alloc.size])

    def write(self, storage: Storage, value: bytes) -> None:
        start = self.offsets[storage.alloc.buffer]
        self.bytes[start : start + storage.alloc.size] = value


class Run:
    """One run of a program; `seen` has what was read, None for what nobody had written."""

    def __init__(self, trace: Trace, memory: Own | Arena, seed: int) -> None:
        self.memory = memory
        self.random = Random(seed)
        self.seen: list[tuple[str, bytes | None]] = []
        self.patterns = 0
        self.known: dict[str, list[Storage]] = {}
        self._prepare(trace)
        self._body(trace.body, (), {}, top=True)
        for name in sorted(trace.live_out):
            self.seen.append((f"result {name}", memory.read(self.known[name][-1])))

    def _prepare(self, trace: Trace) -> None:
        # Inputs are there before anything runs: the first allocation of their name at the top.
        for name in sorted(trace.live_in):
            k = next(k for k, node in enumerate(trace.body) if isinstance(node, Alloc) and node.buffer == name)
            alloc = trace.body[k]
            assert isinstance(alloc, Alloc)
            self.memory.write(Storage(alloc, (k,)), self._pattern(alloc.size))

    def _body(self, nodes: tuple[Node, ...], path: Path, names: dict[str, Storage], top: bool = False) -> None:
        for k, node in enumerate(nodes):
            here = (*path, k)
            if isinstance(node, Alloc):
                names[node.buffer] = Storage(node, here)
                if top:
                    self.known.setdefault(node.buffer, []).append(names[node.buffer])
            elif isinstance(node, Alias):
                names[node.name] = names[node.of]
            elif isinstance(node, Step):
                self._step(node, names)
            elif isinstance(node, Loop):
                for _ in range(self.random.randint(1 if node.at_least_once else 0, 3)):
                    self._body(node.body, here, dict(names))
            elif self.random.random() < 0.5:
                self._body(node.then, (*here, 0), dict(names))
            else:
                self._body(node.orelse, (*here, 1), dict(names))

    def _step(self, step: Step, names: Mapping[str, Storage]) -> None:
        reads = {names[name] for name in step.reads}
        writes = list(dict.fromkeys(names[name] for name in step.writes))
        got = {storage: self.memory.read(storage) for storage in reads if storage in writes}
        values = {storage: self._pattern(storage.alloc.size) for storage in writes}
        for storage, value in values.items():
            self.memory.write(storage, value)
        got.update((storage, self.memory.read(storage)) for storage in reads - set(writes))
        for storage in sorted(got, key=lambda storage: storage.path):
            self.seen.append((f"{step.operator} reads {storage.alloc.buffer}", got[storage]))
        for storage in writes:
            self.seen.append((f"{step.operator} wrote {storage.alloc.buffer}", self.memory.read(storage)))

    def _pattern(self, size: int) -> bytes:
        self.patterns += 1
        return blake2b(str(self.patterns).encode(), digest_size=size).digest()


def disagreement(trace: Trace, plan: Plan, seeds: range = range(6)) -> str | None:
    """What a step sees in the arena that it does not see in storage of its own, or None. Tries several runs."""
    offsets = {buffer.name: place.offset for buffer, place in zip(plan.problem.buffers, plan.placements)}
    for seed in seeds:
        own, arena = Run(trace, Own(), seed), Run(trace, Arena(offsets, plan.size()), seed)
        assert len(own.seen) == len(arena.seen)
        for (what, expected), (_, actual) in zip(own.seen, arena.seen):
            if expected is not None and actual != expected:
                return f"run {seed}: {what}: {actual!r} instead of {expected!r}"
    return None


def tight(problem: Problem) -> Plan:
    """A plan that shares as much as it is told it may; not judged, as the judge knows no more than the problem."""
    return greedy_by_size(problem)
