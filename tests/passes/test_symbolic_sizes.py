"""Sizes that are no constants: planned with the most they can be, or as multiples of one symbolic number."""

import numpy as np
import pytest

from tests.passes.line import programs, running, symbolic_programs
from tvm_memplan.analysis import analyze_memory
from tvm_memplan.errors import BadInput
from tvm_memplan.transform import PlanMemory, RewriteStorage

SHAPES = {
    "one_after_the_other": lambda n: (n,),
    "several_types": lambda n: (n,),
    "rows_and_columns": lambda n: (n, n + 3),
    "in_every_worker": lambda n: (4, n),
}
every_program = pytest.mark.parametrize("name", SHAPES)


def program(name):
    return getattr(symbolic_programs, name)


def arguments(name, n):
    values = np.random.default_rng(n).normal(size=SHAPES[name](n)).astype("float32")
    return [values, np.full(values.shape, np.nan, "float32")]


def reports(name, **options):
    return analyze_memory(running.flat(program(name)), alignment=1, **options).values()


def bounded(upper_bounds):
    return (PlanMemory(upper_bounds=upper_bounds), RewriteStorage(), running.Poison)


@every_program
@pytest.mark.parametrize("vectorize", [False, True])
def test_symbolic_arenas_compute_the_same_bits_on_llvm(name, vectorize):
    plain = running.build(program(name), (), vectorize=vectorize, spy=False)
    planned = running.build(program(name), running.OURS, vectorize=vectorize, spy=False)
    for n in (1, 2, 5, 16, 67):
        expected, got = (running.run(module, arguments(name, n))[0] for module in (plain, planned))
        assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


@every_program
def test_symbolic_arenas_compute_the_same_bits_in_c(name, tmp_path):
    # Compared with llvm: the C that TVM 0.27 writes for the unplanned functions does not compile.
    plain, planned = (
        running.build(program(name), (), spy=False),
        running.build(program(name), running.OURS, "c", spy=False),
    )
    for n in (3, 8):
        expected, got = running.run(plain, arguments(name, n))[0], running.run(planned, arguments(name, n), tmp_path)[0]
        assert [a.tobytes() for a in got] == [a.tobytes() for a in expected]


@every_program
def test_every_value_is_the_same_under_a_declared_bound(name):
    passes = bounded({"n": 16, "m": 16})
    assert running.same_bits(program(name), arguments(name, 13), ours=passes)


@pytest.mark.parametrize(
    ("name", "upper_bounds", "pool", "planned"),
    [
        ("one_after_the_other", {}, "global[n]", 8),
        ("one_after_the_other", {"n": 10}, "global", 80),
        ("several_types", {}, "global[n + 1]", 1 + 24 + 4),
        ("rows_and_columns", {"m": 20}, "global[n]", 160),
        ("rows_and_columns", {"m": 20, "n": 10}, "global", 1600),
        ("in_every_worker", {}, "r[n].global", 8),
    ],
)
def test_the_figures_are_multiples_of_what_the_pool_says(name, upper_bounds, pool, planned):
    figures = {p.pool: p for report in reports(name, upper_bounds=upper_bounds) for p in report.pools}
    assert figures[pool].bound <= figures[pool].planned <= planned


def test_more_than_the_declared_bound_is_refused_with_the_name_of_the_bound():
    module = running.build(program("one_after_the_other"), bounded({"n": 10}), spy=False)
    running.run(module, arguments("one_after_the_other", 10))
    with pytest.raises(Exception, match="n is above 10, the upper bound"):
        running.run(module, arguments("one_after_the_other", 11))


def test_a_bound_may_stand_on_the_function():
    function = program("one_after_the_other").with_attr("tir_var_upper_bound", {"n": 10})
    (found,) = analyze_memory(running.flat(function), alignment=1).values()
    assert (found.pools[0].pool, found.pools[0].planned) == ("global", 80)


def test_a_bound_that_no_size_rests_on_is_not_checked():
    module = running.build(programs.shifted_slice, bounded({"n": 1}), spy=False)
    running.run(module, [np.zeros(4, "float32"), np.zeros(4, "float32")])


def test_a_size_that_is_loaded_from_memory_is_left_alone_and_named():
    (left,) = [left for report in reports("a_size_that_is_loaded") for left in report.left_alone]
    assert left.name == "grown"
    assert "has no bound" in left.reason


def test_a_size_that_depends_on_a_loop_is_planned_with_the_most_it_can_be():
    (found,) = analyze_memory(running.flat(programs.size_depends_on_the_loop), alignment=1).values()
    assert sorted(row.size for row in found.allocations) == [32, 284]
    assert found.left_alone == ()


@pytest.mark.parametrize("bounds", [{"n": 1.5}, {"n": "10"}, {"n": -1}, {"n": True}, [("n", 3)]])
def test_what_is_no_upper_bound_is_refused_at_once(bounds):
    with pytest.raises(BadInput, match="upper_bounds"):
        PlanMemory(upper_bounds=bounds)


@pytest.mark.parametrize("declared", [{"n": "x"}, 5])
def test_an_attribute_that_declares_no_bounds_is_refused_with_the_functions_name(declared):
    function = program("one_after_the_other").with_attr("tir_var_upper_bound", declared)
    with pytest.raises(BadInput, match="tir_var_upper_bound of function 'entry'"):
        analyze_memory(running.flat(function))


def test_bounds_may_be_any_integers_and_as_large_as_the_type(tmp_path):
    for bound in (np.int64(10), 2**31 - 1, 2**40):
        assert PlanMemory(upper_bounds={"n": bound})(running.flat(program("several_types")))


def test_a_bound_on_one_of_two_dimensions_of_32_bits_is_understood():
    figures = {
        p.pool: p for report in reports("rows_and_columns_of_32_bits", upper_bounds={"m": 20}) for p in report.pools
    }
    assert figures["global[n]"].planned <= 160


@pytest.mark.parametrize("n", [3, 7])
def test_a_symbolic_size_under_a_condition_stays_where_it_is(n):
    """At the start of the function the size may be negative."""
    name = "sizes_under_a_condition"
    left = {one.name: one.reason for report in reports(name) for one in report.left_alone}
    assert len(left) == 2
    module = running.build(program(name), running.OURS, spy=False)
    plain = running.build(program(name), (), spy=False)
    values = np.arange(n, dtype="float32")
    got, right = (running.run(built, [values, np.zeros(n, "float32")])[0][1] for built in (module, plain))
    assert got.tobytes() == right.tobytes()


def test_a_negative_parameter_is_refused_where_a_bound_takes_it_for_none():
    module = running.build(program("a_difference"), bounded({"n": 10, "d": 5}), spy=False)
    values = np.arange(4, dtype="float32")
    assert running.run(module, [values, np.zeros(4, "float32"), 8, 3])[0][1][1] == 2
    with pytest.raises(Exception, match="d is above 5, the upper bound"):
        running.run(module, [values, np.zeros(4, "float32"), 8, -3900])


def test_a_bound_on_what_is_left_alone_is_not_checked():
    name = "registers_of_a_bounded_size"
    module = running.build(program(name), bounded({"n": 4}), spy=False)
    values = np.arange(7, dtype="float32")
    assert running.run(module, [values, np.zeros(7, "float32")])[0][1].tobytes() == (values + 1).tobytes()
