"""TVM's own lowering pipeline, with other passes in the place of StorageRewrite.

The list of passes is not written down here: it is the installed TVM's, and changes with it. The function that makes
it asks ``tirx.transform`` for each pass by name, so it is run with a stand-in for that name which knows one more
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx
from tvm.s_tir.pipeline import default_s_tir_pipeline

from tvm_memplan.dialects.tirx.passes import function_pass


def register_standard_pipeline(name: str, passes: Sequence[Any]) -> None:
    """Register TVM's ``s_tir`` pipeline as `name`, with `passes` where StorageRewrite stands.

    Functions with device launches get StorageRewrite behind them as well: what lives inside a launch is nobody
    else's yet. Where ``tirx.disable_storage_rewrite`` is set, TVM's list has no such place, and nothing is done.
    """

    def instead() -> Any:
        return tvm.transform.Sequential([*passes, _rewrite_launches()])

    transform = _Substitute(tirx.transform, StorageRewrite=instead)
    names = {**default_s_tir_pipeline.__globals__, "tirx": _Substitute(tirx, transform=transform)}
    # The same code, looking names up in `names`; nothing of TVM's is changed.
    tirx.register_tir_pipeline(name, FunctionType(default_s_tir_pipeline.__code__, names))


def before_storage_rewrite(module: Any, after: Sequence[Any] = ()) -> Any:
    """A module of PrimFuncs after all of TVM's ``s_tir`` passes that come before StorageRewrite, and then `after`.

    The target is that of the context.
    """
    place = tvm.transform.Sequential([])

    def cut(passes: Sequence[Any]) -> Any:
        at = next((i for i, one in enumerate(passes) if one.same_as(place)), len(passes))
        return tvm.transform.Sequential([*passes[:at], *after])

    transform = _Substitute(tirx.transform, StorageRewrite=lambda: place)
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


def _rewrite_launches() -> Any:
    def transform(function: Any, _module: Any, _context: Any) -> Any:
        if not _launches(function.body):
            return function
        alone = tvm.IRModule({"function": function})
        return tirx.transform.StorageRewrite()(alone)["function"]

    return function_pass(transform, "tvm_memplan.StorageRewriteOfLaunches")


def _launches(body: Any) -> bool:
    def visit(stmt: Any) -> Any:
        return tvm_ffi.VisitInterrupt(True) if str(stmt.attr_key) == "thread_extent" else None

    return tvm_ffi.structural_walk(body, (tirx.AttrStmt, visit)) is not None
