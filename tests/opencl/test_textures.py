"""Operators with textures, planned and unplanned, on an OpenCL device: same bits, and a wrong plan is seen.

Images are filled with NaN before anything runs; a slot that is larger than its members is part of most programs.
"""

from math import prod

import numpy as np
import pytest

pytest.importorskip("tvm.relay", reason="needs the Relay line of TVM")

import tvm

from tests.opencl import images
from tests.removed_rules import touches_only
from tests.tir import texture_programs as programs
from tvm_memplan.dialects import tir as dialect
from tvm_memplan.dialects.textures import TextureShape
from tvm_memplan.planning.lifetimes import liveness
from tvm_memplan.transform import PlanMemory, RewriteStorage

OURS = (PlanMemory(), RewriteStorage())


@pytest.fixture(autouse=True)
def _needs_a_device():
    images.device()


def texels(program):
    return sum(prod(extents) for extents in program.images)


def same_bits(operator, arguments, passes=OURS):
    """Whether the planned build computes what the unplanned one does, and the texels that each of the two took."""
    plain, planned = images.build(operator), images.build(operator, passes)
    same = True
    for seed in range(3):
        plain.images.clear()
        planned.images.clear()
        (one,), (two,) = images.outputs(plain, arguments(seed)), images.outputs(planned, arguments(seed))
        assert not np.isnan(one).any(), "the unplanned build reads only what it has written"
        same &= one.tobytes() == two.tobytes()
    return same, texels(plain), texels(planned)


def test_slots_that_are_larger_than_their_members_change_no_bit():
    same, before, after = same_bits(programs.chain((7, 5), (3, 6), (6, 6), (4, 2), (5, 7)), programs.inputs)
    assert same
    assert after < before


def test_a_texture_that_is_read_again_later_keeps_its_slot():
    assert same_bits(programs.residual(), programs.inputs) == (True, 105, 105)


@pytest.mark.parametrize("scope", programs.SCOPES)
def test_scheduled_temporaries_share_two_slots(scope):
    schedule = programs.scheduled_chain(scope)

    def arguments(seed):
        data = np.random.default_rng(seed).normal(size=(4, 3, 5, 4)).astype("float32")
        return [data, np.full_like(data, np.nan)]

    assert same_bits(schedule, arguments) == (True, 3 * 60, 2 * 60)


def test_a_winograd_convolution_computes_the_same_bits():
    def arguments(seed):
        dice = np.random.default_rng(seed)
        shapes = (1, 8, 10, 10), (8, 8, 3, 3)
        return [*(dice.normal(size=s).astype("float32") for s in shapes), np.full(shapes[0], np.nan, "float32")]

    same, before, after = same_bits(programs.winograd(), arguments)
    assert same
    assert 0 < after <= before


def forced(*slots):
    """A pass that puts textures into the slots that it is told, with nobody asked."""

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def force(function, module, context):
        (region,) = dialect.capture(function, "entry").regions
        made = []
        for names in slots:
            extents = tuple(map(max, *(region.textures[name].extents for name in names)))
            made.append(("global.texture", TextureShape(extents, "float32"), names))
        return dialect.rewrite_textures(function, region.texture_variables, made)

    return force


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_compute_the_same_bits(seed):
    same, before, after = same_bits(programs.random_program(seed), programs.inputs)
    assert same
    assert after <= before


def test_a_live_range_that_forgets_the_loop_is_seen(monkeypatch):
    assert same_bits(programs.looped(), programs.inputs)[0]
    monkeypatch.setattr(liveness._Place, "range", touches_only)
    same, before, after = same_bits(programs.looped(), programs.inputs)
    assert after < before, "the wrong rule lets a texture of the loop take the place of the one outside"
    assert not same


def test_two_live_textures_in_one_slot_are_seen():
    right = forced(("t1", "t1"), ("t0", "t0"), ("t2", "t2"))
    assert same_bits(programs.residual(), programs.inputs, (right,))[0]
    wrong = forced(("t0", "t2"), ("t1", "t1"))
    assert not same_bits(programs.residual(), programs.inputs, (wrong,))[0]
