"""From a trace to live ranges: when does each buffer hold bytes that somebody may still need?

Every `Step` is one unit of time, numbered in reading order; a loop or branch spans the steps of its bodies::

    Alloc a                       step   0    1    2    3
    Step 0   writes a                    a
    Loop ----+ Alloc b                   |
      Step 1 | reads a, writes b         a    ab            `a` comes from outside the loop: a later iteration
      Step 2 | reads b                   |    ab   ab       reads it again, so it is alive up to the loop's end
    ---------+                           |         |
    Step 3                                         (3: none)

The rules, for one allocation and its touches (reads and writes of it or of any alias):

1. A touch at step ``s`` covers ``[s, s + 1)``, reads and writes alike: births come before deaths, and a value
   nobody reads still lives through the step that writes it. The live range is the hull of what is covered.
2. A touch inside loops that lie within the allocation's own body covers the whole outermost of those loops.
3. An allocation inside a loop lives within one iteration, unless some read of it may see what an earlier
   iteration left: a read that no write *dominates* since the allocation. Then its bytes travel around the loop,
   and around every loop outside it, since nothing there writes them either: it is alive through the outermost
   loop around the allocation. Writes dominate what follows them in their own body and in bodies nested below;
   a write under a `Branch` dominates what follows the branch only if the other body writes too, and a write under
   an inner `Loop` dominates what follows that loop only if the loop is known to run `at_least_once`. A `fresh`
   allocation counts as a write: what it held before is lost.
4. What is live in or live out is alive from step 0, or to the last step, and counts as allocated outside every loop.

The two bodies of a branch are different steps, so their own buffers never meet.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field

from tvm_memplan.errors import BadTrace
from tvm_memplan.planning.model import Buffer, LiveRange
from tvm_memplan.planning.trace import Alias, Alloc, Barrier, Branch, Loop, Node, Step, Trace


@dataclass(frozen=True)
class Liveness:
    """When every buffer of a trace is alive.

    Parameters
    ----------
    buffers : tuple of Buffer
        In the order of their first allocation, with `live_ranges` filled in.
    steps : tuple of str
        The operator of every step; live ranges index into it.
    """

    buffers: tuple[Buffer, ...]
    steps: tuple[str, ...]


def live_ranges(trace: Trace) -> Liveness:
    """Compute the live ranges of everything a trace allocates.

    Parameters
    ----------
    trace : Trace
        The program. Names are scoped: an allocation can be used in its own body after its place, and in bodies
        nested there; an alias for as long as what it names.

    Returns
    -------
    Liveness
        One buffer per allocated name, live ranges in steps. A name that is allocated at several places has a range
        per place (merged where they touch). A buffer that nothing touches gets the step at its place, or the last.

    Raises
    ------
    BadTrace
        A name is used where it is not allocated, stands for two different allocations, is allocated at several
        places that disagree about size, alignment or scope, or is allocated again while it is still alive.
    """
    walk = _Walk()
    walk.body(trace.body, {}, [], set())
    for name in sorted(trace.live_in | trace.live_out):
        places = walk.everywhere(name)
        replaced = {place.before for place in places}
        for place in places:
            place.live_in |= name in trace.live_in and place.before is None
            place.live_out |= name in trace.live_out and place not in replaced
    by_name: dict[str, list[_Place]] = {}
    for place in walk.places:
        by_name.setdefault(place.alloc.buffer, []).append(place)
    total = max(len(walk.steps), 1)
    return Liveness(tuple(_buffer(places, total) for places in by_name.values()), tuple(walk.steps))


@dataclass(eq=False)
class _Span:
    """The steps of a loop, known once its body has been read."""

    start: int
    stop: int = -1


@dataclass(eq=False)
class _Place:
    """One `Alloc` of the trace, with all that happens to it; `before` is the one it replaces in the same body."""

    alloc: Alloc
    at: int
    loops: tuple[_Span, ...]
    before: _Place | None = None
    touches: list[tuple[int, tuple[_Span, ...]]] = field(default_factory=list)
    carried: bool = False
    live_in: bool = False
    live_out: bool = False

    def range(self, total: int) -> LiveRange:
        """The hull of everything the rules say it is alive in, within ``[0, total)``."""
        own = 0 if self.live_in or self.live_out else len(self.loops)
        covered = [(loops[own].start, loops[own].stop) if len(loops) > own else (s, s + 1) for s, loops in self.touches]
        if self.carried and own:
            covered.append((self.loops[0].start, self.loops[0].stop))
        if not covered:
            at = min(self.at, total - 1)
            covered.append((at, at + 1))
        start = 0 if self.live_in else min(start for start, _ in covered)
        return LiveRange(start, total if self.live_out else max(stop for _, stop in covered))


class _Walk:
    """Reads a trace once, in order: numbers the steps, binds names to places, and notes every touch."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.places: list[_Place] = []
        self.roots: dict[str, str] = {}

    def body(
        self, nodes: Iterable[Node], names: MutableMapping[str, _Place], loops: list[_Span], written: set[_Place]
    ) -> None:
        """Read one body; `names` and `written` (what is written for sure since its allocation) are updated."""
        own: dict[str, _Place] = {}
        for node in nodes:
            if isinstance(node, Alloc):
                self._bind(node.buffer, node.buffer, "allocation")
                place = _Place(node, len(self.steps), tuple(loops), before=own.get(node.buffer))
                own[node.buffer] = place
                self.places.append(place)
                names[node.buffer] = place
                if node.fresh:
                    written.add(place)
            elif isinstance(node, Alias):
                place = self._find(names, node.of, f"alias {node.name!r}")
                self._bind(node.name, place.alloc.buffer, "alias")
                names[node.name] = place
            elif isinstance(node, Step):
                self._step(node, names, tuple(loops), written)
            elif isinstance(node, Loop):
                span = _Span(len(self.steps))
                # What is written in rounds that may not happen is forgotten again.
                self._inner(node.body, names, [*loops, span], written if node.at_least_once else set(written))
                span.stop = len(self.steps)
            elif isinstance(node, Branch):
                then, orelse = set(written), set(written)
                self._inner(node.then, names, loops, then)
                self._inner(node.orelse, names, loops, orelse)
                written |= then & orelse
            elif isinstance(node, Barrier):
                pass  # orders threads; when something is alive in the order of the program does not depend on it
            else:
                raise BadTrace(f"{node!r} is not a part of a trace")

    def everywhere(self, name: str) -> list[_Place]:
        """Every place of the allocation that `name` stands for."""
        if name not in self.roots:
            raise BadTrace(f"{name!r} is live in or live out, but is never allocated")
        return [place for place in self.places if place.alloc.buffer == self.roots[name]]

    def _inner(
        self, nodes: Iterable[Node], names: MutableMapping[str, _Place], loops: list[_Span], written: set[_Place]
    ) -> None:
        # What is bound inside is kept apart: copying all names for each of thousands of loops would take its time.
        inside = ChainMap[str, _Place]({}, names)
        self.body(nodes, inside, loops, written)
        bound = {name: place for name, place in inside.maps[0].items() if name not in names}
        # Storage ends with its body; an alias made in there of something outer goes on.
        visible = set(names.values()) if bound else set()
        names.update((name, place) for name, place in bound.items() if place in visible)

    def _step(self, step: Step, names: Mapping[str, _Place], loops: tuple[_Span, ...], written: set[_Place]) -> None:
        now = len(self.steps)
        self.steps.append(step.operator)
        reads = [self._find(names, name, f"step {now} ({step.operator})") for name in step.reads]
        writes = [self._find(names, name, f"step {now} ({step.operator})") for name in step.writes]
        for place in reads:
            place.carried |= place not in written
        for place in (*reads, *writes):
            place.touches.append((now, loops))
        written.update(writes)

    def _bind(self, name: str, root: str, what: str) -> None:
        known = self.roots.setdefault(name, root)
        if known != root:
            raise BadTrace(f"{what} {name!r} of {root!r}: the name already stands for {known!r}")

    @staticmethod
    def _find(names: Mapping[str, _Place], name: str, user: str) -> _Place:
        if name not in names:
            raise BadTrace(f"{user} uses {name!r}, which is not allocated there")
        return names[name]


def _buffer(places: list[_Place], total: int) -> Buffer:
    first = places[0].alloc
    for place in places[1:]:
        for what in ("size", "alignment", "scope"):
            before, after = getattr(first, what), getattr(place.alloc, what)
            if before != after:
                raise BadTrace(f"{first.buffer!r} is allocated with {what} {before} and again with {after}")
    # A place that nothing touches holds nothing; it only counts when there is no other.
    used = [place for place in places if place.touches or place.live_in or place.live_out] or places[:1]
    merged: list[LiveRange] = []
    for span in sorted(place.range(total) for place in used):
        if merged and span.start < merged[-1].stop:
            # Both would lie at one offset, and the second would overwrite the first.
            raise BadTrace(
                f"{first.buffer!r} is allocated again while it is alive: steps [{merged[-1].start}, "
                f"{merged[-1].stop}) and [{span.start}, {span.stop})"
            )
        if merged and span.start == merged[-1].stop:
            span = LiveRange(merged.pop().start, span.stop)
        merged.append(span)
    return Buffer(
        first.buffer, first.size, tuple(merged), first.alignment, first.scope, first.kind, operator=first.operator
    )
