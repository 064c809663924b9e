"""Programs that may work in place, and programs that only look like it, for both lines.

Each is a function of a `Maker` that returns the statements between ``A: int32[32]`` and ``O: int32[32]``, and is listed
with the bytes that its buffers take when whatever may work in place does.
"""

from tests.passes.line import nodes

LENGTH = 32


class Maker:
    """Short words for statements; counts loops and collects what is allocated."""

    def __init__(self):
        self.nodes = nodes.Nodes()
        self.input = self.nodes.parameter("A", LENGTH)
        self.output = self.nodes.parameter("O", LENGTH)
        self.buffers = []
        self.loops = 0

    def function(self, program):
        """The PrimFunc of a program."""
        parts = program(self)
        return self.nodes.function(self.input, self.output, self.nodes.allocated(self.buffers, parts))

    def buffer(self, name, length=LENGTH, dtype="int32"):
        self.buffers.append(self.nodes.buffer(name, dtype, length))
        return self.buffers[-1]

    def loop(self, extent, body, kind="serial"):
        """A loop over one statement or several."""
        self.loops += 1

        def made(index):
            parts = body(index)
            return self.nodes.sequence(parts if isinstance(parts, list) else [parts])

        return self.nodes.loop(f"i{self.loops}", extent, made, kind)

    def number(self, value):
        return self.nodes.number(value)

    def get(self, buffer, index):
        return self.nodes.load(buffer, index if not isinstance(index, int) else self.number(index))

    def put(self, buffer, index, value):
        index, value = (self.number(x) if isinstance(x, int) else x for x in (index, value))
        return self.nodes.store(buffer, self.nodes.cast(self.nodes.dtype(buffer), value), index)

    def made(self, buffer, length=LENGTH):
        """`buffer` from the input."""
        return self.loop(length, lambda i: self.put(buffer, i, self.get(self.input, i) * 3 + 1))

    def out(self, buffer, length=LENGTH):
        """The output from `buffer`, back to front, so that the two have no element in common."""
        return self.loop(length, lambda i: self.put(self.output, i, self.get(buffer, length - 1 - i) * 7))


def between(step, length=LENGTH, target=LENGTH):
    """A program that makes `s`, then `d` from it by the statements of `step`, then the output from `d`."""

    def program(m):
        s, d = m.buffer("s", length), m.buffer("d", target)
        return [m.made(s, length), *step(m, s, d), m.out(d, target)]

    return program


def each(kind):
    return between(lambda m, s, d: [m.loop(LENGTH, lambda i: m.put(d, i, m.get(s, i) + 5), kind)])


def chain(m):
    a, b, c = m.buffer("a"), m.buffer("b"), m.buffer("c")
    return [
        m.made(a),
        m.loop(LENGTH, lambda i: m.put(b, i, m.get(a, i) * m.get(a, i))),
        m.loop(LENGTH, lambda i: m.put(c, i, m.get(b, i) - 9)),
        m.out(c),
    ]


def one_nest(m):
    """A chain in one loop."""
    a, b, c = m.buffer("a"), m.buffer("b"), m.buffer("c")
    return [
        m.made(a),
        m.loop(LENGTH, lambda i: [m.put(b, i, m.get(a, i) * m.get(a, i)), m.put(c, i, m.get(b, i) - 9)]),
        m.out(c),
    ]


def fused_epilogue(m):
    """A product of matrices, its first store the zeros, then something element by element."""
    p, d = m.buffer("product", 16), m.buffer("d", 16)

    def product(i, j):
        at = i * 4 + j
        update = m.loop(
            8,
            lambda k: m.put(p, at, m.get(p, at) + m.get(m.input, i * 8 + k) * m.get(m.input, k * 4 + j)),
        )
        return [m.put(p, at, 0), update]

    return [
        m.loop(4, lambda i: m.loop(4, lambda j: product(i, j))),
        m.loop(4, lambda i: m.loop(4, lambda j: m.put(d, i * 4 + j, m.get(p, i * 4 + j) * 2 + 1))),
        m.out(d, 16),
    ]


