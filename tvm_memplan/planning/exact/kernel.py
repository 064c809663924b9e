"""The exact search: does everything fit below a given height? Integers in, integers out.

It builds *canonical* packings from below: buffers are placed in ascending order of offset (and of rank among equals),
each as low as those that are placed allow, its ``low``. Any packing becomes canonical by letting everything drop::

    offset
      ^        :  d   :          a, b are placed. low(c) = 0, low(d) = top of b, low(e) = top of a.
      |   +----+------+  e       Next may be c, e or d, in this order. To take e first *passes over* c: from then on
      |   |    | b    |----      somebody who conflicts with c must come to lie below c, else c could have dropped
      |   | a  +------+    :     and the packing is found elsewhere.
      |   |    |  c?  :    :
      +---+----+------+----+--> step

**Invariant**: among all packings within the height, the one with the smallest sum of offsets (the lower rank first
among equal buffers) is never cut off. Hence these cuts are safe, and an empty search is a proof:

- *full*: in some section, the lowest possible start and all that is still to be placed exceed the height.
- *gap*: a buffer may not start where another one could have ended.
- *in nobody's way*: a buffer that lifts no other is placed at once, without alternatives.
- *stuck*: a buffer that was passed over has nobody left who could lie below it. If there is somebody, the
  earliest such end is a better ``low`` for *full*.
- *twins*: of equal buffers, the one of lower rank lies lower.

When a buffer is placed, sections may fall apart into parts that have nothing to do with each other any more. Each is
searched on its own, and when one has no packing, the others need not be tried again: the search goes back to the
choice that split them. Sections, splitting, *full* (without the better ``low``), *gap* and a weaker form of
*in nobody's way* are ideas of MiniMalloc (Moffitt, ASPLOS 2023).

The functions keep their whole state in arrays, so that a search can be interrupted and resumed. They are plain
Python over sequences of integers, exact for integers of any size; numba compiles them for large problems.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from functools import cache
from typing import Any, NamedTuple

from tvm_memplan.planning.compiling import compiled_together

Ints = Sequence[int]
Array = MutableSequence[int]

FOUND, NONE, UNDECIDED = 1, 0, -1

#: Where `State.tally` keeps what: depth of the search, lengths of the stacks, a stamp, and the work done so far.
DEPTH, PARTS, LISTED, TODO, LIFTS, FLOORS, STAMP, WORK = range(8)

#: Larger than any offset, and still half of what int64 holds.
NEVER = 1 << 61


class Tables(NamedTuple):
    """The problem; ``x_ptr`` splits lists: ``i`` owns ``x[x_ptr[i]]`` to ``x[x_ptr[i + 1] - 1]``.

    Buffers: size, align, pin (-1 for none), near (conflicts), sect (its sections), first and last section,
    twin (the equal buffer of next lower rank, or -1). Sections: member.
    """

    size: Ints
    align: Ints
    pin: Ints
    near_ptr: Ints
    near: Ints
    sect_ptr: Ints
    sect: Ints
    member_ptr: Ints
    member: Ints
    first: Ints
    last: Ints
    twin: Ints


class State(NamedTuple):
    """Where the search is.

    - buffers: ``low``, the offset it has or the lowest it can have; ``placed``
    - sections: ``floor``, the lowest ``low`` of those to place; ``total``, their sizes; ``cuts``, how many of them
      reach across to the next section
    - trails of old values: ``lift_who``, ``lift_low``, ``floor_who``, ``floor_old``
    - depth by depth: ``part`` to work on, ``choice`` made, its offset ``at`` and its ``rank`` in the part, how many it
      ``lifted``, the ``parent`` to go back to, the ``rest`` of what is to do after this part, and how long the stacks
      were (``kept_...``)
    - parts: ``part_from`` and ``part_size`` say which of ``listed`` are its buffers, by rank; ``part_first``,
      ``part_last`` are its sections
    - what is left to do, as linked lists: ``todo_part``, ``todo_next``, ``todo_depth`` (who split it off)
    - scratch: ``seen``, ``touched``, ``least``, ``passed``
    """

    low: Array
    placed: Array
    floor: Array
    total: Array
    cuts: Array
    lift_who: Array
    lift_low: Array
    floor_who: Array
    floor_old: Array
    part: Array
    choice: Array
    at: Array
    rank: Array
    lifted: Array
    parent: Array
    rest: Array
    kept_parts: Array
    kept_listed: Array
    kept_todo: Array
    kept_lifts: Array
    kept_floors: Array
    part_from: Array
    part_size: Array
    part_first: Array
    part_last: Array
    listed: Array
    todo_part: Array
    todo_next: Array
    todo_depth: Array
    seen: Array
    touched: Array
    least: Array
    passed: Array
    tally: Array


def search(t: Tables, s: State, height: int, limit: int, crowded: bool) -> int:
    """Search, or go on searching, for a packing within `height`.

    Parameters
    ----------
    t, s
        The problem, and a state that `tvm_memplan.planning.exact.attempts` prepared or an earlier call left.
    height : int
        Units; the same in every call on one state.
    limit : int
        Stop when the work (looks at a buffer, over all calls) exceeds this.
    crowded : bool
        Rank the buffers of a new part by how full their fullest section still is, instead of as numbered.

    Returns
    -------
    int
        FOUND (``s.low`` holds the offsets), NONE (there is no packing), or UNDECIDED (the limit was reached).
    """
    depth = s.tally[DEPTH]
    while s.tally[WORK] < limit:
        i = choose(t, s, depth, height)
        if i >= 0 and put(t, s, depth, i, height):
            split(t, s, depth, i, crowded)
            if s.rest[depth + 1] < 0:
                return FOUND
            depth += 1
            enter(s, depth)
            continue
        top = depth if i >= 0 else depth - 1
        back = depth if i >= 0 else s.parent[depth]
        while back >= 0:
            take_back(t, s, top, back)
            depth = back
            if s.lifted[depth]:
                break
            top = depth - 1
            back = s.parent[depth]
        if back < 0:
            return NONE
    s.tally[DEPTH] = depth
    return UNDECIDED


def choose(t: Tables, s: State, depth: int, height: int) -> int:
    """Return the next buffer to try, in order of (low, rank), or -1; note it with its offset and rank."""
    start = s.part_from[s.part[depth]]
    length = s.part_size[s.part[depth]]
    s.tally[WORK] += length + s.part_last[s.part[depth]] - s.part_first[s.part[depth]]
    last_at = s.at[depth]
    last_rank = s.rank[depth]
    best = -1
    best_low = NEVER
    best_rank = 0
    first_end = NEVER
    for rank in range(length):
        i = s.listed[start + rank]
        if s.placed[i]:
            continue
        low = s.low[i]
        first_end = min(first_end, low + t.size[i])
        if low < best_low and (low > last_at or (low == last_at and rank > last_rank)):
            if t.twin[i] >= 0 and not s.placed[t.twin[i]]:
                continue
            best = i
            best_low = low
            best_rank = rank
    fullest = 0
    for c in range(s.part_first[s.part[depth]], s.part_last[s.part[depth]] + 1):
        fullest = max(fullest, s.total[c])
    if best_low >= first_end or best_low + fullest > height:
        return -1
    s.at[depth] = best_low
    s.rank[depth] = best_rank
    s.choice[depth] = best
    return best


def put(t: Tables, s: State, depth: int, i: int, height: int) -> bool:
    """Place a buffer and lift those that must lie above it; return False if that cannot end well."""
    s.kept_parts[depth] = s.tally[PARTS]
    s.kept_listed[depth] = s.tally[LISTED]
    s.kept_todo[depth] = s.tally[TODO]
    s.kept_lifts[depth] = s.tally[LIFTS]
    s.kept_floors[depth] = s.tally[FLOORS]
    s.placed[i] = 1
    for c in range(t.first[i], t.last[i]):
        s.cuts[c] -= 1
    end = s.low[i] + t.size[i]
    good = end <= height
    for q in range(t.sect_ptr[i], t.sect_ptr[i + 1]):
        c = t.sect[q]
        s.total[c] -= t.size[i]
        if s.total[c] and end + s.total[c] > height:
            good = False
    s.lifted[depth] = 0
    work = t.sect_ptr[i + 1] - t.sect_ptr[i]
    s.tally[STAMP] += 1
    stamp = s.tally[STAMP]
    lifts = s.tally[LIFTS]
    touched = 0
    for k in range(t.near_ptr[i], t.near_ptr[i + 1]):
        j = t.near[k]
        work += 1
        above = (end + t.align[j] - 1) // t.align[j] * t.align[j]
        if s.placed[j] or s.low[j] >= above:
            continue
        s.lifted[depth] = 1
        good = good and t.pin[j] < 0
        if not good:
            break
        before = s.low[j]
        s.lift_who[lifts] = j
        s.lift_low[lifts] = before
        lifts += 1
        s.low[j] = above
        for q in range(t.sect_ptr[j], t.sect_ptr[j + 1]):
            c = t.sect[q]
            if s.floor[c] == before and s.seen[c] != stamp:
                s.seen[c] = stamp
                s.touched[touched] = c
                touched += 1
    s.tally[LIFTS] = lifts
    if good:
        for q in range(t.sect_ptr[i], t.sect_ptr[i + 1]):
            c = t.sect[q]
            if s.floor[c] == s.low[i] and s.seen[c] != stamp:
                s.seen[c] = stamp
                s.touched[touched] = c
                touched += 1
        floors = s.tally[FLOORS]
        for q in range(touched):
            c = s.touched[q]
            work += t.member_ptr[c + 1] - t.member_ptr[c]
            lowest = NEVER
            for k in range(t.member_ptr[c], t.member_ptr[c + 1]):
                j = t.member[k]
                if not s.placed[j] and s.low[j] < lowest:
                    lowest = s.low[j]
            if s.floor[c] < lowest < NEVER:
                s.floor_who[floors] = c
                s.floor_old[floors] = s.floor[c]
                floors += 1
                s.floor[c] = lowest
                if lowest + s.total[c] > height:
                    good = False
                    break
        s.tally[FLOORS] = floors
    s.tally[WORK] += work
    return good and (s.lifted[depth] == 0 or passed_over(t, s, depth, height))


def passed_over(t: Tables, s: State, depth: int, height: int) -> bool:
    """Return whether all buffers that were passed over can still be lifted, and sections are not too full for it."""
    start = s.part_from[s.part[depth]]
    length = s.part_size[s.part[depth]]
    at = s.at[depth]
    work = length
    passed = 0
    for rank in range(length):
        i = s.listed[start + rank]
        if s.placed[i]:
            continue
        s.least[i] = s.low[i]
        if s.low[i] < at or (s.low[i] == at and rank < s.rank[depth]):
            if t.pin[i] >= 0:
                return False
            s.least[i] = at
            s.passed[passed] = i
            passed += 1
    again = True
    for _ in range(2):  # who lifts may have to be lifted first; more rounds cost more than they gain
        if not again:
            break
        again = False
        for k in range(passed):
            i = s.passed[k]
            end = s.low[i] + t.size[i]
            lowest = NEVER
            work += t.near_ptr[i + 1] - t.near_ptr[i]
            for q in range(t.near_ptr[i], t.near_ptr[i + 1]):
                j = t.near[q]
                if not s.placed[j] and s.least[j] < end and s.least[j] + t.size[j] < lowest:
                    lowest = s.least[j] + t.size[j]
            if lowest == NEVER:
                s.tally[WORK] += work
                return False
            lowest = (lowest + t.align[i] - 1) // t.align[i] * t.align[i]
            if lowest > s.least[i]:
                s.least[i] = lowest
                again = True
    s.tally[STAMP] += 1
    good = True
    for k in range(passed):
        for q in range(t.sect_ptr[s.passed[k]], t.sect_ptr[s.passed[k] + 1]):
            c = t.sect[q]
            if s.seen[c] == s.tally[STAMP]:
                continue
            s.seen[c] = s.tally[STAMP]
            lowest = NEVER
            work += t.member_ptr[c + 1] - t.member_ptr[c]
            for m in range(t.member_ptr[c], t.member_ptr[c + 1]):
                j = t.member[m]
                if not s.placed[j] and s.least[j] < lowest:
                    lowest = s.least[j]
            if lowest + s.total[c] > height:
                good = False
                break
        if not good:
            break
    s.tally[WORK] += work
    return good


def split(t: Tables, s: State, depth: int, i: int, crowded: bool) -> None:
    """Note what is to do after a choice: the rest of its part, in pieces where cuts became empty, then what was."""
    part = s.part[depth]
    start = s.part_from[part]
    rest = s.rest[depth]
    fell_apart = False
    for c in range(t.first[i], t.last[i]):
        fell_apart = fell_apart or s.cuts[c] == 0
    last = s.part_last[part]
    while last >= s.part_first[part]:
        first = s.part_first[part]
        if fell_apart:
            first = last
            while first > s.part_first[part] and s.cuts[first - 1]:
                first -= 1
        begin = s.tally[LISTED]
        end = begin
        left = 0
        for k in range(start, start + s.part_size[part]):
            j = s.listed[k]
            if s.placed[j] or t.first[j] < first or t.first[j] > last:
                continue
            left += 1
            if not fell_apart:
                break
            at = end
            if crowded:
                s.least[j] = 0
                for q in range(t.sect_ptr[j], t.sect_ptr[j + 1]):
                    s.least[j] = max(s.least[j], s.total[t.sect[q]])
                while at > begin:
                    other = s.listed[at - 1]
                    if s.least[other] > s.least[j] or (s.least[other] == s.least[j] and other < j):
                        break
                    s.listed[at] = other
                    at -= 1
            s.listed[at] = j
            end += 1
        if left:
            piece = part
            if fell_apart:
                piece = s.tally[PARTS]
                s.tally[PARTS] += 1
                s.tally[LISTED] = end
                s.part_from[piece] = begin
                s.part_size[piece] = end - begin
                s.part_first[piece] = first
                s.part_last[piece] = last
            todo = s.tally[TODO]
            s.tally[TODO] += 1
            s.todo_part[todo] = piece
            s.todo_next[todo] = rest
            s.todo_depth[todo] = depth
            rest = todo
        last = first - 1
    s.rest[depth + 1] = rest


def enter(s: State, depth: int) -> None:
    """Begin with what is to do next: the choices continue behind the choice that it comes from."""
    todo = s.rest[depth]
    origin = s.todo_depth[todo]
    s.part[depth] = s.todo_part[todo]
    s.rest[depth] = s.todo_next[todo]
    s.parent[depth] = origin
    s.at[depth] = s.at[origin]
    s.rank[depth] = s.rank[origin] if s.part[depth] == s.part[origin] else -1


def take_back(t: Tables, s: State, top: int, back: int) -> None:
    """Undo the choices of depths `top` down to `back`."""
    for depth in range(top, back - 1, -1):
        i = s.choice[depth]
        s.placed[i] = 0
        for q in range(t.sect_ptr[i], t.sect_ptr[i + 1]):
            s.total[t.sect[q]] += t.size[i]
        for c in range(t.first[i], t.last[i]):
            s.cuts[c] += 1
    for k in range(s.tally[LIFTS] - 1, s.kept_lifts[back] - 1, -1):
        s.low[s.lift_who[k]] = s.lift_low[k]
    for k in range(s.tally[FLOORS] - 1, s.kept_floors[back] - 1, -1):
        s.floor[s.floor_who[k]] = s.floor_old[k]
    s.tally[PARTS] = s.kept_parts[back]
    s.tally[LISTED] = s.kept_listed[back]
    s.tally[TODO] = s.kept_todo[back]
    s.tally[LIFTS] = s.kept_lifts[back]
    s.tally[FLOORS] = s.kept_floors[back]


@cache
def compiled_search() -> Callable[..., Any]:
    """Return `search` compiled by numba; the first call in a process loads or compiles it."""
    return compiled_together(globals(), choose, passed_over, put, split, enter, take_back, search)
