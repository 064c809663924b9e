"""Which buffer of an old plan is which of a new one.

Names are what people gave, or they are numbers that a compiler counted up, and then one more operator renames all that
follow. So these are tried, and what explains the new plan with the least change wins, names when it is a draw::

    by layer   same layer of the model, or scratch of the same name in the same layers: no compiler changes those, so
               what is found like this is settled, and the other two are for the rest
    by name    same name; what is left over, by size and kind in the order of first use
    by place   same size, kind and operator but for its number, in the order of first use; between two such pairs, the
               same operator with another size

The change is counted in bytes: what pairs grew or shrank by, and the sizes of buffers without a partner; and where that
is the same, in buffers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from tvm_memplan.report.memory import Allocation

#: A pair of indices, into the old and the new buffers.
Pair = tuple[int, int]
#: Comparing orders may take so many comparisons at a time; names alone decide where it would take more.
MOST = 4_000_000
_NUMBER = re.compile(r"_?\d+$")


def match(old: Sequence[Allocation], new: Sequence[Allocation]) -> list[Pair]:
    """Return the pairs, in the order of the new buffers; buffers in none were removed or added."""
    settled = _same_layers(old, new)
    ours, theirs = ([k for k, _ in enumerate(rows) if k not in done] for rows, done in zip((old, new), _sides(settled)))
    left_old, left_new = [old[i] for i in ours], [new[j] for j in theirs]
    named, placed = _by_name(left_old, left_new), _by_place(left_old, left_new)
    best = min(named, placed, key=lambda pairs: _change(left_old, left_new, pairs))
    return sorted([*settled, *((ours[i], theirs[j]) for i, j in best)], key=lambda pair: pair[1])


def _sides(pairs: Sequence[Pair]) -> tuple[set[int], set[int]]:
    return {i for i, _ in pairs}, {j for _, j in pairs}


def _same_layers(old: Sequence[Allocation], new: Sequence[Allocation]) -> list[Pair]:
    """Pair what has the same name in the model, where it is the only one on either side."""
    names_old, names_new = ([_in_model(row) for row in rows] for rows in (old, new))
    often_old, often_new = Counter(names_old), Counter(names_new)
    found = {name: i for i, name in enumerate(names_old) if name and often_old[name] == 1}
    return [(found[name], j) for j, name in enumerate(names_new) if name in found and often_new[name] == 1]


def _in_model(row: Allocation) -> tuple[object, ...]:
    """What a buffer is in the words of the model, empty where it has none: a layer's tensor, or what helps layers."""
    if row.layer:
        return (row.layer, row.kind)
    own = row.name.removeprefix(f"{row.operator}.")
    return (own, row.kind, row.layers) if row.layers and own != row.name else ()


def _by_name(old: Sequence[Allocation], new: Sequence[Allocation]) -> list[Pair]:
    pairs = _same_names(old, new)
    ours, theirs = {i for i, _ in pairs}, {j for _, j in pairs}
    left_old = [i for i in range(len(old)) if i not in ours]
    left_new = [j for j in range(len(new)) if j not in theirs]
    return pairs + _in_order(old, new, left_old, left_new, lambda row: (row.size, row.kind, row.tensor))


def _by_place(old: Sequence[Allocation], new: Sequence[Allocation]) -> list[Pair]:
    pairs = _in_order(
        old, new, range(len(old)), range(len(new)), lambda row: (row.size, row.kind, row.tensor, _stem(row.operator))
    )
    # Between two pairs, where there is an operator of the same name on either side, it is the one that changed.
    for (i, j), (k, m) in pairwise([(-1, -1), *sorted(pairs), (len(old), len(new))]):
        left_old = [n for n in range(i + 1, k) if old[n].operator]
        left_new = [n for n in range(j + 1, m) if new[n].operator]
        pairs += _in_order(old, new, left_old, left_new, lambda row: (row.kind, _stem(row.operator)))
    return pairs


def _stem(operator: str) -> str:
    return _NUMBER.sub("", operator)


def _change(old: Sequence[Allocation], new: Sequence[Allocation], pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return the bytes that changed, and how many buffers did."""
    lost = sum(row.size for row in old) - sum(old[i].size for i, _ in pairs)
    made = sum(row.size for row in new) - sum(new[j].size for _, j in pairs)
    moved = sum(abs(old[i].size - new[j].size) for i, j in pairs)
    alike = sum(old[i].size == new[j].size and _stem(old[i].operator) == _stem(new[j].operator) for i, j in pairs)
    return lost + made + moved, len(old) + len(new) - len(pairs) - alike


def _same_names(old: Sequence[Allocation], new: Sequence[Allocation]) -> list[Pair]:
    """Pair what has the same name, where it is the only one of that name on either side."""
    names_old, names_new = Counter(row.name for row in old), Counter(row.name for row in new)
    found = {row.name: i for i, row in enumerate(old) if names_old[row.name] == 1}
    return [(found[row.name], j) for j, row in enumerate(new) if row.name in found and names_new[row.name] == 1]


def _in_order(
    old: Sequence[Allocation],
    new: Sequence[Allocation],
    ours: Sequence[int],
    theirs: Sequence[int],
    key: Callable[[Allocation], Hashable],
) -> list[Pair]:
    """Pair buffers of `ours` and `theirs` whose keys are equal and come in the same order."""
    a, b = [key(old[i]) for i in ours], [key(new[j]) for j in theirs]
    # Most builds differ in little: the same beginning and end need no search.
    start = _alike(a, b)
    end = _alike(a[start:][::-1], b[start:][::-1])
    found = [(k, k) for k in range(start)] + [(len(a) - k, len(b) - k) for k in range(1, end + 1)]
    a, b = a[start : len(a) - end], b[start : len(b) - end]
    often = Counter(b)
    if sum(often[x] for x in a) <= MOST:
        for block in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
            found += [(start + block.a + k, start + block.b + k) for k in range(block.size)]
    return [(ours[i], theirs[j]) for i, j in found]


def _alike(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return how many items are the same at the beginning."""
    return next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
