"""Buffers that share no byte are allocations of their own, and stay apart whatever runs behind our passes."""

import json
from importlib import import_module

import numpy as np
import pytest

from tests.passes.line import operators, programs, running, tvm
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.dialects.line import tir_dialect
from tvm_memplan.errors import BadPlan
from tvm_memplan.transform import PlanMemory, RewriteStorage
from tvm_memplan.transform.function_plan import ARENA_ATTRIBUTE, PLAN_ATTRIBUTE

OURS = (PlanMemory(), RewriteStorage())
every_operator = pytest.mark.parametrize("operator", operators.OPERATORS, ids=lambda o: o.__name__)


def only(module):
    (function,) = module.functions.values()
    return function


def computed(program, passes):
    shape, out, _ = programs.PROGRAMS[program]
    values = [np.random.default_rng(3).normal(size=shape).astype("float32"), np.zeros(out, "float32")]
    return running.run(running.build(program, passes, spy=False), values)[0][1]


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.attrs["global_symbol"])
def test_storage_rewrite_behind_our_passes_puts_nothing_together_again(program):
    got = computed(program, (*OURS, *running.STORAGE_REWRITE))
    assert got.tobytes() == computed(program, ()).tobytes()


def test_without_the_scope_around_them_storage_rewrite_would_put_two_pieces_together(monkeypatch):
    """This is what the scope is for: TVM takes an element that is written twice for an output in place."""
    program = programs.each_element_written_twice
    monkeypatch.setattr(import_module(f"{tir_dialect().__name__}.rewrite"), "APART", "of_no_meaning")
    assert computed(program, (*OURS, *running.STORAGE_REWRITE)).tobytes() != computed(program, ()).tobytes()


@every_operator
def test_what_is_allocated_is_what_is_reported(operator):
    module = operators.lowered(operator)
    after = tvm.transform.Sequential(OURS)(module)
    allocated = running.allocated_bytes(only(after))
    reported = sum(pool.planned for report in analyze_memory(module).values() for pool in report.pools)
    assert allocated == reported == sum(json.loads(str(only(after).attrs[ARENA_ATTRIBUTE])).values())
    again = sum(pool.planned for report in analyze_memory(after).values() for pool in report.pools)
    assert again == allocated


def recorded(module):
    return json.loads(str(only(PlanMemory()(module)).attrs[PLAN_ATTRIBUTE]))


def test_the_plan_says_where_the_arena_is_cut():
    plan = recorded(operators.lowered(operators.padded_packed_convolution))
    first, *cuts = plan["pieces"]["body"]
    assert first == 0 and cuts and set(cuts) <= set(plan["regions"]["body"].values())


@pytest.mark.parametrize("starts", [[1], [0, 4], [0, 0], [0, 1 << 40], 7, [None]])
def test_pieces_that_the_buffers_do_not_lie_in_are_refused(starts):
    planned = only(PlanMemory()(operators.lowered(operators.padded_packed_convolution)))
    plan = json.loads(str(planned.attrs[PLAN_ATTRIBUTE]))
    plan["pieces"]["body"] = starts
    changed = planned.with_attr(PLAN_ATTRIBUTE, json.dumps(plan))
    with pytest.raises(BadPlan, match="run PlanMemory on function"):
        RewriteStorage()(tvm.IRModule({"entry": changed}))
