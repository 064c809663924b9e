import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.report.any_report import REPORTS
from tests.report.diff.chain import chain
from tvm_memplan.planning.model import Kind, LiveRange
from tvm_memplan.report.diff.match import match
from tvm_memplan.report.memory import Allocation

LAYERS = st.lists(st.tuples(st.sampled_from(["conv", "relu", "add"]), st.integers(1, 9)), min_size=1, max_size=12)


def rows(**sizes):
    return [
        Allocation(name, "", Kind.ACTIVATION, "global", size, 1, (LiveRange(i, i + 1),), "p", 0)
        for i, (name, size) in enumerate(sizes.items())
    ]


@given(REPORTS, REPORTS)
def test_a_buffer_has_one_partner_at_most(old, new):
    pairs = match(old.allocations, new.allocations)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(0 <= i < len(old.allocations) and 0 <= j < len(new.allocations) for i, j in pairs)


@given(LAYERS)
def test_a_plan_matches_itself_buffer_by_buffer(layers):
    report = chain(*layers)
    assert match(report.allocations, report.allocations) == [(i, i) for i in range(len(layers))]


@given(LAYERS, st.data())
def test_an_operator_put_in_shifts_numbers_and_changes_nothing_else(layers, data):
    at = data.draw(st.integers(0, len(layers)))
    old, new = chain(*layers), chain(*layers[:at], ("pool", 5), *layers[at:])
    pairs = match(old.allocations, new.allocations)
    assert [i for i, _ in pairs] == list(range(len(layers)))
    assert all(old.allocations[i].size == new.allocations[j].size for i, j in pairs)
    assert {j for _, j in pairs} == set(range(len(layers) + 1)) - {at}


def test_names_that_people_gave_count_more_than_sizes():
    assert match(rows(a=100, b=200), rows(a=200, b=100)) == [(0, 0), (1, 1)]


def test_a_renamed_buffer_is_found_by_its_size_and_place():
    assert match(rows(a=1, b=2, c=3), rows(a=1, new=2, c=3)) == [(0, 0), (1, 1), (2, 2)]


def test_a_buffer_that_grew_in_a_renumbered_plan_is_found_by_its_operator():
    old = chain(("conv", 8), ("relu", 8), ("pad", 6), ("conv", 4)).allocations
    new = chain(("cast", 3), ("conv", 8), ("relu", 8), ("pad", 7), ("conv", 4)).allocations
    assert match(old, new) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_many_equal_buffers_are_matched_in_time():
    # Comparing all orders of these would take minutes; names decide.
    chance = random.Random(1)
    old = rows(**{f"b{i}": chance.choice([8, 16]) for i in range(6000)})
    new = [replace(row, name=f"x{i}" if i % 3 == 0 else row.name) for i, row in enumerate(reversed(old))]
    pairs = match(old, new)
    assert len(pairs) >= 4000 and all(old[i].size == new[j].size for i, j in pairs)
