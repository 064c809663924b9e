"""Random programs whose steps say which elements they touch, and a machine that runs them element by element.

The machine runs a program on two memories in lockstep: one where every buffer has elements of its own, and one where
two buffers lie on the same elements. What a step reads must be the same in both, as long as it is defined: it was
written since the buffer was allocated, and computed from defined values only.
"""

import random

from tvm_memplan.planning.trace import Alloc, Elements, Loop, Step, Trace

SIZE = 12
UNDEFINED = object()


def random_program(seed):
    """A trace over a few buffers of `SIZE` elements of one byte."""
    rng = random.Random(seed)
    names = [f"b{i}" for i in range(rng.randint(2, 4))]
    count = iter(range(1000))
    waiting = list(names)

    def access(buffer, write, loops):
        """Some elements within the buffer; often the plain ones, so that pairs exist."""
        terms, last = {}, 0
        for name, extent in loops:
            factor = rng.choice((0, 0, 1, 1, 1, 2, 3, 4))
            if factor and last + factor * (max(extent, 1) - 1) < SIZE:
                terms[name] = factor
                last += factor * (max(extent, 1) - 1)
        width = rng.choice((1, 1, 1, 2)) if last + 2 <= SIZE else 1
        constant = rng.choice((0, 0, 0, rng.randint(0, SIZE - last - width)))
        return Elements(buffer, write, "byte", constant, tuple(sorted(terms.items())), width)

    def step(loops, seen):
        target = rng.choice(seen)
        sources = rng.sample(seen, rng.randint(0, min(2, len(seen))))
        model = access(target, True, loops)
        touched = [model]
        for source in sources:
            same = Elements(source, False, "byte", model.constant, model.terms, model.width)
            touched.append(same if rng.random() < 0.7 else access(source, False, loops))
        reads = tuple(dict.fromkeys(e.buffer for e in touched if not e.write))
        return Step(f"s{next(count)}", reads, (target,), tuple(touched))

    def body(loops, seen, depth):
        nodes, seen = [], list(seen)
        for _ in range(rng.randint(1, 4)):
            if waiting and (not seen or rng.random() < 0.5):
                name = waiting.pop()
                nodes.append(Alloc(name, SIZE, fresh=True))
                seen.append(name)
            if depth and rng.random() < 0.5:
                loop, extent = f"i{next(count)}", rng.choice((0, 1, 2, 3, 4))
                inner = body([*loops, (loop, extent)], seen, depth - 1)
                nodes.append(Loop(tuple(inner), extent > 0, loop, extent))
            elif seen:
                nodes.append(step(loops, seen))
        return nodes

    # The first buffer is filled before all else, so that most of what is read is defined.
    first = waiting.pop()
    fill = Step("fill", (), (first,), (Elements(first, True, "byte", 0, (("fill", 1),)),))
    return Trace((Alloc(first, SIZE), Loop((fill,), True, "fill", SIZE), *body([], [first], 3)))


def agrees(trace, shared):
    """Whether the program reads the same when the two buffers of `shared` lie on one another."""
    home = {shared[0]: shared[1]}
    apart, together = {}, {}
    tokens = iter(range(10**9))

    def places(elements, at):
        first = elements.constant + sum(factor * at[name] for name, factor in elements.terms)
        return range(first, first + elements.width)

    def run(nodes, at):
        for node in nodes:
            if isinstance(node, Alloc):
                for i in range(SIZE):
                    apart[node.buffer, i] = UNDEFINED
            elif isinstance(node, Loop):
                if not all(run(node.body, {**at, node.name: i}) for i in range(node.extent)):
                    return False
            else:
                defined = True
                for elements in node.elements:
                    if not elements.write:
                        for i in places(elements, at):
                            value = apart.get((elements.buffer, i), UNDEFINED)
                            defined &= value is not UNDEFINED
                            seen = together.get((home.get(elements.buffer, elements.buffer), i))
                            if value is not UNDEFINED and seen != value:
                                return False
                for elements in node.elements:
                    if elements.write:
                        for i in places(elements, at):
                            token = next(tokens)
                            apart[elements.buffer, i] = token if defined else UNDEFINED
                            together[home.get(elements.buffer, elements.buffer), i] = token
        return True

    return run(trace.body, {})
