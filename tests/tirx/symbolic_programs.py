"""Functions whose buffers have sizes that are not constants."""

from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def one_after_the_other(a: T.handle, o: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    O = T.match_buffer(o, (n,), "float32")
    one = T.alloc_buffer((n,), "float32")
    two = T.alloc_buffer((n * 2,), "float32")
    for i in range(n):
        one[i] = A[i] + T.float32(1)
    for i in range(n):
        O[i] = one[n - 1 - i]
    for i in range(n * 2):
        two[i] = A[i // 2] * T.float32(3)
    for i in range(n):
        O[i] = O[i] + two[n * 2 - 1 - i]


@T.prim_func(s_tir=True)
def several_types(a: T.handle, o: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    O = T.match_buffer(o, (n,), "float32")
    fixed = T.alloc_buffer((4,), "float32")
    short = T.alloc_buffer((n + 1,), "int8")
    wide = T.alloc_buffer((n * 3 + 3,), "float64")
    whole = T.alloc_buffer((n + 1,), "int32")
    for i in range(4):
        fixed[i] = T.Cast("float32", i)
    for i in range(n):
        short[i] = T.Cast("int8", A[n - 1 - i] * T.float32(9))
    for i in range(n * 3):
        wide[i] = T.Cast("float64", short[i // 3]) + T.Cast("float64", fixed[i % 4])
    for i in range(n):
        whole[i] = T.Cast("int32", wide[i * 3 + 1]) + T.Cast("int32", short[n - 1 - i])
    for i in range(n):
        O[i] = T.Cast("float32", whole[n - 1 - i]) + T.Cast("float32", wide[i])


@T.prim_func(s_tir=True)
def rows_and_columns(a: T.handle, o: T.handle):
    m = T.int64()
    n = T.int64()
    A = T.match_buffer(a, (m, n), "float32")
    O = T.match_buffer(o, (m, n), "float32")
    one = T.alloc_buffer((m * n,), "float32")
    two = T.alloc_buffer((m * n,), "float32")
    for i, j in T.grid(m, n):
        one[i * n + j] = A[i, j] + T.float32(1)
    for i in range(m * n):
        two[i] = one[m * n - 1 - i] * T.float32(2)
    for i, j in T.grid(m, n):
        O[i, j] = two[i * n + j]


@T.prim_func(s_tir=True)
def in_every_worker(a: T.handle, o: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n), "float32")
    O = T.match_buffer(o, (4, n), "float32")
    for r in T.parallel(4):
        row = T.alloc_buffer((n,), "float32")
        turned = T.alloc_buffer((n,), "float32")
        for i in range(n):
            row[i] = A[r, i] + T.float32(1)
        for i in range(n):
            turned[i] = row[n - 1 - i]
        for i in range(n):
            O[r, i] = turned[i] * T.float32(2)


@T.prim_func(s_tir=True)
def a_size_that_is_loaded(a: T.handle, o: T.handle):
    A = T.match_buffer(a, (8,), "float32")
    O = T.match_buffer(o, (8,), "float32")
    many: T.let = T.Cast("int32", A[0]) + 8
    grown = T.alloc_buffer((many,), "float32")
    for i in range(8):
        grown[i] = A[7 - i]
    for i in range(8):
        O[i] = grown[i] + T.float32(1)


@T.prim_func(s_tir=True)
def rows_and_columns_of_32_bits(a: T.handle, o: T.handle):
    m = T.int32()
    n = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    O = T.match_buffer(o, (m, n), "float32")
    one = T.alloc_buffer((m * n,), "float32")
    two = T.alloc_buffer((m * n,), "float32")
    for i, j in T.grid(m, n):
        one[i * n + j] = A[i, j] + T.float32(1)
    for i in range(m * n):
        two[i] = one[m * n - 1 - i] * T.float32(2)
    for i, j in T.grid(m, n):
        O[i, j] = two[i * n + j]


@T.prim_func(s_tir=True)
def sizes_under_a_condition(a: T.handle, o: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    O = T.match_buffer(o, (n,), "float32")
    for i in range(n):
        O[i] = A[i]
    if n > 5:
        one = T.alloc_buffer((n - 5,), "float32")
        for i in range(n - 5):
            one[i] = A[i] + T.float32(1)
        for i in range(n - 5):
            O[i] = one[n - 6 - i]
    for k in range(n // 4):
        two = T.alloc_buffer((n - 2,), "float32")
        for i in range(3):
            two[i] = A[i] * T.float32(2)
        for i in range(3):
            O[i] = two[2 - i]


@T.prim_func(s_tir=True)
def a_difference(A: T.Buffer((4,), "float32"), O: T.Buffer((4,), "float32"), n: T.int32, d: T.int32):
    big = T.alloc_buffer((n - d,), "float32")
    for i in range(n - d):
        big[i] = A[i % 4] * T.float32(2)
    for i in range(4):
        O[i] = big[i]


@T.prim_func(s_tir=True)
def registers_of_a_bounded_size(a: T.handle, o: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    O = T.match_buffer(o, (n,), "float32")
    kept = T.alloc_buffer((4,), "float32")
    registers = T.alloc_buffer((n,), "float32", scope="local")
    for i in range(4):
        kept[i] = T.float32(1)
    for i in range(n):
        registers[i] = A[i]
    for i in range(n):
        O[i] = registers[i] + kept[i % 4]
