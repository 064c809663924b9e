"""TVM's own lowering pipeline, with other passes in the place of StorageRewrite and MergeSharedMemoryAllocations.

The list of passes is not written down here: it is the installed TVM's, and changes with it. The function that makes
it asks ``tirx.transform`` and ``s_tir.transform`` for each pass by name, so it is run with stand-ins for those names
which know one more answer each.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.s_tir.pipeline import default_s_tir_pipeline

from tvm_memplan.dialects.elements import constants
from tvm_memplan.dialects.launches import SHARED
from tvm_memplan.dialects.tirx.passes import function_pass
from tvm_memplan.dialects.tirx.warps import hoisted
from tvm_memplan.errors import UnsupportedIR


def register_standard_pipeline(name: str, passes: Sequence[Any], shared: Sequence[Any] | None = None) -> None:
    """Register TVM's ``s_tir`` pipeline as `name`, with `passes` where StorageRewrite stands.

    `shared` stands where MergeSharedMemoryAllocations does, behind ThreadSync; None leaves TVM's pass there. What is
    dynamic and still in several pieces behind them is TVM's to merge, since a kernel has one dynamic allocation.

    Functions with device launches get StorageRewrite behind `passes`, for what lives in registers; not those with
    shared memory that `shared` plans, since it would put buffers together before anybody planned them; of what it does
    these need one thing, that warp memory is allocated at the start of a launch. Where
    ``tirx.disable_storage_rewrite`` is set, TVM's list has no such place, and nothing is done.
    """

    def instead() -> Any:
        return tvm.transform.Sequential([*passes, _rewrite_launches(keep_shared=shared is not None)])

    def merged() -> Any:
        if shared is None:
            return s_tir.transform.MergeSharedMemoryAllocations()
        return tvm.transform.Sequential([*shared, _merge_rest()])

    tirx_names = _Substitute(tirx, transform=_Substitute(tirx.transform, StorageRewrite=instead))
    s_tir_names = _Substitute(s_tir, transform=_Substitute(s_tir.transform, MergeSharedMemoryAllocations=merged))
    names = {**default_s_tir_pipeline.__globals__, "tirx": tirx_names, "s_tir": s_tir_names}
    # The same code, looking names up in `names`; nothing of TVM's is changed.
    tirx.register_tir_pipeline(name, FunctionType(default_s_tir_pipeline.__code__, names))


def before_storage_rewrite(module: Any, after: Sequence[Any] = (), vectorized: bool = True) -> Any:
    """A module of PrimFuncs after all of TVM's ``s_tir`` passes that come before StorageRewrite, and then `after`.

    What will be lowered once more must not be `vectorized`: CompactBufferAllocation, for one, stops with an error
    where it finds an index that is a vector. Then the list ends before VectorizeLoop.

    The target is that of the context.
    """
    place = tvm.transform.Sequential([])

    def cut(passes: Sequence[Any]) -> Any:
        at = next((i for i, one in enumerate(passes) if one.same_as(place)), len(passes))
        return tvm.transform.Sequential([*passes[:at], *after])

    end = {"StorageRewrite": lambda: place} if vectorized else {"VectorizeLoop": lambda _enabled: place}
    transform = _Substitute(tirx.transform, **end)
    sequential = _Substitute(tvm.ir, transform=_Substitute(tvm.ir.transform, Sequential=cut))
    names = {
        **default_s_tir_pipeline.__globals__,
        "tirx": _Substitute(tirx, transform=transform),
        "tvm": _Substitute(tvm, ir=sequential),
    }
    lower, *_ = FunctionType(default_s_tir_pipeline.__code__, names)()
    # Whoever switches StorageRewrite off still wants the passes up to its place, and no others.
    around = tvm.transform.PassContext.current()
    config = {**dict(around.config.items()), "tirx.disable_storage_rewrite": False}
    with tvm.transform.PassContext(config=config):
        return lower(module)


class _Substitute:
    """A module with some of its names standing for something else."""

    def __init__(self, module: Any, **instead: Any) -> None:
        self.__dict__.update(instead, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _rewrite_launches(keep_shared: bool) -> Any:
    def transform(function: Any, _module: Any, _context: Any) -> Any:
        launches = _launches(function.body)
        shared = keep_shared and any(buffer.ty.storage_scope in SHARED for launch in launches for buffer in launch)
        if not launches:
            return function
        if shared:
            return hoisted(function)
        alone = tvm.IRModule({"function": function})
        return tirx.transform.StorageRewrite()(alone)["function"]

    return function_pass(transform, "tvm_memplan.StorageRewriteOfLaunches")


def _merge_rest() -> Any:
    def transform(function: Any, _module: Any, _context: Any) -> Any:
        for launch in _launches(function.body):
            dynamic = [buffer for buffer in launch if buffer.ty.storage_scope == "shared.dyn"]
            if len(dynamic) < 2:
                continue
            for buffer in dynamic:
                if None in constants(buffer.ty.shape):
                    raise UnsupportedIR(
                        f"dynamic shared memory of a kernel is one allocation, and the size {buffer.ty.shape[0]} of "
                        f"{buffer.name!r} is not a constant: give it a bound"
                    )
            alone = tvm.IRModule({"function": function})
            return s_tir.transform.MergeSharedMemoryAllocations()(alone)["function"]
        return function

    return function_pass(transform, "tvm_memplan.MergeRestOfSharedMemory")


def _launches(body: Any) -> list[list[Any]]:
    """The buffers that are allocated in each outermost launch."""
    found: list[list[Any]] = []

    def visit(stmt: Any) -> Any:
        if str(stmt.attr_key) != "thread_extent":
            return None
        buffers: list[Any] = []
        tvm_ffi.structural_walk(stmt.body, (tirx.AllocBuffer, lambda inner: buffers.append(inner.buffer)))
        found.append(buffers)
        return tvm_ffi.WalkResult.SKIP

    tvm_ffi.structural_walk(body, (tirx.AttrStmt, visit), order="pre")
    return found
