"""Build a PrimFunc with and without our passes, run both, and compare everything they compute.

Outputs alone miss many overlaps, so a *spy* call is put behind every store before planning: it logs each value that
is stored anywhere, in order. Arenas are filled with a poison byte first, so that stale zeros hide nothing.
"""

import numpy as np
import tvm
from tvm import tir

from tvm_memplan.transform import PlanMemory, RewriteStorage

POISON = 0xCD
_log: list[float] = []


@tvm.register_func("tvm_memplan.tests.spy", override=True)
def _spy(value):
    _log.append(value)
    return 0


@tir.transform.prim_func_pass(opt_level=0, name="tests.Spy")
def Spy(function, module, context):
    """Log every value that is stored."""

    def after(store):
        value = tir.BufferLoad(store.buffer, store.indices)
        call = tir.Call("int32", "tir.tvm_call_packed", [tir.StringImm("tvm_memplan.tests.spy"), value])
        return tir.SeqStmt([store, tir.Evaluate(call)])

    if function.attrs is not None and "tests.spied" in function.attrs:
        return function
    body = tir.stmt_functor.ir_transform(function.body, None, after, ["tir.BufferStore"])
    return function.with_body(body).with_attr("tests.spied", 1)


@tir.transform.prim_func_pass(opt_level=0, name="tests.Poison")
def Poison(function, module, context):
    """Fill every arena with the poison byte before anything else happens in it."""

    def after(allocate):
        if not allocate.buffer_var.name.startswith("arena"):
            return None
        bits = tvm.DataType(allocate.dtype).bits * tvm.DataType(allocate.dtype).lanes
        size = allocate.extents[0] * (bits // 8)
        view = tir.decl_buffer([size], "uint8", "poison", data=allocate.buffer_var)
        index = tir.Var("poisoned", size.dtype)
        fill = tir.For(index, 0, size, tir.ForKind.SERIAL, tir.BufferStore(view, tir.const(POISON, "uint8"), [index]))
        return tir.Allocate(
            allocate.buffer_var,
            allocate.dtype,
            allocate.extents,
            allocate.condition,
            tir.SeqStmt([fill, allocate.body]),
        )

    if function.attrs is not None and "tests.poisoned" in function.attrs:
        return function
    body = tir.stmt_functor.ir_transform(function.body, None, after, ["tir.Allocate"])
    return function.with_body(body).with_attr("tests.poisoned", 1)


def allocated_bytes(function):
    """Bytes of all allocations in a flat function."""
    sizes = []

    def visit(node):
        if isinstance(node, tir.Allocate):
            sizes.append(int(node.extents[0]) * np.dtype(node.dtype).itemsize)

    tir.stmt_functor.post_order_visit(function.body, visit)
    return sum(sizes)


def flat(function):
    """`function` as it is when our passes meet it."""
    module = tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")})
    return tir.transform.FlattenBuffer()(module)


def build(function, passes, target="llvm", vectorize=False, spy=True):
    """Build a PrimFunc or a (schedule, arguments) pair with `passes` in phase 1.

    Without passes there is no StorageRewrite either, which computes something else for some programs.
    """
    lower = [(1, p) for p in ([Spy] if spy else []) + list(passes)]
    config = {
        "tir.add_lower_pass": lower,
        "tir.disable_vectorize": not vectorize,
        "tir.disable_storage_rewrite": not passes,
    }
    with tvm.transform.PassContext(config=config):
        if isinstance(function, tuple):
            return tvm.build(function[0], function[1], target=target, name="entry")
        return tvm.build(function.with_attr("global_symbol", "entry"), target=target, name="entry")


OURS = (PlanMemory(), RewriteStorage(), Poison)
#: What TVM has where our passes stand, to run behind them: with passes of ours, `build` leaves it on.
STORAGE_REWRITE = ()
#: The target without LLVM's optimiser.
UNOPTIMISED = "llvm -opt-level=0"


def build_as_tvm(function):
    """Build a PrimFunc as TVM does by itself."""
    return tvm.build(function.with_attr("global_symbol", "entry"), target="llvm", name="entry")


def run(module, arguments, directory=None):
    """Run on copies of `arguments`; returns them all afterwards, and the log of the spy."""
    if directory is not None:
        path = str(directory / f"module{len(list(directory.iterdir()))}.so")
        module.export_library(path)
        module = tvm.runtime.load_module(path)
    arrays = [tvm.nd.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    _log.clear()
    module["entry"](*arrays)
    return [a.numpy() for a in arrays if hasattr(a, "numpy")], list(_log)


def same_bits(function, arguments, target="llvm", directory=None, vectorize=False, spy=True, ours=OURS):
    """Whether the planned and the unplanned build agree in every bit of every stored value and every argument."""
    plain, plain_log = run(build(function, (), target, vectorize, spy), arguments, directory)
    planned, planned_log = run(build(function, ours, target, vectorize, spy), arguments, directory)
    assert not spy or plain_log, "the spy saw nothing"
    return np.array_equal(np.array(plain_log), np.array(planned_log), equal_nan=True) and all(
        a.tobytes() == b.tobytes() for a, b in zip(plain, planned)
    )