def softmax(m):
    x, e, n = (m.buffer(name, LENGTH, "float32") for name in ("x", "e", "n"))
    top, total = m.buffer("top", 4, "float32"), m.buffer("total", 4, "float32")
    zero = m.nodes.cast("float32", m.number(0))

    def rows(body):
        return m.loop(4, lambda i: m.loop(8, lambda j: body(i, i * 8 + j)))

    def larger(i, at):
        return m.nodes.branch(m.get(x, at) > m.get(top, i), m.put(top, i, m.get(x, at)), None)

    return [
        m.loop(LENGTH, lambda i: m.put(x, i, m.nodes.cast("float32", m.get(m.input, i)) * 0.0625)),
        m.loop(4, lambda i: m.put(top, i, m.nodes.cast("float32", m.number(-1000)))),
        rows(larger),
        rows(lambda i, at: m.put(e, at, m.nodes.exp(m.get(x, at) - m.get(top, i)))),
        m.loop(4, lambda i: m.put(total, i, zero)),
        rows(lambda i, at: m.put(total, i, m.get(total, i) + m.get(e, at))),
        rows(lambda i, at: m.put(n, at, m.get(e, at) / m.get(total, i))),
        m.loop(LENGTH, lambda i: m.put(m.output, i, m.get(n, 31 - i) * 1e6)),
    ]


def padded(first):
    """A copy into a longer buffer, zeros behind; which arm of the branch comes first must not matter."""

    def step(m, s, d):
        def element(i):
            copy, zero = m.put(d, i, m.get(s, i)), m.put(d, i, 0)
            return m.nodes.branch(i < 24, copy, zero) if first else m.nodes.branch(i >= 24, zero, copy)

        return [m.loop(LENGTH, element)]

    return between(step, 24)


def two_nests(other):
    """Row by row, `d` is made in one loop and changed in another, which reads `s` again if `other`."""

    def step(m, s, d):
        def row(r):
            def again(j):
                value = m.get(d, r * 8 + j) + (m.get(s, r * 8 + 7 - j) if other else 3)
                return m.put(d, r * 8 + j, value)

            return [m.loop(8, lambda j: m.put(d, r * 8 + j, m.get(s, r * 8 + j))), m.loop(8, again)]

        return [m.loop(4, row)]

    return between(step)


def row_by_row(m):
    """A row of `s` is made and used up in each round of one loop."""
    s, d = m.buffer("s"), m.buffer("d")

    def row(r):
        return [
            m.loop(8, lambda j: m.put(s, r * 8 + j, m.get(m.input, r * 8 + j) + 2)),
            m.loop(8, lambda j: m.put(d, r * 8 + j, m.get(s, r * 8 + 7 - j) * m.get(s, r * 8 + j))),
        ]

    return [m.loop(4, row), m.out(d)]


def row_to_row(m):
    """The same, element by element: in place."""
    s, d = m.buffer("s"), m.buffer("d")

    def row(r):
        return [
            m.loop(8, lambda j: m.put(s, r * 8 + j, m.get(m.input, r * 8 + j) + 2)),
            m.loop(8, lambda j: m.put(d, r * 8 + j, m.get(s, r * 8 + j) * 3)),
        ]

    return [m.loop(4, row), m.out(d)]


def fused_loop(turned):
    """One loop counts rows and columns; `turned` stores to the transposed place."""

    def step(m, s, d):
        def element(f):
            at = f % 8 * 4 + f // 8
            return m.put(d, f if turned else at, m.get(s, at) + 1)

        return [m.loop(LENGTH, element)]

    return between(step)


def ahead(kind):
    """``d[i] = s[i + 1]``."""
    return between(
        lambda m, s, d: [
            m.loop(31, lambda i: m.put(d, i, m.get(s, i + 1) * 2), kind),
            m.put(d, 31, m.get(s, 31)),
        ]
    )


def halves(m):
    """An update of half of the elements from the other half, unrolled by hand."""
    s, d = m.buffer("s"), m.buffer("d")
    return [
        m.made(s),
        m.loop(16, lambda i: [m.put(d, i * 2 + k, m.get(s, i * 2 + k) * 5) for k in (0, 1)]),
        m.out(d),
    ]


def alias_at_another_index(m):
    """Case 1."""
    s, d = m.buffer("s"), m.buffer("d")

    def with_view(view):
        return m.loop(LENGTH, lambda i: m.put(d, i, m.get(s, i) + m.get(view, 31 - i)))

    return [m.made(s), m.nodes.viewed(s, "int32", LENGTH, with_view), m.out(d)]


def alias_at_the_same_index(m):
    s, d = m.buffer("s"), m.buffer("d")

    def with_view(view):
        return m.loop(LENGTH, lambda i: m.put(d, i, m.get(s, i) + m.get(view, i)))

    return [m.made(s), m.nodes.viewed(s, "int32", LENGTH, with_view), m.out(d)]


