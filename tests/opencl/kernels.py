"""Kernels with shared memory, as text that both TVM lines read.

``SHARED(n)`` allocates n floats for the block, ``LOCAL(n)`` n registers.

None of them has a barrier in it: ThreadSync puts in those that each buffer by itself needs.
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("tvm", reason="needs a TVM, of either line")

import tvm.script

try:
    from tvm.script import tirx as T

    DECORATOR, ALLOCATE = "@T.prim_func(s_tir=True)", "T.alloc_buffer"
except ImportError:
    from tvm.script import tir as T

    DECORATOR, ALLOCATE = "@T.prim_func", "T.decl_buffer"


@dataclass(frozen=True)
class Kernel:
    """A kernel with the elements of its arguments, the last one being the output, and its threads."""

    body: str
    elements: dict[str, int]
    block: tuple[int, ...]
    grid: tuple[int, ...] = (2,)
    scope: str = "shared"

    @property
    def function(self):
        """The PrimFunc."""
        parameters = ", ".join(f'{name}: T.Buffer(({n},), "float32")' for name, n in self.elements.items())
        lines = [DECORATOR, f"def entry({parameters}):"]
        threads = [("blockIdx", self.grid), ("threadIdx", self.block)]
        bound = [(kind, axis, extent) for kind, extents in threads for axis, extent in zip("xyz", extents)]
        for depth, (kind, axis, extent) in enumerate(bound, 1):
            variable = {"blockIdx": "b", "threadIdx": "t"}[kind] + axis
            lines.append("    " * depth + f'for {variable} in T.thread_binding({extent}, "{kind}.{axis}"):')
        body = re.sub(r"\bSHARED\((\d+)\)", rf'{ALLOCATE}((\1,), "float32", scope="{self.scope}")', self.body)
        body = re.sub(r"\bLOCAL\((\d+)\)", rf'{ALLOCATE}((\1,), "float32", scope="local")', body)
        lines += ["    " * (len(bound) + 1) + line for line in body.strip("\n").splitlines()]
        return tvm.script.from_source("\n".join(lines), {"T": T})

    def inputs(self, seed):
        """Random arguments by name; the output is full of something else than zero."""
        random = np.random.default_rng(seed)
        made = {name: random.uniform(-2, 2, n).astype("float32") for name, n in self.elements.items()}
        made[list(made)[-1]][:] = -7
        return made


PIPELINE = Kernel(
    """
s1 = SHARED(128)
s2 = SHARED(128)
s3 = SHARED(128)
s1[tx] = A[bx * 128 + tx]
s2[tx] = s1[127 - tx] * T.float32(2)
s3[tx] = s2[127 - tx] + T.float32(1)
O[bx * 128 + tx] = s3[(tx + 5) % 128]
""",
    {"A": 256, "O": 256},
    (128,),
)

#: Case 12: both are touched in the statement in the middle, and nothing orders the threads there.
ONE_STATEMENT = Kernel(
    """
a = SHARED(128)
b = SHARED(128)
a[tx] = A[bx * 128 + tx]
b[tx] = a[tx] * T.float32(2)
O[bx * 128 + tx] = b[127 - tx] + a[(tx + 3) % 128]
""",
    {"A": 256, "O": 256},
    (128,),
)

#: Case 24: one float beside many.
TINY = Kernel(
    """
a = SHARED(1)
b = SHARED(128)
if tx == 0:
    a[0] = A[bx * 128 + 7]
b[tx] = A[bx * 128 + tx] + a[0]
O[bx * 128 + tx] = b[127 - tx]
""",
    {"A": 256, "O": 256},
    (128,),
)

#: Case 17: nothing of `third` depends on the others, so there is no barrier before it is written.
NO_BARRIER = Kernel(
    """
first = SHARED(128)
second = SHARED(128)
third = SHARED(128)
first[tx] = A[bx * 128 + tx]
second[tx] = first[127 - tx] * T.float32(2)
third[tx] = A[bx * 128 + 127 - tx] + T.float32(1)
O[bx * 128 + tx] = third[(tx + 5) % 128] + second[(tx + 9) % 128]
""",
    {"A": 256, "O": 256},
    (128,),
)

#: Case 13: a loop over tiles, and then a buffer that has nothing to do with them.
TILES_THEN_ANOTHER = Kernel(
    """
total = LOCAL(1)
a = SHARED(128)
b = SHARED(128)
c = SHARED(256)
total[0] = T.float32(0)
for k in range(4):
    a[tx] = A[k * 128 + tx]
    b[tx] = A[511 - k * 128 - tx]
    for j in range(8):
        total[0] = total[0] + a[(tx + j * 16) % 128] * b[(tx * 3 + j) % 128]
c[tx] = total[0] + A[tx]
c[tx + 128] = total[0] - A[tx]
O[bx * 128 + tx] = c[(tx + 31) % 256] + c[255 - tx]
""",
    {"A": 512, "O": 256},
    (128,),
)

#: 4 KiB and 4 KiB, then 6 KiB and 2 KiB.
TWO_PAIRS = Kernel(
    """
