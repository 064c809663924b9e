"""The steps of a Relax function as its problem has them: kernels that are looked into stand with their bodies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tvm_memplan.planning.trace import Alloc, Branch, Node, Step


class Body:
    """The steps of a function, with only the names in `held`, and with what is needed besides.

    What has more places than one gets all of them when it is among `placed`. Where there is a body for a step, it
    stands for it; `exact` is what arguments are known to begin at the start of.
    """

    def __init__(
        self,
        held: frozenset[str],
        extra: Mapping[int, Alloc],
        placed: Mapping[str, Alloc],
        bodies: Mapping[int, tuple[Any, Any]],
        exact: frozenset[str],
    ) -> None:
        self.held = held
        self.extra = extra
        self.placed = placed
        self.bodies = bodies
        self.exact = exact
        self.step = 0

    def nodes(self, nodes: Iterable[Node]) -> tuple[Node, ...]:
        """What becomes of `nodes`, which follow those of earlier calls."""
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Step):
                more = (self.extra[self.step].buffer,) if self.step in self.extra else ()
                if self.step in self.bodies:
                    made.extend(self.inside(node.operator, more))
                else:
                    reads = tuple(n for n in node.reads if n in self.held)
                    made.append(Step(node.operator, reads, (*(n for n in node.writes if n in self.held), *more)))
                self.step += 1
            elif isinstance(node, Alloc):
                made.extend([self.placed[node.buffer]] if node.buffer in self.placed else [])
            elif isinstance(node, Branch):
                then = self.nodes(node.then)
                made.append(Branch(then, self.nodes(node.orelse)))
        return tuple(made)

    def inside(self, operator: str, more: tuple[str, ...]) -> tuple[Node, ...]:
        """The body of the kernel that the current step calls, in its place."""
        call, body = self.bodies[self.step]
        arguments = [tuple(sorted(names & self.held)) for names in call.arguments]
        followed = {name: arguments[i] for i, name in body.parameters.items() if i < len(arguments)}
        whole = {name for i, names in enumerate(arguments) if i not in body.parameters for name in names}
        exact = {name for names in followed.values() for name in names if name in self.exact} - whole
        nodes: tuple[Node, ...] = body.called(operator, f"{self.step}:", followed, (*sorted(whole), *more), exact)
        return nodes
