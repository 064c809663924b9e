"""Random lowered functions: loops, branches, nested allocations, views of other types, data-dependent conditions.

Every buffer is filled where it is allocated, so that a right plan cannot change anything; what a program reads
afterwards is up to chance. All that is alive at the end of a scope is folded into the output, so that an overwritten
byte shows.

The program is the same on every line for the same seed; an object with a method per kind of node, such as
`tests.tir.nodes.Nodes`, makes it in the IR of the line.
"""

import random

TYPES = {"int32": 4, "int16": 2, "int8": 1, "uint8": 1, "int64": 8, "float32": 4}
LENGTH = 16
OUT = 64
# How a buffer may be made from another of its kind; several of one name are several chances.
DERIVED = (
    "serial", "serial", "unrolled", "vectorized", "parallel", "turned", "ahead", "behind", "twice", "all twice",
    "blocks", "blocks", "fused", "fused", "strided", "guarded", "alias", "first last", "ahead together", "lanes",
    "either or",
)  # fmt: skip
# How deep loops, branches and allocations may be nested: small programs are as good at finding faults, and quicker.
# Rounds that keep a worker busy for about 0.1 ms.
SLOWLY = 20000
DEPTHS = (1, 1, 1, 1, 1, 2, 2, 3)


class Program:
    """One random function `entry(A: int32[16], O: int32[64])`, reproducible from its seed.

    `kinds` are those of `DERIVED` that it may have; of only one, programs are small.
    """

    def __init__(self, seed, nodes, kinds=DERIVED):
        self.random = random.Random(seed)
        self.kinds = kinds
        self.depth = self.random.choice(DEPTHS if len(kinds) > 1 else (1,))
        self.nodes = nodes
        self.count = 0
        self.input = nodes.parameter("A", LENGTH)
        self.output = nodes.parameter("O", OUT)

    def function(self):
        """The PrimFunc."""
        start = self.loop(OUT, lambda i: self.store(self.output, i, self.nodes.number(1)))
        return self.nodes.function(self.input, self.output, self.nodes.sequence([start, self.scope([], self.depth)]))

    # A scope allocates some buffers and does something with all that it can see. `visible` are (buffer, length).

    def scope(self, visible, depth):
        own, seen, parts = [], list(visible), []
        for _ in range(self.random.randint(1, 3)):
            if own and self.random.random() < 0.5:
                # The like of the newest, made from it element by element; that one often dies here.
                buffer, length = self.fresh_buffer(self.nodes.dtype(own[-1][0]), own[-1][1])
                parts += self.derive(buffer, own[-1][0], length)
                if self.random.random() < 0.8:
                    seen.remove(own[-1])
            else:
                # From the newest other buffer, so that older ones die early and their bytes are free to take.
                buffer, length = self.fresh_buffer()
                parts.append(self.fill(buffer, length, seen[-1:]))
            own.append((buffer, length))
            seen.append((buffer, length))
            parts += [self.statement(seen, depth) for _ in range(self.random.randint(0, 2))]
        parts += [self.statement(seen, depth) for _ in range(self.random.randint(1, 3))]
        parts += [self.fold(*pair) for pair in own if pair in seen and self.random.random() < 0.25]
        return self.nodes.allocated([buffer for buffer, _ in own], parts)

    def statement(self, seen, depth):
        choice = self.random.random()
        if depth and choice < 0.2:
            return self.scope(seen, depth - 1)
        if depth and choice < 0.4:
            inner = [self.fold(*self.random.choice(seen)), self.scope(seen[:1], depth - 1)]
            if self.random.random() < 0.5:
                inner.append(self.statement(seen, depth - 1))
            jumps = self.nodes.jumps and self.random.random() < 0.4
            if jumps:
                leave = self.nodes.branch(self.condition(seen), self.nodes.jump(self.random.random() < 0.5), None)
                inner.insert(self.random.randint(1, len(inner)), leave)
            unrolled = self.random.random() < 0.2 and not jumps  # which a loop that is left early cannot be
            extent = self.random.randint(0, 4)
            return self.loop(extent, lambda _: self.nodes.sequence(inner), unrolled)
        if depth and choice < 0.55:
            condition = self.condition(seen)
            orelse = self.statement(seen, depth - 1) if self.random.random() < 0.7 else None
            return self.nodes.branch(condition, self.statement(seen, depth - 1), orelse)
        if choice < 0.65:
            return self.bytes_of(seen)
        if choice < 0.75:
            return self.fold(*self.random.choice(seen))
        return self.combine(seen)

    def condition(self, seen):
        buffer, length = self.random.choice(seen)
        return self.load(buffer, self.random.randrange(length)) > self.nodes.number(40)

    # Leaves.

    def fresh_buffer(self, dtype=None, length=None):
        self.count += 1
        dtype = dtype or self.random.choice(tuple(TYPES))
        length = length or self.random.choice((1, 3, 8, LENGTH, 40))
        return self.nodes.buffer(f"b{self.count}", dtype, length), length

    def fill(self, buffer, length, seen):
        source, size = self.random.choice(seen or [(self.input, LENGTH)])
        mark, last = self.nodes.number(self.random.randint(1, 9)), length - 1 + size
        return self.loop(length, lambda i: self.store(buffer, i, self.load(source, (last - i) % size) + mark))

    def derive(self, target, source, length):
        """Statements that make all of `target` from `source`; some may work in place, some may not."""
        kind = self.random.choice(self.kinds)
        mark, last = self.nodes.number(self.random.randint(1, 9)), length - 1
        block = self.random.choice([n for n in (1, 2, 4, 5, 8) if length % n == 0])

        def put(to, *at):
            value = mark
            for index in at:
                value = value + self.load(source, index) * self.nodes.number(self.random.randint(1, 3))
            return self.store(target, to, value)

        if kind == "turned":
            return [self.loop(length, lambda i: put(i, i, last - i))]
        if kind == "ahead":
            return [self.loop(last, lambda i: put(i, i + 1)), put(self.nodes.number(last), self.nodes.number(last))]
        if kind == "behind":
            return [put(self.nodes.number(0)), self.loop(last, lambda i: put(i + 1, i))]
        if kind == "ahead together":  # right for one worker, wrong for several, of which one should meet the other

            def slowly(i):
                step = self.load(target, i) * self.nodes.number(31) + self.load(source, i + 1)
                return self.nodes.sequence([put(i), self.loop(SLOWLY, lambda _: self.store(target, i, step))])

            most = self.loop(last, slowly, kind="parallel")
            return [most, put(self.nodes.number(last), self.nodes.number(last))]
        if kind == "lanes":  # the lanes of two rounds meet, their first lanes never do
            lanes = 4 if last >= 4 else 1
            whole = last // lanes * lanes

            def across(o):
                return self.loop(lanes, lambda v: put(o * lanes + v + 1, o * lanes + v), kind="vectorized")

            rest = [put(self.nodes.number(i)) for i in (*range(whole + 1, length), 0)]
            return [self.loop(whole // lanes, across), *rest]
        if kind == "first last":  # the first of a block looks at all others, which may be the target by now

            def block_of(o):
                others = self.loop(block - 1, lambda i: put(o * block + 1 + i, o * block + 1 + i))
                return self.nodes.sequence([others, self.loop(block, lambda j: put(o * block, o * block + j))])

            return [self.loop(length // block, block_of)]
        if kind == "either or":  # branches that seem to exclude each other
            limits = self.nodes.number(self.random.randint(-20, 60)), self.nodes.number(self.random.randint(-20, 60))
            place = self.random.randrange(OUT)

            def told(i):
                return self.load(self.input, i % LENGTH)

            def add(i, value):
                return self.store(self.output, (i + place) % OUT, self.load(self.output, (i + place) % OUT) + value)

            def parts(i):
                return self.nodes.sequence(
                    [
                        self.nodes.branch(told(i) > limits[0], put(i, i), None),
                        self.nodes.branch(told(i) <= limits[0], put(i), None),
                        self.nodes.branch(told(i) > limits[1], add(i, mark), add(i, self.load(source, i))),
                    ]
                )

            return [self.loop(length, parts)]
        if kind == "twice":
            return [self.loop(length, lambda i: self.loop(2, lambda _: put(i, i)))]
        if kind == "all twice":
            return [self.loop(2, lambda _: self.loop(length, lambda i: put(i, i)))]
        if kind == "blocks":
            second = self.random.random() < 0.5

            def nests(o):
                nest = [self.loop(block, lambda i: put(o * block + i, o * block + i))]
                if second:  # which reads the source again, where it may be the target by now
                    nest.append(self.loop(block, lambda i: put(o * block + i, o * block + (block - 1 - i))))
                return self.nodes.sequence(nest)

            return [self.loop(length // block, nests)]
        if kind == "fused":
            across = self.random.random() < 0.5
            rows = length // block

            def place(f):
                return f % block * rows + f // block

            return [self.loop(length, lambda f: put(place(f), place(f) if across else f))]
        if kind == "strided":
            return [self.loop(block, lambda j: self.loop(length // block, lambda i: put(i * block + j, i * block + j)))]
        if kind == "guarded":
            limit = self.nodes.number(self.random.randint(-20, 60))
            return [
                self.loop(
                    length,
                    lambda i: self.nodes.branch(
                        self.load(source, i) > limit, put(i), put(i, i if self.random.random() < 0.7 else last - i)
                    ),
                )
            ]
        if kind == "alias":
            index = self.random.random() < 0.5

            def through(view):
                return self.loop(
                    length,
                    lambda i: self.store(
                        target, i, self.load(source, i) + self.load(view, i if index else last - i) + mark
                    ),
                )

            return [self.nodes.viewed(source, self.nodes.dtype(source), length, through)]
        mapped = self.random.choice((lambda i: i, lambda i: last - i))
        return [self.loop(length, lambda i: put(i, mapped(i)), kind=kind)]

    def combine(self, seen):
        target, length = self.random.choice(seen)
        one, two = self.random.choice(seen), self.random.choice(seen)
        shift, factor = self.random.randrange(8), self.nodes.number(self.random.randint(1, 5))
        return self.loop(
            length,
            lambda i: self.store(
                target, i, self.load(one[0], (i + shift) % one[1]) * factor - self.load(two[0], i % two[1])
            ),
        )

    def bytes_of(self, seen):
        """Write through a view of single bytes, or through a pointer into the middle."""
        target, length = self.random.choice(seen)
        size = length * TYPES[self.nodes.dtype(target)]
        source, many = self.random.choice(seen)
        if self.random.random() < 0.5:
            return self.nodes.viewed(
                target,
                "uint8",
                size,
                lambda view: self.loop(
                    size,
                    lambda i: self.nodes.store(view, self.nodes.cast("uint8", self.small_byte(source, i % many)), i),
                ),
            )
        start = self.random.randrange(length)
        return self.nodes.pointed(
            target,
            start,
            length - start,
            f"p{self.count}",
            lambda view: self.loop(length - start, lambda i: self.store(view, i, self.load(source, i % many))),
        )

    def fold(self, buffer, length):
        place = self.random.randrange(OUT)
        return self.loop(
            length,
            lambda i: self.store(
                self.output,
                (i + place) % OUT,
                self.load(self.output, (i + place) % OUT) * self.nodes.number(31) + self.load(buffer, i),
            ),
        )

    def loop(self, extent, body, unrolled=False, kind="serial"):
        self.count += 1
        return self.nodes.loop(f"i{self.count}", extent, body, "unrolled" if unrolled else kind)

    def load(self, buffer, index):
        """An element as a small integer, whatever the type: sums and products that overflow are undefined."""
        return self.nodes.remainder(self.nodes.cast("int32", self.nodes.load(buffer, index)), 97)

    def small_byte(self, buffer, index):
        """An element as a number from 1 to 61: four such bytes are a float that an integer can hold."""
        return self.nodes.remainder(self.load(buffer, index), 31) + self.nodes.number(31)

    def store(self, buffer, index, value):
        # Kept small, so that converting to a float and back is exact and never undefined.
        small = self.nodes.remainder(value, 97)
        return self.nodes.store(buffer, self.nodes.cast(self.nodes.dtype(buffer), small), index)
