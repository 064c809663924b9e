"""What would help: each figure against planning the changed problem by hand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tvm_memplan.budget.suggest import advice_fields, advice_text, suggest
from tvm_memplan.budget.suggest.changes import CHANGES, peak_of
from tvm_memplan.budget.suggest.subproblem import of_activations, without
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Pool, Problem, View
from tvm_memplan.planning.planners import plan


def chain(*sizes, kinds=(), alignment=1, **more):
    """Buffers of which each is read by what writes the next one."""
    kinds = (*kinds, *[Kind.ACTIVATION] * len(sizes))
    buffers = [
        Buffer(f"b{i}", s, (LiveRange(i, i + 2),), kind=kinds[i], operator=f"op{i}") for i, s in enumerate(sizes)
    ]
    return Problem(tuple(buffers), (Pool("ram", 1 << 20, alignment),), **more)


def by_kind(advice):
    return {one.kind: one for one in reversed(advice.smaller_peak)}


def test_a_buffer_is_shrunk_until_another_peak_is_the_largest():
    # Peaks: 100 + 60 at step 1, 60 + 80 at step 2.
    advice = suggest(chain(100, 60, 80))
    assert (advice.planned, advice.bound) == (160, 160)
    shrunk = {one.buffers: one for one in advice.smaller_peak if one.kind == "shrink"}
    assert shrunk["b0",].gain == 20 and "b0 of op0 from 100 B to 80 B" in shrunk["b0",].what
    assert shrunk["b1",].gain == 60 and "every byte counts" in shrunk["b1",].what


def test_an_in_place_pair_gains_its_smaller_buffer():
    advice = suggest(chain(100, 100, 10))
    pair = by_kind(advice)["in place"]
    assert pair.gain == 90 and pair.buffers == ("b1", "b0")  # 110 is left at step 2
    known = suggest(chain(100, 100, 10, in_place=frozenset({(1, 0)})))
    assert pair.buffers not in {one.buffers for one in known.smaller_peak}


def test_inputs_are_never_suggested_to_be_overwritten():
    assert "in place" not in by_kind(suggest(chain(100, 100, 10, kinds=[Kind.INPUT])))


def test_an_input_that_the_caller_keeps_is_no_longer_in_the_peak():
    caller = by_kind(suggest(chain(100, 60, 10, kinds=[Kind.INPUT])))["caller"]
    assert caller.gain == 160 - 70 and "inputs" in caller.what


def test_a_smaller_alignment_is_the_largest_that_gives_it_all():
    alignment = by_kind(suggest(chain(36, 36, alignment=64)))["alignment"]
    assert "4 B in the place of 64 B" in alignment.what
    assert alignment.gain == (64 + 36) - (36 + 36)


def test_an_operator_counts_with_all_its_buffers():
    problem = chain(100, 60, 80)
    buffers = tuple(replace(buffer, operator="conv") for buffer in problem.buffers[:2]) + problem.buffers[2:]
    operator = by_kind(suggest(replace(problem, buffers=buffers)))["operator"]
    assert operator.buffers == ("b0", "b1") and operator.gain == 160 - 80


def test_a_better_plan_is_looked_for_only_above_the_bound():
    stuck = Problem(  # first fit by start leaves a hole here
        tuple(
            Buffer(name, size, (LiveRange(*span),))
            for name, size, span in [("a", 4, (0, 2)), ("b", 3, (1, 5)), ("c", 5, (3, 6)), ("d", 3, (2, 4))]
        )
    )
    assert suggest(stuck, time_limit=1, longer=1).better_plan == ()
    advice = suggest(stuck, planner="first_fit_by_start", time_limit=1, longer=1)
    assert advice.planned > advice.bound
    assert {one.kind for one in advice.better_plan} == {"planner", "search"}
    assert all(one.gain == advice.planned - plan(stuck).size() for one in advice.better_plan if one.kind == "search")


@given(st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_each_gain_is_that_of_the_bound_of_the_changed_problem(sizes):
    problem = of_activations(chain(*sizes))
    for changes in CHANGES.values():
        for change in changes(problem, {}):
            assert peak_of(change.problem) <= peak_of(problem)
            assert plan(change.problem, planner="greedy_by_size").size() >= peak_of(change.problem)
    advice = suggest(problem, planner="greedy_by_size", time_limit=1, longer=1)
    for one in advice.smaller_peak:
        assert 0 < one.gain <= advice.bound


def test_weights_and_capacities_are_not_part_of_the_question():
    weights = Buffer("w", 10_000, (LiveRange(0, 9),), kind=Kind.WEIGHTS)
    problem = chain(100, 60)
    with_weights = replace(problem, buffers=(weights, *problem.buffers), pools=(Pool("ram", 10_160),))
    assert suggest(with_weights).planned == 160
    assert suggest(Problem((weights,))).smaller_peak == ()


def test_what_is_said_about_a_buffer_goes_with_it():
    problem = chain(1, 2, 3, separate=frozenset({(0, 2)}), in_place=frozenset({(2, 1)}), views=(View("v", 2, 0, 1),))
    rest = without(problem, {0})
    assert rest.separate == frozenset() and rest.in_place == {(1, 0)} and rest.views == (View("v", 1, 0, 1),)
    assert bound(rest).bytes <= bound(problem).bytes


def test_the_text_fits_and_the_fields_say_the_same():
    advice = suggest(chain(100, 60, 80, kinds=[Kind.INPUT]))
    text = advice_text(advice, "net")
    assert "it is at its bound: no planner can make it smaller" in text and "for a smaller peak:" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    fields = advice_fields(advice)
    assert fields["smaller_peak"][0]["gain_bytes"] == advice.smaller_peak[0].gain
    assert "in place" in fields["in_vain"]
