"""In-place pairs: which output may take the bytes of a dying input, although both are alive for a while.

The output `d` may start at the very offset of the input `s` when, element by element, all that happens to `s` comes
before `d` is written there::

    for i:                      for i:                        for i:
        d[i] = s[i] + 1             d[i] = s[i] + s[7 - i]        for j:  d[i] = s[i] + 1

      yes: s[i] is read,          no: s[7 - i] is read in         no: in the second round of j, s[i] is d[i]
      then d[i] written           a later round, already d

    for i:  t[i] = s[i]         for i:                        parallel for i:
    for i:  d[i] = s[i + 1]       d[i] = s[i + 1]               d[i] = s[i + 1]

      yes: d[i] takes the         yes: s[i + 1] is read a       no: a worker that runs ahead
      place of what was read      round before it is d[i + 1]   has made it d[i + 1] by then

This is decided from the `Elements` of the steps: *every access to `s`, at every element, precedes every write to `d`
at that element* (`tvm_memplan.planning.lifetimes.dependence` says how that is proved). A step reads before it writes.
What is not known to be so is no pair.

Why that is enough. Take the bytes that both have. Until the first write of `d` to an element nothing but `s` is there,
so whatever is done with `s` sees what it saw when it was alone; and by then all has been done. From there on only `d`
is written there, so whoever reads `d` sees it as it was when `d` was alone, if it was written before; and what was
not written before has no value that a program could rely on. Two things must hold for this, and are asked for: `s`
is needed neither before the first step nor after the last, and its bytes are not anybody's input or weights, unless
they were given away; and all accesses are known: a name that stands for `d` or `s` and is not looked through makes no
pair. Loops around both allocations need no proof: each of their rounds brings fresh storage for both.

Which pairs are asked about: those that are alive together for a while, the input dying first. Others share bytes
anyway, or never.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tvm_memplan.planning.lifetimes.dependence import Access, Round, precedes
from tvm_memplan.planning.lifetimes.liveness import Liveness
from tvm_memplan.planning.model import Buffer, Kind
from tvm_memplan.planning.trace import Alias, Alloc, Branch, Elements, Loop, Node, Step, Trace

# Whose bytes nobody may overwrite, and who has a value before anything is written.
_KEPT = (Kind.INPUT, Kind.WEIGHTS)


def in_place_pairs(
    trace: Trace, liveness: Liveness, donated: frozenset[str] = frozenset()
) -> frozenset[tuple[int, int]]:
    """Find the in-place pairs of a program.

    Parameters
    ----------
    trace : Trace
        The program; only steps with `Elements` can make pairs.
    liveness : Liveness
        Its live ranges.
    donated : frozenset of str
        Allocations that are live in and whose bytes were given away: they may be overwritten like any others. That
        they hold a value from the start changes nothing, since it is everything that is done with them before the
        first write of the output that counts.

    Returns
    -------
    frozenset of (int, int)
        Pairs ``(output, input)`` of indices into ``liveness.buffers``, as `Problem.in_place` takes them.
    """
    program = _Program()
    program.read(trace.body)
    fixed = {program.root(name) for name in (*(trace.live_in - donated), *trace.live_out)} | program.aliased
    return frozenset(
        (d, s)
        for d, s in _meeting(liveness.buffers)
        if liveness.buffers[s].name not in fixed
        and (liveness.buffers[s].kind not in _KEPT or liveness.buffers[s].name in donated)
        and liveness.buffers[d].name not in program.aliased
        and liveness.buffers[d].kind not in _KEPT
        and program.may_overwrite(liveness.buffers[d], liveness.buffers[s])
    )


def _meeting(buffers: tuple[Buffer, ...]) -> Iterator[tuple[int, int]]:
    """Pairs (younger, older) of buffers with one live range each that overlap, the older dying first."""
    single = [i for i, buffer in enumerate(buffers) if len(buffer.live_ranges) == 1]
    alive: list[int] = []
    for d in sorted(single, key=lambda i: buffers[i].live_ranges[0].start):
        (young,) = buffers[d].live_ranges
        alive = [s for s in alive if buffers[s].live_ranges[0].stop > young.start]
        for s in alive:
            (old,) = buffers[s].live_ranges
            if old.stop <= young.stop:
                yield d, s
            if old.start == young.start and young.stop <= old.stop:
                yield s, d
        alive.append(d)


@dataclass
class _Program:
    """A trace by buffer: where it is allocated, and every access to it."""

    steps: int = 0
    rounds: int = 0
    branches: int = 0
    homes: dict[str, list[tuple[Round, ...]]] = field(default_factory=dict)
    accesses: dict[str, list[Access]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def aliased(self) -> set[str]:
        """Buffers that have a second name, whose accesses are not looked through."""
        return {self.root(name) for name in self.aliases}

    def root(self, name: str) -> str:
        """The allocation that a name stands for."""
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def read(
        self, nodes: Iterable[Node], loops: tuple[Round, ...] = (), arms: tuple[tuple[int, bool], ...] = ()
    ) -> None:
        """Note everything in `nodes`, which stand in `loops` and in these arms of branches."""
        for node in nodes:
            if isinstance(node, Alloc):
                self.homes.setdefault(node.buffer, []).append(loops)
            elif isinstance(node, Alias):
                self.aliases[node.name] = node.of
            elif isinstance(node, Step):
                self._step(node, loops, arms)
            elif isinstance(node, Loop):
                self.rounds += 1
                self.read(node.body, (*loops, Round(self.rounds, node.name, node.extent, node.parallel)), arms)
            elif isinstance(node, Branch):
                self.branches += 1
                branch = self.branches
                self.read(node.then, loops, (*arms, (branch, True)))
                self.read(node.orelse, loops, (*arms, (branch, False)))

    def _step(self, step: Step, loops: tuple[Round, ...], arms: tuple[tuple[int, bool], ...]) -> None:
        for names, write in ((step.reads, False), (step.writes, True)):
            for name in names:
                known: list[Elements | None] = [e for e in step.elements if e.buffer == name and e.write is write]
                for elements in known or [None]:
                    self.accesses.setdefault(name, []).append(Access(self.steps, write, loops, elements, arms))
        self.steps += 1

    def may_overwrite(self, young: Buffer, old: Buffer) -> bool:
        """Whether `young` may be written over `old`, element by element."""
        if len(self.homes[young.name]) != 1 or len(self.homes[old.name]) != 1:
            return False
        # Loops around both allocations bring fresh storage for both in each round: they are not looked at.
        around = set(self.homes[young.name][0]) & set(self.homes[old.name][0])
        writes = [access for access in self.accesses.get(young.name, ()) if access.write]
        return bool(writes) and all(
            precedes(access, write, around) for write in writes for access in self.accesses.get(old.name, ())
        )
