"""Random programs whose steps say which elements they touch, and a machine that runs them element by element.

The machine runs a program on two memories in lockstep: one where every buffer has elements of its own, and one where
two buffers lie on the same elements. What a step reads must be the same in both, as long as it is defined: it was
written since the buffer was allocated, and computed from defined values only. Which arm of a branch runs is up to
chance, and the rounds of a parallel loop are mixed step by step.
"""

import random

from tvm_memplan.planning.trace import Alloc, Branch, Elements, Loop, Step, Trace

SIZE = 12
UNDEFINED = object()


def random_program(seed):
    """A trace over a few buffers of `SIZE` elements of one byte.

    Many programs read and write all buffers in one layout (so much per loop, by its depth), so that the same elements
    come up again in other loops.
    """
    rng = random.Random(seed)
    layout = rng.choice(((), (), (1,), (4, 1), (3, 1), (1, 4), (6, 2, 1)))
    names = [f"b{i}" for i in range(rng.randint(2, 4))]
    count = iter(range(1000))
    waiting = list(names)

    def access(buffer, write, loops):
        """Some elements within the buffer; often the plain ones, so that pairs exist."""
        terms, last = {}, 0
        plain = rng.random() < 0.8
        for depth, (name, extent) in enumerate(loops):
            factor = rng.choice((0, 0, 1, 1, 1, 2, 3, 4))
            factor = layout[depth] if plain and depth < len(layout) else factor
            if factor and last + factor * (max(extent, 1) - 1) < SIZE:
                terms[name] = factor
                last += factor * (max(extent, 1) - 1)
        width = rng.choice((1, 1, 1, 2)) if last + 2 <= SIZE else 1
        constant = rng.choice((0, 0, 0, 0, 0, 1, rng.randint(0, SIZE - last - width)))
        constant = min(constant, SIZE - last - width)
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

    def body(loops, seen, depth, parallel=False):
        nodes, seen = [], list(seen)
        for _ in range(rng.randint(1, 4)):
            # What a worker of a parallel loop allocates is its own, and is planned in a trace of its own.
            if waiting and not parallel and (not seen or rng.random() < 0.5):
                name = waiting.pop()
                nodes.append(Alloc(name, SIZE, fresh=True))
                seen.append(name)
            if depth and rng.random() < 0.5:
                loop, extent = f"i{next(count)}", rng.choice((0, 1, 2, 3, 4))
                mixed = rng.random() < 0.35
                inner = body([*loops, (loop, extent)], seen, depth - 1, parallel or mixed)
                nodes.append(Loop(tuple(inner), extent > 0, loop, extent, mixed))
            elif seen and rng.random() < 0.3:
                arms = [tuple(step(loops, seen) for _ in range(rng.randint(0, 2))) for _ in range(2)]
                nodes.append(Branch(*arms))
            elif seen:
                nodes.append(step(loops, seen))
        return nodes

    # The first buffer is filled before all else, so that most of what is read is defined.
    first = waiting.pop()
    fill = Step("fill", (), (first,), (Elements(first, True, "byte", 0, (("fill", 1),)),))
    return Trace((Alloc(first, SIZE), Loop((fill,), True, "fill", SIZE), *body([], [first], 3)))


def agrees(trace, shared, chance=0):
    """Whether the program reads the same when the two buffers of `shared` lie on one another."""
    rng = random.Random(chance)
    home = {shared[0]: shared[1]}
    apart, together = {}, {}
    tokens = iter(range(10**9))

    def places(elements, at):
        first = elements.constant + sum(factor * at[name] for name, factor in elements.terms)
        return range(first, first + elements.width)

    def run(nodes, at):
        """Run `nodes`; yields after each step whether it read the same."""
        for node in nodes:
            if isinstance(node, Alloc):
                for i in range(SIZE):
                    apart[node.buffer, i] = UNDEFINED
            elif isinstance(node, Branch):
                yield from run(rng.choice((node.then, node.orelse)), at)
            elif isinstance(node, Loop):
                rounds = [run(node.body, {**at, node.name: i}) for i in range(node.extent)]
                while rounds:
                    this = rng.choice(rounds) if node.parallel else rounds[0]
                    same = next(this, None)
                    if same is None:
                        rounds.remove(this)
                    else:
                        yield same
            else:
                yield step(node, at)

    def step(node, at):
        defined = same = True
        for elements in node.elements:
            if not elements.write:
                for i in places(elements, at):
                    value = apart.get((elements.buffer, i), UNDEFINED)
                    defined &= value is not UNDEFINED
                    seen = together.get((home.get(elements.buffer, elements.buffer), i))
                    same &= value is UNDEFINED or seen == value
        for elements in node.elements:
            if elements.write:
                for i in places(elements, at):
                    token = next(tokens)
                    apart[elements.buffer, i] = token if defined else UNDEFINED
                    together[home.get(elements.buffer, elements.buffer), i] = token
        return same

    return all(run(trace.body, {}))
