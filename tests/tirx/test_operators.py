"""Planned and unplanned operators agree in every bit, on llvm and on c, in every value they store."""

import pytest

pytest.importorskip("tvm.tirx", reason="needs a TVM with tirx")

from tests.tirx.operators import OPERATORS, inputs, lowered, padded_packed_convolution
from tests.tirx.running import OURS, build, run, same_bits
from tvm_memplan.analysis import analyze_memory

SEEDS = (1, 2, 3)
every_operator = pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.__name__)


@every_operator
@pytest.mark.parametrize("vectorize", [False, True])
def test_planned_llvm_code_computes_the_same_bits(operator, vectorize):
    function, shapes, out = operator()
    for seed in SEEDS:
        assert same_bits(function, inputs(shapes, out, seed), vectorize=vectorize, spy=False)


@every_operator
def test_every_intermediate_value_is_the_same(operator):
    function, shapes, out = operator()
    assert same_bits(function, inputs(shapes, out, 1))


@every_operator
def test_planned_c_code_computes_the_same_bits(operator, tmp_path):
    function, shapes, out = operator()
    plain, planned = build(function, (), "c", spy=False), build(function, OURS, "c", spy=False)
    for seed in SEEDS:
        arguments = inputs(shapes, out, seed)
        expected, _ = run(plain, arguments, tmp_path)
        got, _ = run(planned, arguments, tmp_path)
        assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


@every_operator
def test_the_arena_lies_between_the_bound_and_no_sharing(operator):
    reports = analyze_memory(lowered(operator), alignment=4)
    for report in reports.values():
        for pool in report.pools:
            assert pool.naive >= pool.planned >= pool.bound
        assert report.left_alone == ()


def test_sharing_saves_memory():
    (report,) = analyze_memory(lowered(padded_packed_convolution), alignment=4).values()
    assert (report.pools[0].naive, report.pools[0].planned) == (13952, 8768)


@every_operator
def test_the_output_depends_on_the_input(operator):
    function, shapes, out = operator()
    module = build(function, OURS, spy=False)
    one, two = (run(module, inputs(shapes, out, seed))[0][-1] for seed in (1, 2))
    assert one.tobytes() != two.tobytes()
