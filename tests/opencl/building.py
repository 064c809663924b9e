"""Build kernels for OpenCL: planned, unplanned, and as TVM merges them; the same calls on both TVM lines."""

import json

import tvm

from tvm_memplan.analysis import analyze_memory
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE

try:
    from tvm import tirx

    from tvm_memplan.dialects.launches import SHARED
    from tvm_memplan.dialects.tirx import register_standard_pipeline

    RELAX = True
except ImportError:
    from tvm import tir as tirx

    from tvm_memplan.transform import SharedMemoryPasses

    RELAX = False

from tvm_memplan.transform import PlanMemory, RewriteStorage

PREFIX = "tirx" if RELAX else "tir"
_seen: list = []


@tirx.transform.prim_func_pass(opt_level=0, name="tests.Look")
def _look(function, module, context):
    _seen.append(function)
    return function


def _built(function, passes, config, target):
    module = tvm.IRModule({"entry": function.with_attr("global_symbol", "entry")})
    _seen.clear()
    if RELAX:
        register_standard_pipeline("tests.shared", [], passes)
        with tvm.transform.PassContext(config=config):
            return tvm.compile(module, tvm.target.Target(target, host="llvm"), tir_pipeline="tests.shared")
    lower = {"tir.add_lower_pass": [(3, each) for each in passes]} if passes else {}
    with tvm.transform.PassContext(config={**config, **lower}):
        return tvm.build(module, target=tvm.target.Target(target, host="llvm"))


def source_of(built):
    """The device code of a build."""
    return built.mod.imports[0].inspect_source() if RELAX else built.imported_modules[0].get_source()


def _source(function, passes, config, target):
    return source_of(_built(function, passes, config, target))


def both(function, target):
    """An unplanned and a planned build."""
    config = {f"{PREFIX}.disable_storage_rewrite": True}
    return _built(function, [], config, target), _built(function, ours(), config, target)


def unplanned(function, target="opencl"):
    """The source without any merging."""
    return _source(function, [] if RELAX else (), {f"{PREFIX}.disable_storage_rewrite": True}, target)


def merged(function, target="opencl"):
    """The source as TVM makes it when it is asked to merge static shared memory as it does dynamic."""
    config = {f"{PREFIX}.merge_static_smem": True}
    return _source(function, None if RELAX else (), config, target)


def ours(*between):
    """The passes, with `between` after the plan is made."""
    if RELAX:
        return [PlanMemory(scopes=SHARED), *between, RewriteStorage(), _look]
    if between:
        sync = [tirx.transform.ThreadSync(scope) for scope in ("shared", "shared.dyn")]
        return [*sync, PlanMemory(scopes=("shared", "shared.dyn")), *between, RewriteStorage(), _look]
    return [*SharedMemoryPasses(), _look]


def planned(function, *between, target="opencl"):
    """The source with our passes, and the bytes of each arena."""
    source = _source(function, ours(*between), {f"{PREFIX}.disable_storage_rewrite": True}, target)
    arenas = [json.loads(str(f.attrs[ARENA_ATTRIBUTE])) for f in _seen if ARENA_ATTRIBUTE in f.attrs]
    return source, arenas[0] if arenas else {}


def bound_of(function):
    """The bound of the shared memory of all launches, in bytes."""
    reports = []

    @tirx.transform.prim_func_pass(opt_level=0, name="tests.Analyze")
    def analyze(function, module, context):
        reports.extend(analyze_memory(tvm.IRModule({"entry": function}), scopes=("shared", "shared.dyn")).values())
        return function

    sync = [] if RELAX else [tirx.transform.ThreadSync(scope) for scope in ("shared", "shared.dyn")]
    _source(function, [*sync, analyze], {f"{PREFIX}.disable_storage_rewrite": True}, "opencl")
    return sum(pool.bound for pool in reports[0].pools)
