"""Programs on which shipping memory planners have been wrong, by number, with the right outcome of each.

`COMPUTED` are programs of `tests.tir.programs` and `tests.tirx.programs`, whose right answer is `tests.answers`;
`KERNELS` run on an OpenCL device; `PLANNED` is judged by its plan, because it cannot or need not run. What is not here
is no tensor program: numbers 4, 5, 18, 19, 21 and 26 to 28 are about tensors between operators, and 30 to 37 about
budgets and files.
"""

COMPUTED = {
    1: ("a buffer that is read under a second name, at another index, keeps its bytes", "alias_read_at_another_index"),
    2: ("an element that is written twice is not written over its input", "each_element_written_twice"),
    6: ("a value that nobody reads lives through the statement that defines it", "value_nobody_reads"),
    7: ("in place only when every reader is done", "read_by_two_siblings"),
    9: ("a slice of a buffer is the buffer", "pieces_of_a_concatenation"),
    10: ("a slice that is moved by one is not moved in place", "shifted_slice"),
    11: ("both live while a pointer may be either", "one_of_two_buffers"),
    14: ("loops one after the other share", "consecutive_loops"),
    15: ("small buffers share the bytes of a dead big one", "small_buffers_after_a_big_one"),
    20: ("a size that depends on the loop is planned with its bound", "size_depends_on_the_loop"),
}

KERNELS = {
    12: ("two buffers in one statement lie apart", "ONE_STATEMENT"),
    13: ("tiles of a loop share with what comes behind it, across a barrier", "TILES_THEN_ANOTHER"),
    17: ("shared memory is reused across a barrier only", "NO_BARRIER"),
    24: ("buffers of a few bytes are planned", "TINY"),
}

PLANNED = {
    3: "a buffer that is reached only through its address lies apart",
    16: "a buffer of a cross-thread reduction is left alone, or planned when the reduction is lowered",
    22: "a size above any address space is an error that names the buffer",
    23: "symbolic extents: both at 0, eight times n bytes",
    25: "elements below a byte are left alone, and the report says why",
    29: "a buffer without elements is left alone and named",
    38: "a wide and a tall texture keep slots of their own",
    39: "pointers in intrinsics are moved, and unknown ones leave their buffer alone",
    40: "two launches have an arena each",
}
