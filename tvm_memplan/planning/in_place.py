"""In-place pairs: which output may take the bytes of a dying input, although both are alive for a while.

The output `d` may start at the very offset of the input `s` when, element by element, all that happens to `s` comes
before `d` is written there::

    for i:                      for i:                        for i:
        d[i] = s[i] + 1             d[i] = s[i] + s[7 - i]        for j:  d[i] = s[i] + 1

      yes: s[i] is read,          no: s[7 - i] is read in         no: in the second round of j, s[i] is d[i]
      then d[i] written           a later round, already d

This is decided from the `Elements` of the steps, for every access to `s` and every write to `d`. Either the two
never meet, or they touch the same element of the same type; the loops that both stand in never come back to an
element (the position is injective in them, by mixed radix: each coefficient is larger than all that the smaller ones
can add up to); and within one round the access to `s` comes first. A step reads before it writes. What is not known
to be so is no pair.

The criterion is the one of statement-wise array contraction ("storage equivalence" in optimising compilers): a location
can be reused when no dependence from the old value leaves the iteration that overwrites it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import gcd

from tvm_memplan.planning.liveness import Liveness
from tvm_memplan.planning.model import Buffer, Kind
from tvm_memplan.planning.trace import Alias, Alloc, Branch, Elements, Loop, Node, Step, Trace

# Whose bytes nobody may overwrite, and who has a value before anything is written.
_KEPT = (Kind.INPUT, Kind.WEIGHTS)


def in_place_pairs(trace: Trace, liveness: Liveness) -> frozenset[tuple[int, int]]:
    """Find the in-place pairs of a program.

    Parameters
    ----------
    trace : Trace
        The program; only steps with `Elements` can make pairs.
    liveness : Liveness
        Its live ranges.

    Returns
    -------
    frozenset of (int, int)
        Pairs ``(output, input)`` of indices into ``liveness.buffers``, as `Problem.in_place` takes them.
    """
    program = _Program()
    program.read(trace.body, ())
    fixed = {program.root(name) for name in (*trace.live_in, *trace.live_out)} | program.aliased
    return frozenset(
        (d, s)
        for d, s in _meeting(liveness.buffers)
        if liveness.buffers[s].name not in fixed
        and liveness.buffers[s].kind not in _KEPT
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


@dataclass(frozen=True)
class _Round:
    """One loop at one place of the trace; two loops of one name are two of these."""

    number: int
    name: str
    extent: int | None


@dataclass(frozen=True)
class _Access:
    """A step's access to a buffer; `elements` is None when it may touch all of it."""

    step: int
    write: bool
    loops: tuple[_Round, ...]
    elements: Elements | None


@dataclass
class _Program:
    """A trace by buffer: where it is allocated, and every access to it."""

    steps: int = 0
    rounds: int = 0
    homes: dict[str, list[tuple[_Round, ...]]] = field(default_factory=dict)
    accesses: dict[str, list[_Access]] = field(default_factory=dict)
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

    def read(self, nodes: Iterable[Node], loops: tuple[_Round, ...]) -> None:
        """Note everything in `nodes`, which stand in `loops`."""
        for node in nodes:
            if isinstance(node, Alloc):
                self.homes.setdefault(node.buffer, []).append(loops)
            elif isinstance(node, Alias):
                self.aliases[node.name] = node.of
            elif isinstance(node, Step):
                self._step(node, loops)
            elif isinstance(node, Loop):
                self.rounds += 1
                self.read(node.body, (*loops, _Round(self.rounds, node.name, node.extent)))
            elif isinstance(node, Branch):
                self.read(node.then, loops)
                self.read(node.orelse, loops)

    def _step(self, step: Step, loops: tuple[_Round, ...]) -> None:
        for names, write in ((step.reads, False), (step.writes, True)):
            for name in names:
                known: list[Elements | None] = [e for e in step.elements if e.buffer == name and e.write is write]
                for elements in known or [None]:
                    self.accesses.setdefault(name, []).append(_Access(self.steps, write, loops, elements))
        self.steps += 1

    def may_overwrite(self, young: Buffer, old: Buffer) -> bool:
        """Whether `young` may be written over `old`, element by element."""
        if len(self.homes[young.name]) != 1 or len(self.homes[old.name]) != 1:
            return False
        # Loops around both allocations bring fresh storage for both in each round: they are not looked at.
        around = set(self.homes[young.name][0]) & set(self.homes[old.name][0])
        (a,), (b,) = young.live_ranges, old.live_ranges
        together = range(max(a.start, b.start), min(a.stop, b.stop))
        inner = {
            loop
            for access in (*self.accesses.get(young.name, ()), *self.accesses.get(old.name, ()))
            if access.step in together
            for loop in access.loops
        } - around

        def near(name: str) -> list[_Access]:
            return [x for x in self.accesses.get(name, ()) if x.step in together or inner & set(x.loops)]

        writes = [access for access in near(young.name) if access.write]
        before = near(old.name)
        return bool(writes) and all(_precedes(x, w, around) for w in writes for x in before)


def _precedes(old: _Access, write: _Access, around: set[_Round]) -> bool:
    """Whether, element by element, `old` is over and done with before `write` comes, if it ever comes there."""
    one, two = old.elements, write.elements
    # Loops of one name at two places are two loops, whose rounds have nothing to do with each other.
    loops = {*old.loops, *write.loops}
    if one is None or two is None or len({loop.name for loop in loops}) < len(loops):
        return False
    if one.dtype != two.dtype or one.terms != two.terms:
        return False
    both = [loop for loop in old.loops if loop in write.loops and loop not in around]
    if _apart(one, two, both, around):
        return True
    in_order = old.step < write.step or (old.step == write.step and not old.write)
    same = (one.constant, one.width) == (two.constant, two.width)
    return in_order and same and _never_returns(dict(one.terms), both, one.width)


def _apart(one: Elements, two: Elements, both: list[_Round], around: set[_Round]) -> bool:
    """Whether two accesses with the same terms never touch a common element, in whatever rounds of the loops.

    The distance between the two is that of the constants plus a multiple of the greatest common divisor of the
    coefficients. Unrolled loops look like this.
    """
    terms = dict(one.terms)
    moving = {loop.name for loop in both}
    if any(name not in moving and name not in {loop.name for loop in around} for name in terms):
        return False
    step = gcd(*(terms.get(loop.name, 0) for loop in both if loop.extent is None or loop.extent > 1))
    distance = one.constant - two.constant
    if step == 0:
        return not -one.width < distance < two.width
    rest = distance % step
    return rest >= two.width and step - rest >= one.width


def _never_returns(terms: dict[str, int], loops: list[_Round], width: int) -> bool:
    """Whether different rounds of `loops` touch different elements, and only `loops` move the position."""
    steps = []
    for loop in loops:
        if loop.extent is None or not loop.name:
            return False
        if loop.extent > 1:
            steps.append((abs(terms.get(loop.name, 0)), loop.extent))
    reach = width - 1
    for coefficient, extent in sorted(steps):
        if coefficient <= reach:
            return False
        reach += coefficient * (extent - 1)
    return True
