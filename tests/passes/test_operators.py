"""Planned and unplanned operators agree in every bit, on llvm and on c, in every value they store."""

import pytest

from tests.passes.line import operators, running
from tvm_memplan.analysis import analyze_memory

SEEDS = (1, 2, 3)
every_operator = pytest.mark.parametrize("operator", operators.OPERATORS, ids=lambda o: o.__name__)


@every_operator
@pytest.mark.parametrize("vectorize", [False, True])
def test_planned_llvm_code_computes_the_same_bits(operator, vectorize):
    function, shapes, out = operator()
    for seed in SEEDS:
        assert running.same_bits(function, operators.inputs(shapes, out, seed), vectorize=vectorize, spy=False)


@every_operator
def test_every_intermediate_value_is_the_same(operator):
    function, shapes, out = operator()
    assert running.same_bits(function, operators.inputs(shapes, out, 1))


@every_operator
def test_planned_c_code_computes_the_same_bits(operator, tmp_path):
    function, shapes, out = operator()
    plain, planned = running.build(function, (), "c", spy=False), running.build(function, running.OURS, "c", spy=False)
    for seed in SEEDS:
        arguments = operators.inputs(shapes, out, seed)
        expected, _ = running.run(plain, arguments, tmp_path)
        got, _ = running.run(planned, arguments, tmp_path)
        assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


@every_operator
def test_the_arena_lies_between_the_bound_and_no_sharing(operator):
    reports = analyze_memory(operators.lowered(operator), alignment=4)
    for report in reports.values():
        for pool in report.pools:
            assert pool.naive >= pool.planned >= pool.bound
        assert report.left_alone == ()


def test_sharing_saves_memory():
    (report,) = analyze_memory(operators.lowered(operators.padded_packed_convolution), alignment=4).values()
    assert (report.pools[0].naive, report.pools[0].planned) == (13952, 8768)


@every_operator
def test_the_output_depends_on_the_input(operator):
    function, shapes, out = operator()
    module = running.build(function, running.OURS, spy=False)
    one, two = (running.run(module, operators.inputs(shapes, out, seed))[0][-1] for seed in (1, 2))
    assert one.tobytes() != two.tobytes()
