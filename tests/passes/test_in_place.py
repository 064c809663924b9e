"""Inside a function an output takes the bytes of a dying input where that is right, and nowhere else."""

import numpy as np
import pytest

from tests.passes.in_place_programs import APART, IN_PLACE, LENGTH, Maker
from tests.passes.line import running
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.planning.lifetimes import in_place
from tvm_memplan.transform import PlanMemory, RewriteStorage

every_program = pytest.mark.parametrize("name", [*IN_PLACE, *APART])


def function(name):
    program, _ = {**IN_PLACE, **APART}[name]
    return Maker().function(program)


def arguments(seed):
    values = np.random.default_rng(seed).integers(-40, 40, LENGTH).astype("int32")
    return [values, np.full(LENGTH, 77, "int32")]


def report(name):
    (made,) = analyze_memory(running.flat(function(name))).values()
    return made


def ours():
    return (PlanMemory(), RewriteStorage(), running.Poison)


@pytest.mark.parametrize(("name", "expected"), [(name, size) for name, (_, size) in IN_PLACE.items()])
def test_what_may_work_in_place_does(name, expected):
    made = report(name)
    assert made.pools[0].planned == expected
    assert any(note.startswith("in place") for note in made.notes)


@pytest.mark.parametrize(("name", "expected"), [(name, size) for name, (_, size) in APART.items()])
def test_what_may_not_work_in_place_lies_apart(name, expected):
    assert report(name).pools[0].planned == expected


@every_program
def test_it_computes_the_same_on_llvm(name):
    """At O3, as TVM builds by itself, and at O0; stored values are compared one by one at O3."""
    plain, _ = running.run(running.build(function(name), (), spy=False), arguments(1))
    for target, vectorize in (("llvm", True), (running.UNOPTIMISED, False)):
        for seed in (1, 2):
            expected, _ = running.run(
                running.build(function(name), (), running.UNOPTIMISED, spy=False), arguments(seed)
            )
            module = running.build(function(name), ours(), target, vectorize, spy=False)
            got, _ = running.run(module, arguments(seed))
            assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]
    assert plain[1].any()


@pytest.mark.parametrize("name", [name for name in (*IN_PLACE, *APART) if "parallel" not in name])
def test_every_stored_value_is_the_same(name):
    assert running.same_bits(function(name), arguments(3), ours=ours())


@every_program
def test_it_computes_the_same_in_c(name, tmp_path):
    plain = running.build(function(name), (), "c", spy=False)
    planned = running.build(function(name), ours(), "c", spy=False)
    for seed in (1, 2):
        (_, expected), _ = running.run(plain, arguments(seed), tmp_path)
        (_, got), _ = running.run(planned, arguments(seed), tmp_path)
        assert got.tobytes() == expected.tobytes()


def test_the_cases_are_told_apart_by_what_they_compute(monkeypatch):
    """With every pair allowed, the programs that may not work in place compute something else."""
    monkeypatch.setattr(in_place, "precedes", lambda *_: True)
    for name in APART:
        if "parallel" in name or "vectorised" in name:
            continue  # these go wrong only in another order than that of one worker
        assert not running.same_bits(function(name), arguments(3), spy=False, ours=ours()), name