def pointer_into_the_middle(m):
    """``p = &s[8]``: p[i] is s[8 + i], and d[8 + i] may go there; the rest of d is made before."""
    s, d = m.buffer("s"), m.buffer("d")
    rest = m.nodes.pointed(s, 8, 24, "p", lambda p: m.loop(24, lambda i: m.put(d, i + 8, m.get(p, i) + 4)))
    return [m.made(s), m.loop(8, lambda i: m.put(d, i, m.get(s, i))), rest, m.out(d)]


def twice(outer):
    """Case 2: each element is written twice."""

    def step(m, s, d):
        if outer:
            return [m.loop(2, lambda _: m.loop(LENGTH, lambda i: m.put(d, i, m.get(s, i) + 1)))]
        return [m.loop(LENGTH, lambda i: m.loop(2, lambda _: m.put(d, i, m.get(s, i) + 1)))]

    return between(step)


def a_sibling_still_reads(m):
    """Case 7: only the second of two readers may overwrite."""
    x, a, b = m.buffer("x"), m.buffer("a"), m.buffer("b")
    return [
        m.made(x),
        m.loop(LENGTH, lambda i: m.put(a, i, m.get(x, i) * 2)),
        m.loop(LENGTH, lambda i: m.put(b, i, m.get(x, i) * 5)),
        m.loop(LENGTH, lambda i: m.put(m.output, i, m.get(a, i) - m.get(b, 31 - i))),
    ]


def shifted_slice(m):
    """Case 10: ``d[1:] = s[:-1]``."""
    s, d = m.buffer("s"), m.buffer("d")
    return [
        m.made(s),
        m.put(d, 0, m.get(s, 0)),
        m.loop(31, lambda i: m.put(d, i + 1, m.get(s, i))),
        m.out(d),
    ]


def carried(m):
    """What a loop made in one round it reads in the next."""
    s, d = m.buffer("s"), m.buffer("d")
    step = m.loop(3, lambda t: m.loop(LENGTH, lambda i: m.put(d, i, m.get(s, i) + t)))
    return [m.made(s), step, m.out(d)]


def view_of_another_type(m):
    """The bytes of `s` are looked at one by one."""
    s, d = m.buffer("s", 8), m.buffer("d")

    def with_view(view):
        return m.loop(LENGTH, lambda i: m.put(d, i, m.nodes.cast("int32", m.nodes.load(view, i))))

    return [m.made(s, 8), m.nodes.viewed(s, "uint8", LENGTH, with_view), m.out(d)]


def condition_read_later(m):
    """A branch reads `s` where `d` has been written."""
    s, d = m.buffer("s"), m.buffer("d")

    def element(i):
        late = m.nodes.branch(m.get(s, i) > 20, m.put(m.output, i, 1), m.put(m.output, i, 2))
        return [m.put(d, i, m.get(s, i) + 6), late]

    last = m.loop(LENGTH, lambda i: m.put(m.output, i, m.get(m.output, i) + m.get(d, 31 - i) * 7))
    return [m.made(s), m.loop(LENGTH, element), last]


#: Programs with the bytes of their arena: in place where it is right.
IN_PLACE = {
    "each": (each("serial"), 128),
    "each, unrolled": (each("unrolled"), 128),
    "each, vectorised": (each("vectorized"), 128),
    "each, parallel": (each("parallel"), 128),
    "chain": (chain, 128),
    "one nest": (one_nest, 128),
    "fused epilogue": (fused_epilogue, 64),
    "softmax": (softmax, 144),
    "padded copy": (padded(True), 128),
    "padded copy, zeros first": (padded(False), 128),
    "two nests": (two_nests(False), 128),
    "row to row": (row_to_row, 128),
    "fused loop": (fused_loop(False), 128),
    "ahead": (ahead("serial"), 128),
    "halves": (halves, 128),
    "alias at the same index": (alias_at_the_same_index, 128),
    "pointer into the middle": (pointer_into_the_middle, 128),
}
APART = {
    "alias at another index": (alias_at_another_index, 256),
    "twice": (twice(False), 256),
    "all twice": (twice(True), 256),
    "a sibling still reads": (a_sibling_still_reads, 256),
    "shifted slice": (shifted_slice, 256),
    "carried": (carried, 256),
    "ahead, parallel": (ahead("parallel"), 256),
    "ahead, vectorised": (ahead("vectorized"), 256),
    "two nests, read again": (two_nests(True), 256),
    "row by row": (row_by_row, 256),
    "fused loop, turned": (fused_loop(True), 256),
    "view of another type": (view_of_another_type, 160),
    "condition read later": (condition_read_later, 256),
}
