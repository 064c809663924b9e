"""How many bytes a run moves to and from each buffer: what it costs to have it in slow memory.

Every load and store in the loops around it counts with the bytes of its element::

    for i in 0..10:
        for j in 0..5:
            d[i] = s[i * 5 + j]       s: 10 * 5 * bytes of an element, d the same

A loop of unknown extent counts as one round, the two bodies of a branch as the costlier one, and an access whose
element is not known as one of the type that is known from elsewhere, or as one byte. So this is an estimate, good for
comparing buffers of one program; caches are not in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tvm_memplan.planning.trace import Alias, Branch, Loop, Node, Step, Trace


def traffic(trace: Trace) -> dict[str, int]:
    """Return the bytes that are read from and written to each allocation in one run, by its name."""
    counter = _Traffic()
    counter.learn(trace.body)
    return dict(counter.count(trace.body))


class _Traffic:
    def __init__(self) -> None:
        self.roots: dict[str, str] = {}
        self.element: dict[str, int] = {}

    def root(self, name: str) -> str:
        while name in self.roots:
            name = self.roots[name]
        return name

    def learn(self, nodes: Iterable[Node]) -> None:
        """Note aliases and the size of each buffer's elements."""
        for node in nodes:
            if isinstance(node, Alias):
                self.roots[node.name] = node.of
            elif isinstance(node, Step):
                for touched in node.elements:
                    name = self.root(touched.buffer)
                    self.element[name] = max(self.element.get(name, 1), _bytes(touched.dtype))
            elif isinstance(node, Loop):
                self.learn(node.body)
            elif isinstance(node, Branch):
                self.learn((*node.then, *node.orelse))

    def count(self, nodes: Iterable[Node]) -> Counter[str]:
        """Return the bytes that one pass through `nodes` moves."""
        total: Counter[str] = Counter()
        for node in nodes:
            if isinstance(node, Step):
                total.update(self._step(node))
            elif isinstance(node, Loop):
                rounds = 1 if node.extent is None else node.extent
                total.update({name: count * rounds for name, count in self.count(node.body).items()})
            elif isinstance(node, Branch):
                total.update(self.count(node.then) | self.count(node.orelse))
        return total

    def _step(self, step: Step) -> Counter[str]:
        told: Counter[str] = Counter()
        for touched in step.elements:
            told[self.root(touched.buffer)] += touched.width * _bytes(touched.dtype)
        # A dialect tells either every access of a step to a buffer, or none.
        untold: Counter[str] = Counter()
        for name in (*step.reads, *step.writes):
            if self.root(name) not in told:
                untold[self.root(name)] += self.element.get(self.root(name), 1)
        return told + untold


def _bytes(dtype: str) -> int:
    """Bytes of an element by the name of its type, such as ``int8``, ``float32x4`` or ``bool``."""
    found = re.fullmatch(r"[a-z]+(\d+)?(?:x(\d+))?", dtype)
    if found is None:
        return 1
    return (int(found.group(1) or 8) + 7) // 8 * int(found.group(2) or 1)
