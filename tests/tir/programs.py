"""Small programs on which memory planners have been wrong, with what they must compute.

`PROGRAMS` has them all, each with the shapes of its input and output and numpy code for the right answer.
"""

from tvm.script import tir as T

from tests.answers import ANSWERS


@T.prim_func
def alias_read_at_another_index(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    src = T.decl_buffer((8,), "float32")
    dst = T.decl_buffer((8,), "float32")
    alias = T.decl_buffer((8,), "float32", data=src.data)
    for i in range(8):
        src[i] = A[i] * T.float32(2)
    for i in range(8):
        dst[i] = src[i] + alias[7 - i]
    for i in range(8):
        O[i] = dst[i]


@T.prim_func
def each_element_written_twice(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    src = T.decl_buffer((8,), "float32")
    dst = T.decl_buffer((8,), "float32")
    for i in range(8):
        src[i] = A[i] * T.float32(2)
    for i, j in T.grid(8, 2):
        dst[i] = src[i] + T.float32(1)
    for i in range(8):
        O[i] = dst[i]


@T.prim_func
def value_nobody_reads(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    kept = T.decl_buffer((8,), "float32")
    unread = T.decl_buffer((8,), "float32")
    for i in range(8):
        kept[i] = A[i] + T.float32(1)
    for i in range(8):
        unread[i] = A[i] * T.float32(5)
    for i in range(8):
        O[i] = kept[i]


@T.prim_func
def pieces_of_a_concatenation(A: T.Buffer((8,), "float32"), O: T.Buffer((16,), "float32")):
    whole = T.decl_buffer((16,), "float32")
    first = T.decl_buffer((8,), "float32")
    second = T.decl_buffer((8,), "float32")
    for i in range(8):
        first[i] = A[i] + T.float32(1)
    for i in range(8):
        whole[i] = first[i]
    for i in range(8):
        second[i] = A[i] * T.float32(3)
    for i in range(8):
        whole[i + 8] = second[i]
    for i in range(16):
        O[i] = whole[i]


@T.prim_func
def consecutive_loops(A: T.Buffer((200,), "float32"), O: T.Buffer((200,), "float32")):
    for i in range(4):
        for j in range(10):
            one = T.decl_buffer((200,), "float32")
            for k in range(200):
                one[k] = A[k] + T.Cast("float32", i)
            for k in range(200):
                O[k] = one[199 - k]
        for j in range(10):
            two = T.decl_buffer((200,), "float32")
            for k in range(200):
                two[k] = O[k] * T.float32(2)
            for k in range(200):
                O[k] = two[199 - k]


@T.prim_func
def small_buffers_after_a_big_one(A: T.Buffer((200,), "float32"), O: T.Buffer((200,), "float32")):
    a = T.decl_buffer((200,), "float32")
    a1 = T.decl_buffer((200,), "float32")
    b = T.decl_buffer((200,), "int16")
    c = T.decl_buffer((200,), "int16")
    for i in range(200):
        a[i] = A[i] * T.float32(10)
    for i in range(200):
        a1[i] = a[i] + T.float32(100)
    for i in range(200):
        O[i] = a1[199 - i]
    for i in range(200):
        b[i] = T.Cast("int16", a[i])
    for i in range(200):
        c[i] = b[199 - i] + T.int16(7)
    for i in range(200):
        O[i] = O[i] + T.Cast("float32", b[i]) + T.Cast("float32", c[i]) + a[i]


@T.prim_func
def carried_by_the_loop(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    state = T.decl_buffer((8,), "float32")
    fresh = T.decl_buffer((8,), "float32")
    for i in range(8):
        state[i] = A[i]
    for t in range(5):
        for i in range(8):
            fresh[i] = state[i] * T.float32(0.5)
        for i in range(8):
            state[i] = fresh[7 - i] + T.float32(1)
    for i in range(8):
        O[i] = state[i]


@T.prim_func
def read_again_in_each_iteration(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    base = T.decl_buffer((8,), "float32")
    turned = T.decl_buffer((8,), "float32")
    for i in range(8):
        base[i] = A[i] + T.float32(1)
    for i in range(8):
        O[i] = T.float32(0)
    for t in range(3):
        for i in range(8):
            O[i] = O[i] + base[i]
        for i in range(8):
            turned[i] = O[7 - i]
        for i in range(8):
            O[i] = turned[i] * T.float32(2)


@T.prim_func
def branches(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    before = T.decl_buffer((8,), "float32")
    for i in range(8):
        before[i] = A[i] + T.float32(1)
    if A[0] > T.float32(0):
        then = T.decl_buffer((8,), "float32")
        for i in range(8):
            then[i] = before[7 - i] * T.float32(2)
        for i in range(8):
            O[i] = then[i] + before[i]
    else:
        orelse = T.decl_buffer((8,), "float32")
        for i in range(8):
            orelse[i] = before[7 - i] * T.float32(3)
        for i in range(8):
            O[i] = orelse[i] - before[i]


@T.prim_func
def while_condition_reads(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    count = T.decl_buffer((1,), "int32")
    scratch = T.decl_buffer((8,), "float32")
    count[0] = 0
    for i in range(8):
        O[i] = A[i]
    while count[0] < 4:
        for i in range(8):
            scratch[i] = O[7 - i] + T.float32(1)
        for i in range(8):
            O[i] = scratch[i] * T.float32(0.5)
        count[0] = count[0] + 1


@T.prim_func
def pointer_bound_by_let(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    src = T.decl_buffer((16,), "float32")
    dst = T.decl_buffer((8,), "float32")
    for i in range(16):
        src[i] = A[i % 8] * T.Cast("float32", i)
    half: T.handle("float32") = T.address_of(src[8])
    upper = T.Buffer((8,), "float32", data=half)
    for i in range(8):
        dst[i] = src[i] + upper[7 - i]
    for i in range(8):
        O[i] = dst[i]


@T.prim_func
def address_given_to_a_call(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    one = T.decl_buffer((8,), "float32")
    two = T.decl_buffer((8,), "float32")
    for i in range(8):
        one[i] = A[i] + T.float32(1)
    for i in range(8):
        two[i] = A[i] * T.float32(2)
    T.evaluate(T.call_extern("int32", "memmove", T.address_of(one[0]), T.address_of(two[4]), T.uint64(16)))
    for i in range(8):
        O[i] = one[i]


@T.prim_func
def mixed_types(A: T.Buffer((16,), "float32"), O: T.Buffer((16,), "float32")):
    wide = T.decl_buffer((16,), "float64")
    whole = T.decl_buffer((16,), "int32")
    short = T.decl_buffer((16,), "int8")
    mask = T.decl_buffer((16,), "bool")
    half = T.decl_buffer((16,), "int16")
    for i in range(16):
        whole[i] = T.Cast("int32", A[i] * T.float32(8))
    for i in range(16):
        short[i] = T.Cast("int8", whole[15 - i])
    for i in range(16):
        mask[i] = short[i] > T.int8(0)
    for i in range(16):
        wide[i] = T.Cast("float64", short[i]) * T.float64(0.5)
    for i in range(16):
        half[i] = T.Cast("int16", T.if_then_else(mask[15 - i], wide[i], T.float64(-1)))
    for i in range(16):
        O[i] = T.Cast("float32", half[15 - i])


@T.prim_func
def size_depends_on_the_loop(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    keep = T.decl_buffer((8,), "float32")
    for i in range(8):
        keep[i] = A[i]
    for k in range(8):
        grown = T.allocate((10 * k + 1,), "float32", "global")
        view = T.Buffer((10 * k + 1,), "float32", data=grown)
        for i in range(10 * k + 1):
            view[i] = keep[k] + T.Cast("float32", i)
        O[k] = view[10 * k - k]


@T.prim_func
def read_by_two_siblings(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    x = T.decl_buffer((8,), "float32")
    one = T.decl_buffer((8,), "float32")
    two = T.decl_buffer((8,), "float32")
    for i in range(8):
        x[i] = A[i] * T.float32(3)
    for i in range(8):
        one[i] = T.max(x[i], T.float32(0))
        two[i] = x[i] - T.float32(1)
    for i in range(8):
        O[i] = one[i] + two[7 - i] * T.float32(5)


@T.prim_func
def shifted_slice(A: T.Buffer((4,), "float32"), O: T.Buffer((4,), "float32")):
    base = T.decl_buffer((4,), "float32")
    moved = T.decl_buffer((4,), "float32")
    for i in range(4):
        base[i] = A[i] + T.float32(1)
    moved[0] = base[0]
    for i in range(3):
        moved[i + 1] = base[i]
    for i in range(4):
        O[i] = moved[i]


@T.prim_func
def one_of_two_buffers(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    one = T.decl_buffer((8,), "float32")
    two = T.decl_buffer((8,), "float32")
    last = T.decl_buffer((8,), "float32")
    for i in range(8):
        one[i] = A[i] + T.float32(1)
    for i in range(8):
        two[i] = A[i] * T.float32(2)
    either: T.handle("float32") = T.if_then_else(A[0] > T.float32(0), one.data, two.data)
    chosen = T.Buffer((8,), "float32", data=either)
    for i in range(8):
        last[i] = A[i] - T.float32(4)
    for i in range(8):
        chosen[i] = chosen[i] + T.float32(10)
    for i in range(8):
        O[i] = one[i] + two[i] * T.float32(7) + last[7 - i]


PROGRAMS = {
    program: ANSWERS[str(program.attrs["global_symbol"])]
    for program in (
        alias_read_at_another_index,
        each_element_written_twice,
        value_nobody_reads,
        pieces_of_a_concatenation,
        consecutive_loops,
        small_buffers_after_a_big_one,
        carried_by_the_loop,
        read_again_in_each_iteration,
        branches,
        while_condition_reads,
        pointer_bound_by_let,
        address_given_to_a_call,
        mixed_types,
        size_depends_on_the_loop,
        read_by_two_siblings,
        shifted_slice,
        one_of_two_buffers,
    )
}
