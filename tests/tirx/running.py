"""Build a PrimFunc with and without our passes, run both, and compare everything they compute.

Outputs alone miss many overlaps, so a *spy* call is put behind every store before planning: it logs each value that
is stored anywhere, in order. Arenas are filled with a poison byte first, so that stale zeros hide nothing.
"""

import numpy as np
import tvm
import tvm_ffi
from tvm import tirx

from tvm_memplan.dialects.tirx import register_standard_pipeline
from tvm_memplan.transform import PlanMemory, RewriteStorage

POISON = 0xCD
_log: list[float] = []


@tvm.register_global_func("tvm_memplan.tests.spy", override=True)
def _spy(value):
    _log.append(value)
    return 0


@tirx.transform.prim_func_pass(opt_level=0, name="tests.Spy")
def Spy(function, module, context):
    """Log every value that is stored."""

    def after(store):
        value = tirx.BufferLoad(store.buffer, store.indices)
        name = tvm.ir.StringImm("tvm_memplan.tests.spy")
        call = tvm.ir.Call("tirx.tvm_call_packed", [name, value], ret_ty="int32")
        return tirx.SeqStmt([store, tirx.Evaluate(call)])

    return function.with_body(tvm_ffi.structural_map(function.body, (tirx.BufferStore, after)))


@tirx.transform.prim_func_pass(opt_level=0, name="tests.Poison")
def Poison(function, module, context):
    """Fill every arena with the poison byte before anything else happens in it."""

    def poisoned(seq):
        return tirx.SeqStmt([part for stmt in seq.seq for part in (stmt, *_filled(stmt))])

    return function.with_body(tvm_ffi.structural_map(function.body, (tirx.SeqStmt, poisoned)))


def _filled(stmt):
    if not isinstance(stmt, tirx.AllocBuffer) or not stmt.buffer.name.startswith("arena"):
        return ()
    size = stmt.buffer.shape[0] * (stmt.buffer.dtype.bits // 8)
    view = tirx.decl_buffer([size], "uint8", "poison", layout=None)
    index = tirx.Var("poisoned", str(size.ty.dtype))
    store = tirx.BufferStore(view, tirx.const(POISON, "uint8"), [index])
    return tirx.DeclBuffer(view, data=stmt.buffer.data), tirx.For(index, 0, size, tirx.ForKind.SERIAL, store)


OURS = (PlanMemory(), RewriteStorage(), Poison)
#: What TVM has where our passes stand, to run behind them.
STORAGE_REWRITE = (tirx.transform.StorageRewrite(),)
#: The target without LLVM's optimiser.
UNOPTIMISED = {"kind": "llvm", "opt-level": 0}


def allocated_bytes(function):
    """Bytes of all allocations in a flat function."""
    sizes = []
    tvm_ffi.structural_walk(
        function.body, (tirx.AllocBuffer, lambda s: sizes.append(int(s.buffer.shape[0]) * s.buffer.dtype.itemsize))
    )
    return sum(sizes)


def module_of(function):
    """A module with `function` as ``entry``."""
    return tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")})


def flat(function):
    """`function` as it is when our passes meet it."""
    return tirx.transform.FlattenBuffer()(module_of(function))


def build(function, passes, target="llvm", vectorize=False, spy=True):
    """Build a PrimFunc with `passes` where StorageRewrite stands."""
    register_standard_pipeline("tests", [*([Spy] if spy else []), *passes])
    with tvm.transform.PassContext(config={"tirx.disable_vectorize": not vectorize}):
        return tvm.compile(module_of(function), target=target, tir_pipeline="tests")


def build_as_tvm(function):
    """Build a PrimFunc as TVM does by itself."""
    return tvm.compile(module_of(function), target="llvm")


def run(module, arguments, directory=None):
    """Run on copies of `arguments`; returns them all afterwards, and the log of the spy."""
    if directory is not None:
        path = str(directory / f"module{len(list(directory.iterdir()))}.so")
        # Optimised, since a C compiler may take accesses of different types for accesses of different memory.
        module.export_library(path, options=["-O2"])
        module = tvm.runtime.load_module(path)
    arrays = [tvm.runtime.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
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
