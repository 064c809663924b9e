"""Small programs on which memory planners have been wrong, with what they must compute.

`PROGRAMS` has them all, each with the shapes of its input and output and numpy code for the right answer.
"""

from tvm.script import tirx as T

from tests.answers import ANSWERS


@T.prim_func(s_tir=True)
def alias_read_at_another_index(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    src = T.alloc_buffer((8,), "float32")
    dst = T.alloc_buffer((8,), "float32")
    alias = T.decl_buffer((8,), "float32", data=src.data)
    for i in range(8):
        src[i] = A[i] * T.float32(2)
    for i in range(8):
        dst[i] = src[i] + alias[7 - i]
    for i in range(8):
        O[i] = dst[i]


@T.prim_func(s_tir=True)
def each_element_written_twice(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    src = T.alloc_buffer((8,), "float32")
    dst = T.alloc_buffer((8,), "float32")
    for i in range(8):
        src[i] = A[i] * T.float32(2)
    for i, j in T.grid(8, 2):
        dst[i] = src[i] + T.float32(1)
    for i in range(8):
        O[i] = dst[i]


@T.prim_func(s_tir=True)
def value_nobody_reads(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    kept = T.alloc_buffer((8,), "float32")
    unread = T.alloc_buffer((8,), "float32")
    for i in range(8):
        kept[i] = A[i] + T.float32(1)
    for i in range(8):
        unread[i] = A[i] * T.float32(5)
    for i in range(8):
        O[i] = kept[i]


@T.prim_func(s_tir=True)
def pieces_of_a_concatenation(A: T.Buffer((8,), "float32"), O: T.Buffer((16,), "float32")):
    whole = T.alloc_buffer((16,), "float32")
    first = T.alloc_buffer((8,), "float32")
    second = T.alloc_buffer((8,), "float32")
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


@T.prim_func(s_tir=True)
def consecutive_loops(A: T.Buffer((200,), "float32"), O: T.Buffer((200,), "float32")):
    for i in range(4):
        for j in range(10):
            one = T.alloc_buffer((200,), "float32")
            for k in range(200):
                one[k] = A[k] + T.Cast("float32", i)
            for k in range(200):
                O[k] = one[199 - k]
        for j in range(10):
            two = T.alloc_buffer((200,), "float32")
            for k in range(200):
                two[k] = O[k] * T.float32(2)
            for k in range(200):
                O[k] = two[199 - k]


@T.prim_func(s_tir=True)
def small_buffers_after_a_big_one(A: T.Buffer((200,), "float32"), O: T.Buffer((200,), "float32")):
    a = T.alloc_buffer((200,), "float32")
    a1 = T.alloc_buffer((200,), "float32")
    b = T.alloc_buffer((200,), "int16")
    c = T.alloc_buffer((200,), "int16")
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


@T.prim_func(s_tir=True)
def carried_by_the_loop(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    state = T.alloc_buffer((8,), "float32")
    fresh = T.alloc_buffer((8,), "float32")
    for i in range(8):
        state[i] = A[i]
    for t in range(5):
        for i in range(8):
            fresh[i] = state[i] * T.float32(0.5)
        for i in range(8):
            state[i] = fresh[7 - i] + T.float32(1)
    for i in range(8):
        O[i] = state[i]


@T.prim_func(s_tir=True)
def read_again_in_each_iteration(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    base = T.alloc_buffer((8,), "float32")
    turned = T.alloc_buffer((8,), "float32")
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


@T.prim_func(s_tir=True)
def branches(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    before = T.alloc_buffer((8,), "float32")
    for i in range(8):
        before[i] = A[i] + T.float32(1)
    if A[0] > T.float32(0):
        then = T.alloc_buffer((8,), "float32")
        for i in range(8):
            then[i] = before[7 - i] * T.float32(2)
        for i in range(8):
            O[i] = then[i] + before[i]
    else:
        orelse = T.alloc_buffer((8,), "float32")
        for i in range(8):
            orelse[i] = before[7 - i] * T.float32(3)
        for i in range(8):
            O[i] = orelse[i] - before[i]


@T.prim_func(s_tir=True)
def while_condition_reads(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    count = T.alloc_buffer((1,), "int32")
    scratch = T.alloc_buffer((8,), "float32")
    count[0] = 0
    for i in range(8):
        O[i] = A[i]
    while count[0] < 4:
        for i in range(8):
            scratch[i] = O[7 - i] + T.float32(1)
        for i in range(8):
            O[i] = scratch[i] * T.float32(0.5)
        count[0] = count[0] + 1


@T.prim_func(s_tir=True)
def pointer_bound_by_let(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    T.func_attr({"tirx.noalias": True})
    src = T.alloc_buffer((16,), "float32")
    dst = T.alloc_buffer((8,), "float32")
    for i in range(16):
        src[i] = A[i % 8] * T.Cast("float32", i)
    half: T.let = T.address_of(src[8])
    upper = T.decl_buffer((8,), "float32", data=half)
    for i in range(8):
        dst[i] = src[i] + upper[7 - i]
    for i in range(8):
        O[i] = dst[i]


@T.prim_func(s_tir=True)
def address_given_to_a_call(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    one = T.alloc_buffer((8,), "float32")
    two = T.alloc_buffer((8,), "float32")
    for i in range(8):
        one[i] = A[i] + T.float32(1)
    for i in range(8):
        two[i] = A[i] * T.float32(2)
    T.evaluate(T.call_extern("int32", "memmove", T.address_of(one[0]), T.address_of(two[4]), T.uint64(16)))
    for i in range(8):
        O[i] = one[i]


@T.prim_func(s_tir=True)
def mixed_types(A: T.Buffer((16,), "float32"), O: T.Buffer((16,), "float32")):
    wide = T.alloc_buffer((16,), "float64")
    whole = T.alloc_buffer((16,), "int32")
    short = T.alloc_buffer((16,), "int8")
    mask = T.alloc_buffer((16,), "bool")
    half = T.alloc_buffer((16,), "int16")
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


@T.prim_func(s_tir=True)
def size_depends_on_the_loop(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    keep = T.alloc_buffer((8,), "float32")
    for i in range(8):
        keep[i] = A[i]
    for k in range(8):
        view = T.alloc_buffer((10 * k + 1,), "float32")
        for i in range(10 * k + 1):
            view[i] = keep[k] + T.Cast("float32", i)
        O[k] = view[10 * k - k]


@T.prim_func(s_tir=True)
def predicated_stores(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    base = T.alloc_buffer((8,), "float32")
    kept = T.alloc_buffer((8,), "float32")
    for i in range(8):
        base[i] = A[7 - i]
    for i in range(8):
        kept[i] = base[i] + T.float32(1)
    for h in range(2):
        lanes: T.let = base[T.Ramp(h * 4, 1, 4)]
        T.masked_store(
            kept,
            lanes * T.Broadcast(T.float32(2), 4),
            T.Ramp(h * 4, 1, 4),
            lanes > T.Broadcast(T.float32(0), 4),
        )
    for i in range(8):
        O[i] = kept[i]


@T.prim_func(s_tir=True)
def leaves_a_loop_early(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    total = T.alloc_buffer((8,), "float32")
    turned = T.alloc_buffer((8,), "float32")
    for i in range(8):
        total[i] = A[i] + T.float32(1)
    for i in range(8):
        turned[i] = total[i]
    for t in range(4):
        copy = T.alloc_buffer((8,), "float32")
        for i in range(8):
            copy[i] = turned[7 - i] * T.float32(0.5)
        for i in range(8):
            turned[i] = copy[i]
        if turned[0] < T.float32(1):
            break
        for i in range(8):
            total[i] = total[i] + turned[i]
    for i in range(8):
        O[i] = total[i] + turned[i]


@T.prim_func(s_tir=True)
def returns_early(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    base = T.alloc_buffer((8,), "float32")
    turned = T.alloc_buffer((8,), "float32")
    for i in range(8):
        base[i] = A[i] + T.float32(1)
    if A[0] > T.float32(0):
        for i in range(8):
            O[i] = base[i]
        return T.int32(0)
    for i in range(8):
        turned[i] = base[7 - i]
    for i in range(8):
        O[i] = turned[i] * T.float32(3)


@T.prim_func(s_tir=True)
def both_touched_in_one_leaf(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    one = T.alloc_buffer((8,), "float32")
    two = T.alloc_buffer((8,), "float32")
    three = T.alloc_buffer((8,), "float32")
    for i in range(8):
        one[i] = A[i] + T.float32(1)
    for i in range(8):
        two[i] = one[7 - i]
    for i in range(8):
        three[i] = A[i] * T.float32(3)
    for i in range(8):
        O[i] = two[i] + three[i]


@T.prim_func(s_tir=True)
def parallel_workers(A: T.Buffer((32,), "float32"), O: T.Buffer((32,), "float32")):
    doubled = T.alloc_buffer((32,), "float32")
    for i in range(32):
        doubled[i] = A[i] * T.float32(2)
    for r in T.parallel(4):
        row = T.alloc_buffer((8,), "float32")
        turned = T.alloc_buffer((8,), "float32")
        for i in range(8):
            row[i] = doubled[r * 8 + i] + T.float32(1)
        for i in range(8):
            turned[i] = row[7 - i]
        for i in range(8):
            O[r * 8 + i] = turned[i] + doubled[r * 8 + i]


@T.prim_func(s_tir=True)
def view_of_a_view(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    first = T.alloc_buffer((8,), "float32")
    second = T.alloc_buffer((8,), "float32")
    view = T.decl_buffer((8,), "float32", data=first.data)
    upper: T.let = T.address_of(view[4])
    end = T.decl_buffer((4,), "float32", data=upper)
    for i in range(8):
        first[i] = A[i] + T.float32(1)
    for i in range(4):
        second[i + 4] = view[i] * T.float32(2)
    T.evaluate(T.call_extern("int32", "memmove", second.access_ptr("w"), upper, T.uint64(16)))
    for i in range(4):
        end[i] = T.float32(-1)
    for i in range(8):
        O[i] = second[i]


@T.prim_func(s_tir=True)
def read_by_two_siblings(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    x = T.alloc_buffer((8,), "float32")
    one = T.alloc_buffer((8,), "float32")
    two = T.alloc_buffer((8,), "float32")
    for i in range(8):
        x[i] = A[i] * T.float32(3)
    for i in range(8):
        one[i] = T.max(x[i], T.float32(0))
        two[i] = x[i] - T.float32(1)
    for i in range(8):
        O[i] = one[i] + two[7 - i] * T.float32(5)


@T.prim_func(s_tir=True)
def shifted_slice(A: T.Buffer((4,), "float32"), O: T.Buffer((4,), "float32")):
    base = T.alloc_buffer((4,), "float32")
    moved = T.alloc_buffer((4,), "float32")
    for i in range(4):
        base[i] = A[i] + T.float32(1)
    moved[0] = base[0]
    for i in range(3):
        moved[i + 1] = base[i]
    for i in range(4):
        O[i] = moved[i]


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
        predicated_stores,
        leaves_a_loop_early,
        returns_early,
        both_touched_in_one_leaf,
        parallel_workers,
        view_of_a_view,
        read_by_two_siblings,
        shifted_slice,
    )
}
