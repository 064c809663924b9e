"""`RewriteStorage`: turn recorded plans into allocations with static offsets in them.

For each PrimFunc with a plan from `PlanMemory` it captures the function again, judges the plan against what it finds,
replaces the planned allocations with one arena per region, planned textures with one allocation per slot, and leaves
the attribute ``tvm_memplan.arena`` (bytes of each arena, and of the slots of each texture scope, JSON) as the mark that
it is done. Running it again changes nothing.

An arena of global memory is allocated in pieces where no buffer lies across: so the code generator sees that a store to
one buffer does not change another, and the code is as fast as what StorageRewrite leads to. They are as many bytes
together. As with all allocations of constant size, TVM puts those of less than 1 KiB on the stack.

Leaves alone: functions without a plan, and every buffer that was not planned.
"""

from __future__ import annotations

import json
from typing import Any

from tvm_memplan.dialects.attributes import attribute
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.transform.function_plan import (
    ARENA_ATTRIBUTE,
    DONE_ATTRIBUTE,
    PLAN_ATTRIBUTE,
    done_scopes,
    name_of,
    recorded_plan,
)


def RewriteStorage() -> Any:
    """Make the pass.

    Returns
    -------
    tvm.transform.Pass
        To run after `PlanMemory`, in the same place.

    Raises
    ------
    BadPlan
        While it runs, when a function was changed after it was planned so that its plan no longer holds.
    MissingDependency, UnsupportedIR
        At once, when no TVM is installed or its tensor IR cannot be read.
    """
    dialect = tir_dialect()

    def transform(function: Any, module: Any, _context: Any) -> Any:
        recorded = attribute(function, PLAN_ATTRIBUTE)
        if recorded is None:
            return function
        made = recorded_plan(function, name_of(function, module), str(recorded))
        sizes = {r.region.name: r.size for r in made.regions if r.region.variables}
        layouts = {r.region.name: r.layout for r in made.regions}
        barriers: dict[Any, set[int]] = {}
        for r in made.regions:
            if r.barriers:
                barriers.setdefault(r.region.anchor, set()).update(r.barriers)
        rewritten = dialect.rewrite(function, made.captured, layouts, barriers).without_attr(PLAN_ATTRIBUTE)
        for region in made.regions:
            if region.textures.scopes:
                handles = region.region.texture_variables
                rewritten = dialect.rewrite_textures(rewritten, handles, region.textures.for_rewriting())
        before = json.loads(str(attribute(function, ARENA_ATTRIBUTE) or "{}"))
        done = sorted({*done_scopes(function), *made.scopes})
        rewritten = rewritten.with_attr(ARENA_ATTRIBUTE, json.dumps({**before, **sizes}, sort_keys=True))
        return rewritten if done == ["global"] else rewritten.with_attr(DONE_ATTRIBUTE, json.dumps(done))

    return dialect.function_pass(transform, "tvm_memplan.RewriteStorage")
