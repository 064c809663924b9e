"""Small programs with a copy in them, before StorageFlatten: where it may be read through, and where it may not.

Each takes A and writes O; S is the copy. In the second half reading through S would compute something else.
"""

from tvm.script import tir as T


@T.prim_func
def reversed_copy(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] + 1
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def padded(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((10,), "int32")
    T.realize(S[0:10], "")
    for i in range(10):
        S[i] = T.if_then_else(i >= 1 and i < 9, A[i - 1], -5)
    for i in range(8):
        O[i] = 0
        for d in range(3):
            O[i] = O[i] + S[i + d]


@T.prim_func
def chain(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    R = T.Buffer((4, 2), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[7 - i] * 2
    T.realize(R[0:4, 0:2], "")
    for i, j in T.grid(4, 2):
        R[i, j] = S[i * 2 + j] - 3
    for k in range(8):
        O[k] = R[k // 2, k % 2]


@T.prim_func
def tile(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    for k in range(4):
        S = T.Buffer((8,), "int32")
        with T.realize(S[k * 2 : k * 2 + 2], ""):
            for i in range(2):
                S[k * 2 + i] = A[k * 2 + i] + k
            for i in range(2):
                O[k * 2 + i] = S[k * 2 + 1 - i]


@T.prim_func
def guarded_read(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:4], "")
    for i in range(4):
        S[i] = A[i * 2] + 1
    for i in range(8):
        O[i] = T.if_then_else(i < 4, S[i], 7)


GONE = {
    "reversed copy": reversed_copy,
    "padded": padded,
    "chain": chain,
    "tile": tile,
    "guarded read": guarded_read,
}


@T.prim_func
def source_written_later(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    for i in range(8):
        O[i] = A[i] * 3
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = O[i] + 1
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def source_may_be_the_output(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] + 1
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def source_changes_from_round_to_round(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    P = T.Buffer((1,), "int32")
    S = T.Buffer((8,), "int32")
    T.realize(P[0:1], "")
    T.realize(S[0:8], "")
    for k in range(8):
        P[0] = A[k]
        S[k] = P[0] + 1
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def made_of_itself(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = S[i] + A[i]
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def stored_twice(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] + 1
    for i in range(4):
        S[i] = 0
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def every_element_written_in_two_rounds(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i, j in T.grid(8, 2):
        S[i] = A[i] + j
    for i, j in T.grid(8, 1):
        O[i] = S[7 - i]


@T.prim_func
def address_taken(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] + 1
    T.evaluate(T.call_extern("handle", "memset", T.address_of(S[0]), 0, 16))
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def source_address_taken(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] + 1
    T.evaluate(T.call_extern("handle", "memset", T.address_of(A[0]), 0, 16))
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def read_where_nothing_was_stored(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(4):
        S[i] = A[i * 2] + 1
    for i in range(8):
        # Both sides of a Select are evaluated: there is memory behind S[7], but none behind A[14].
        O[i] = T.Select(i < 4, S[i], 7)


@T.prim_func
def dear_and_read_often(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = T.q_multiply_shift(A[i], 1395864371, 31, 2, dtype="int32")
    for i, j in T.grid(8, 8):
        O[i] = S[i] + S[j]


@T.prim_func
def padded_and_read_for_every_channel(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = T.if_then_else(i >= 1, A[i], 0)
    for i, j in T.grid(8, 33):
        O[i] = S[i] + j


@T.prim_func
def float_product(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "float32")
    T.realize(S[0:8], "")
    for i in range(8):
        S[i] = A[i] * A[i]
    for i in range(8):
        O[i] = S[i] - A[7 - i]


@T.prim_func
def in_memory_of_another_kind(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32", scope="shared")
    T.realize(S[0:8], "shared")
    for i in range(8):
        S[i] = A[i] + 1
    for i in range(8):
        O[i] = S[7 - i]


@T.prim_func
def shared_by_threads(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    t = T.env_thread("threadIdx.x")
    T.realize(S[0:8], "")
    with T.launch_thread(t, 8):
        S[t] = A[t] + 1
        O[t] = S[7 - t]


@T.prim_func(check_well_formed=False)
def an_attribute_names_it(A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")):
    T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
    S = T.Buffer((8,), "int32")
    with T.attr(S.data, "double_buffer_scope", 1):
        T.realize(S[0:8], "")
        for i in range(8):
            S[i] = A[i] + 1
        for i in range(8):
            O[i] = S[7 - i]


#: What is not worth it, or nothing can be said about.
LEFT_ALONE = {
    "dear and read often": dear_and_read_often,
    "padded and read for every channel": padded_and_read_for_every_channel,
    "float product": float_product,
    "in memory of another kind": in_memory_of_another_kind,
    "shared by threads": shared_by_threads,
    "an attribute names it": an_attribute_names_it,
}

#: The program, and the rule of `tvm_memplan.dialects.tir.copies` that keeps its copy.
KEPT = {
    "source written later": (source_written_later, "_sources_stay"),
    "source may be the output": (source_may_be_the_output, "_sources_are_apart"),
    "source changes from round to round": (source_changes_from_round_to_round, "_stands_alone"),
    "made of itself": (made_of_itself, "_stands_before"),
    "stored twice": (stored_twice, "_stores"),
    "every element written in two rounds": (every_element_written_in_two_rounds, "_writes_each_once"),
    "address taken": (address_taken, "_only_loaded"),
    "source address taken": (source_address_taken, "_sources_stay"),
    "read where nothing was stored": (read_where_nothing_was_stored, "_within"),
}
