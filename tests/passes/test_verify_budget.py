"""`VerifyBudget` lets through what fits, stops what does not, and changes nothing."""

import pytest

from tests.passes.line import operators, running, symbolic_programs, tvm
from tvm_memplan.budget import Reserve
from tvm_memplan.errors import BadInput, OverBudget
from tvm_memplan.transform import PlanMemory, RewriteStorage, VerifyBudget


@pytest.fixture
def convolution():
    return operators.lowered(operators.padded_packed_convolution)


def test_exactly_enough_is_enough(convolution):
    after = VerifyBudget(8768, alignment=4)(convolution)
    tvm.ir.assert_structural_equal(after, convolution)


def test_one_byte_less_is_over_budget_and_says_who_holds_the_peak(convolution):
    with pytest.raises(OverBudget) as caught:
        VerifyBudget(8767, alignment=4)(convolution)
    message = str(caught.value)
    assert "over by 1 B" in message
    assert "need   8,768 B" in message
    assert all(name in message for name in ("data_pad", "packed_weight", operators.CONVOLVED))


def test_the_reserve_is_taken_off(convolution):
    VerifyBudget("16KiB", alignment=4)(convolution)
    with pytest.raises(OverBudget, match="reserve"):
        VerifyBudget("16KiB", Reserve(8 * 1024), alignment=4)(convolution)


def test_a_board_is_a_budget(convolution):
    VerifyBudget("nrf52840dk")(convolution)


@pytest.mark.parametrize("budget", [0, -1, "many", "12 parsecs"])
def test_a_budget_that_is_none_is_refused_at_once(budget):
    with pytest.raises(BadInput):
        VerifyBudget(budget)


def test_a_rewritten_function_is_judged_by_its_arena(convolution):
    rewritten = RewriteStorage()(PlanMemory(alignment=4)(convolution))
    VerifyBudget(8768, alignment=4)(rewritten)
    with pytest.raises(OverBudget):
        VerifyBudget(8767, alignment=4)(rewritten)


def test_the_arena_of_a_parallel_loop_counts():
    module = operators.lowered(operators.parallel_with_private_buffers)
    VerifyBudget(320, alignment=4)(module)
    with pytest.raises(OverBudget):
        VerifyBudget(319, alignment=4)(module)


def test_a_size_that_is_not_known_never_fits():
    with pytest.raises(OverBudget, match="no known size"):
        VerifyBudget("1MiB")(running.flat(symbolic_programs.a_size_that_is_loaded))


def test_a_symbolic_size_fits_under_its_bound_only():
    symbolic = running.flat(symbolic_programs.one_after_the_other)
    with pytest.raises(OverBudget, match=r"multiple of n, which has no upper bound"):
        VerifyBudget("1MiB")(symbolic)
    VerifyBudget(80, alignment=4, upper_bounds={"n": 10})(symbolic)
    with pytest.raises(OverBudget):
        VerifyBudget(79, alignment=4, upper_bounds={"n": 10})(symbolic)


def test_it_works_in_a_pipeline_after_the_rewrite(convolution):
    tvm.transform.Sequential([PlanMemory(), RewriteStorage(), VerifyBudget("64KiB")])(convolution)