a = SHARED(1024)
b = SHARED(1024)
c = SHARED(1536)
d = SHARED(512)
sums = LOCAL(1)
for i in range(8):
    a[i * 128 + tx] = A[i * 128 + tx]
    b[i * 128 + tx] = A[1023 - i * 128 - tx]
sums[0] = T.float32(0)
for i in range(8):
    sums[0] = sums[0] + a[(i * 128 + tx * 7) % 1024] * b[(i * 128 + tx * 5) % 1024]
for i in range(12):
    c[i * 128 + tx] = sums[0] + A[(i * 128 + tx) % 1024]
for i in range(4):
    d[i * 128 + tx] = sums[0] - A[i * 128 + tx]
O[bx * 128 + tx] = c[(tx * 11 + 5) % 1536] + d[(tx * 3 + 2) % 512]
""",
    {"A": 1024, "O": 256},
    (128,),
)

MATMUL = Kernel(
    """
acc = LOCAL(1)
a = SHARED(512)
b = SHARED(512)
c = SHARED(256)
acc[0] = T.float32(0)
a[ty * 16 + tx] = A[(bx * 16 + ty) * 64 + tx]
b[ty * 16 + tx] = B[ty * 64 + by * 16 + tx]
for k in range(3):
    a[(k + 1) % 2 * 256 + ty * 16 + tx] = A[(bx * 16 + ty) * 64 + (k + 1) * 16 + tx]
    b[(k + 1) % 2 * 256 + ty * 16 + tx] = B[((k + 1) * 16 + ty) * 64 + by * 16 + tx]
    for j in range(16):
        acc[0] = acc[0] + a[k % 2 * 256 + ty * 16 + j] * b[k % 2 * 256 + j * 16 + tx]
for j in range(16):
    acc[0] = acc[0] + a[256 + ty * 16 + j] * b[256 + j * 16 + tx]
c[tx * 16 + ty] = T.max(acc[0], T.float32(0))
O[(by * 16 + ty) * 64 + bx * 16 + tx] = c[ty * 16 + tx]
""",
    {"A": 4096, "B": 4096, "O": 4096},
    (16, 16),
    (4, 4),
)

SOFTMAX = Kernel(
    """
x = SHARED(128)
most = SHARED(128)
e = SHARED(128)
total = SHARED(128)
x[tx] = A[bx * 128 + tx]
most[tx] = x[tx]
for s in range(7):
    if tx < T.shift_right(64, s):
        most[tx] = T.max(most[tx], most[tx + T.shift_right(64, s)])
e[tx] = T.exp(x[tx] - most[0])
total[tx] = e[tx]
for s in range(7):
    if tx < T.shift_right(64, s):
        total[tx] = total[tx] + total[tx + T.shift_right(64, s)]
O[bx * 128 + tx] = e[tx] / total[0]
""",
    {"A": 256, "O": 256},
    (128,),
)

ATTENTION = Kernel(
    """
q = SHARED(512)
k = SHARED(512)
s = SHARED(256)
p = SHARED(256)
v = SHARED(512)
acc = LOCAL(1)
row = LOCAL(2)
for h in range(2):
    q[ty * 32 + h * 16 + tx] = Q[(bx * 16 + ty) * 32 + h * 16 + tx]
    k[ty * 32 + h * 16 + tx] = K[ty * 32 + h * 16 + tx]
acc[0] = T.float32(0)
for d in range(32):
    acc[0] = acc[0] + q[ty * 32 + d] * k[tx * 32 + d]
s[ty * 16 + tx] = acc[0] * T.float32(0.176776695)
row[0] = s[ty * 16]
for j in range(15):
    row[0] = T.max(row[0], s[ty * 16 + j + 1])
row[1] = T.float32(0)
for j in range(16):
    row[1] = row[1] + T.exp(s[ty * 16 + j] - row[0])
p[ty * 16 + tx] = T.exp(s[ty * 16 + tx] - row[0]) / row[1]
for h in range(2):
    v[ty * 32 + h * 16 + tx] = V[ty * 32 + h * 16 + tx]
for h in range(2):
    acc[0] = T.float32(0)
    for j in range(16):
        acc[0] = acc[0] + p[ty * 16 + j] * v[j * 32 + h * 16 + tx]
    O[(bx * 16 + ty) * 32 + h * 16 + tx] = acc[0]
""",
    {"Q": 1024, "K": 512, "V": 512, "O": 1024},
    (16, 16),
)

KERNELS = {
    "three-stage pipeline": PIPELINE,
    "no barrier (case 17)": NO_BARRIER,
    "tiles, then another (case 13)": TILES_THEN_ANOTHER,
    "4K+4K, then 6K+2K": TWO_PAIRS,
    "matmul, double buffers": MATMUL,
    "softmax": SOFTMAX,
    "attention tile": ATTENTION,
}
