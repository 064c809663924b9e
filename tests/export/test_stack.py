"""How much stack: from GCC's call graph, and from a disassembly where there is none."""

import pytest

from tvm_memplan.errors import BadInput
from tvm_memplan.export.stack import Calls, compiled_calls, deepest, disassembled_calls, joined

GRAPH = """graph: { title: "net.c"
node: { title: "run" label: "run\\nnet.c:1:5\\n16 bytes (static)" }
node: { title: "op" label: "op\\nnet.c:9:5\\n72 bytes (static)" }
node: { title: "other" label: "other\\nnet.c:20:5\\n40 bytes (static)" }
node: { title: "expf" label: "expf\\n<built-in>" shape : ellipse }
edge: { sourcename: "run" targetname: "op" label: "net.c:2:3" }
edge: { sourcename: "run" targetname: "other" }
edge: { sourcename: "other" targetname: "expf" }
}
"""

ASSEMBLY = """
00001000 g     F .text	00000020 .hidden __aeabi_fadd
00001000 g     F .text	00000020 __addsf3

00001000 <__addsf3>:
    1000:	push	{r4, r5, lr}
    1002:	sub	sp, #20
    1004:	str.w	r4, [sp, #-8]!
    1006:	b.n	1004 <__addsf3+0x4>

00002000 <expf>:
    2000:	stmdb	sp!, {r4-r7, lr}
    2002:	vpush	{d8-d9}
    2004:	bl	1000 <__addsf3>
    2008:	b.w	3000 <tail>

00003000 <tail>:
    3000:	sub.w	sp, sp, #64	@ 0x40
    3002:	blx	r3
"""


def test_the_deepest_path_is_not_always_the_one_of_the_largest_frame():
    calls = joined(compiled_calls([GRAPH]), disassembled_calls(ASSEMBLY))
    stack = deepest(calls, "run")
    assert stack.path == ("run", "other", "expf", "tail")
    assert stack.bytes == 16 + 40 + (20 + 16) + 64
    assert stack.unknown == ("tail",)  # it calls through a register


def test_a_function_is_found_by_all_of_its_names():
    calls = disassembled_calls(ASSEMBLY)
    assert deepest(calls, "__aeabi_fadd").bytes == 12 + 20 + 8


def test_a_function_of_which_nothing_is_known_is_named():
    assert deepest(compiled_calls([GRAPH]), "run").unknown == ("expf",)


def test_a_frame_that_grows_is_named():
    grows = GRAPH.replace("72 bytes (static)", "72 bytes (dynamic)")
    assert deepest(compiled_calls([grows]), "op").unknown == ("op",)


def test_recursion_has_no_bound():
    with pytest.raises(BadInput, match="a -> b -> a"):
        deepest(Calls({"a": 8, "b": 8}, {"a": {"b"}, "b": {"a"}}), "a")
    with pytest.raises(BadInput, match="'nothing'"):
        deepest(Calls(), "nothing")
