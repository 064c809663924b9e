"""Random traces: small programs with loops, branches, aliases, carried values and names that are allocated again."""

from __future__ import annotations

from random import Random

from tvm_memplan.planning.trace import Alias, Alloc, Branch, Loop, Node, Step, Trace


def random_trace(seed: int) -> Trace:
    """A trace that uses only what it allocates; most of what it reads was written before."""
    random = Random(seed)
    counter = iter(range(10_000))
    top: list[str] = []

    def body(depth: int, visible: list[str], written: set[str], length: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        visible = list(visible)
        own: list[Alloc] = []
        for _ in range(length):
            kind = random.random()
            if kind < 0.25 or not visible:
                alloc = Alloc(f"b{next(counter)}", random.randint(2, 9), random.choice((1, 1, 2, 4)))
                if own and random.random() < 0.15:
                    alloc = random.choice(own)  # the same name once more
                else:
                    visible.append(alloc.buffer)
                    own.append(alloc)
                    if depth == 0:
                        top.append(alloc.buffer)
                nodes.append(alloc)
            elif kind < 0.35:
                name = f"a{next(counter)}"
                nodes.append(Alias(name, random.choice(visible)))
                visible.append(name)
            elif kind < 0.75 or depth == 3:
                pool = [name for name in visible if name in written] or visible
                reads = random.sample(pool, min(len(pool), random.randint(0, 2)))
                if random.random() < 0.1:
                    reads.append(random.choice(visible))
                writes = random.sample(visible, min(len(visible), random.choice((0, 1, 1, 1, 2))))
                written.update(writes)
                nodes.append(Step(f"step{next(counter)}", tuple(reads), tuple(writes)))
            elif kind < 0.9:
                inside = body(depth + 1, visible, written, random.randint(0, 5))
                nodes.append(Loop(inside, random.random() < 0.4))
            else:
                then = body(depth + 1, visible, written, random.randint(1, 4))
                nodes.append(Branch(then, body(depth + 1, visible, written, random.randint(0, 3))))
        return tuple(nodes)

    nodes = body(0, [], set(), random.randint(3, 9))
    if seed % 3 == 0:
        nodes += (Loop(body(1, [], set(), random.randint(5, 9)), True),)  # more of what only loops can get wrong
    live_in = {name for name in top if random.random() < 0.1}
    live_out = {name for name in top if random.random() < 0.2}
    return Trace(nodes, frozenset(live_in), frozenset(live_out))
