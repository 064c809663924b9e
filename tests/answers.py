"""What the small programs on which planners have been wrong must compute, on every line: numpy code.

Each entry of `ANSWERS` is, by the name of the program, the shapes of input and output, and the right answer.
"""

import numpy as np


def _while(a):
    out = a
    for _ in range(4):
        out = (out[::-1] + 1) * np.float32(0.5)
    return out


def _carried(a):
    for _ in range(5):
        a = (a * np.float32(0.5))[::-1] + 1
    return a


def _again(a):
    out = np.zeros_like(a)
    for _ in range(3):
        out = (out + (a + 1))[::-1] * 2
    return out


def _branches(a):
    before = a + 1
    return before[::-1] * 2 + before if a[0] > 0 else before[::-1] * 3 - before


def _mixed(a):
    short = (a * 8).astype("int32")[::-1].astype("int8")
    return np.where((short > 0)[::-1], short * 0.5, -1).astype("int16")[::-1].astype("float32")


def _small(a):
    big = a * 10
    b = big.astype("int16")
    return (big + 100)[::-1] + b + (b[::-1] + 7) + big


def _moved(a):
    return np.concatenate([(a * 2)[4:], (a + 1)[4:]])


def _let(a):
    src = np.tile(a, 2) * np.arange(16, dtype="float32")
    return src[:8] + src[8:][::-1]


def _early(a):
    out, turned = a + 1, a + 1
    for _ in range(4):
        turned = turned[::-1] * np.float32(0.5)
        if turned[0] < 1:
            break
        out = out + turned
    return out + turned


def _workers(a):
    rows = a.reshape(4, 8) * 2
    return ((rows + 1)[:, ::-1] + rows).reshape(-1)


def _siblings(a):
    x = a * 3
    return np.maximum(x, 0) + (x - 1)[::-1] * 5


def _either(a):
    one, two = a + 1, a * 2
    chosen = one if a[0] > 0 else two
    chosen += 10
    return one + two * 7 + (a - 4)[::-1]


ANSWERS = {
    "alias_read_at_another_index": ((8,), (8,), lambda a: a * 2 + (a * 2)[::-1]),
    "each_element_written_twice": ((8,), (8,), lambda a: a * 2 + 1),
    "value_nobody_reads": ((8,), (8,), lambda a: a + 1),
    "pieces_of_a_concatenation": ((8,), (16,), lambda a: np.concatenate([a + 1, a * 3])),
    "consecutive_loops": ((200,), (200,), lambda a: (a + 3)[::-1] * 1024),
    "small_buffers_after_a_big_one": ((200,), (200,), _small),
    "carried_by_the_loop": ((8,), (8,), _carried),
    "read_again_in_each_iteration": ((8,), (8,), _again),
    "branches": ((8,), (8,), _branches),
    "while_condition_reads": ((8,), (8,), _while),
    "pointer_bound_by_let": ((8,), (8,), _let),
    "address_given_to_a_call": ((8,), (8,), _moved),
    "mixed_types": ((16,), (16,), _mixed),
    "size_depends_on_the_loop": ((8,), (8,), lambda a: a + 9 * np.arange(8, dtype="float32")),
    "predicated_stores": ((8,), (8,), lambda a: np.where(a > 0, a * 2, a + 1)[::-1]),
    "leaves_a_loop_early": ((8,), (8,), _early),
    "returns_early": ((8,), (8,), lambda a: a + 1 if a[0] > 0 else (a + 1)[::-1] * 3),
    "both_touched_in_one_leaf": ((8,), (8,), lambda a: (a + 1)[::-1] + a * 3),
    "parallel_workers": ((32,), (32,), _workers),
    "view_of_a_view": ((8,), (8,), lambda a: np.concatenate([a[4:] + 1, (a + 1)[:4] * 2])),
    "read_by_two_siblings": ((8,), (8,), _siblings),
    "shifted_slice": ((4,), (4,), lambda a: np.concatenate([a[:1], a[:3]]) + 1),
    "one_of_two_buffers": ((8,), (8,), _either),
}
