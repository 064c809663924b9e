from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.any_report import REPORTS
from tests.report.diff.chain import chain
from tvm_memplan.errors import BadInput
from tvm_memplan.report.diff import Growth, Limits, difference, overruns
from tvm_memplan.report.memory import LeftAlone

OLD = (("conv", 800), ("relu", 800), ("conv", 400), ("dense", 10))


@given(REPORTS)
def test_a_report_does_not_differ_from_itself(report):
    report = replace(report, pools=tuple({figures.pool: figures for figures in report.pools}.values()))
    found = difference(report, report)
    assert found.empty
    assert overruns(found, Limits(Growth.read("0"))) == ()


@given(REPORTS, REPORTS)
def test_bytes_that_came_and_went_add_up(old, new):
    found = difference(old, new)
    total = sum(row.size for row in new.allocations) - sum(row.size for row in old.allocations)
    assert sum(change.growth for change in found.buffers) == total
    sizes = [abs(change.growth) for change in found.buffers]
    assert sizes == sorted(sizes, reverse=True)


@given(st.lists(st.tuples(st.sampled_from(["conv", "relu"]), st.integers(1, 99)), min_size=1, max_size=9), st.data())
def test_the_one_operator_that_grew_is_named_and_no_other(layers, data):
    at = data.draw(st.integers(0, len(layers) - 1))
    new = [*layers]
    new[at] = (layers[at][0], layers[at][1] + 1000)
    (change,) = difference(chain(*layers), chain(*new)).operators
    assert change.operator == chain(*new).allocations[at].operator
    assert change.growth == 1000


def test_the_operator_that_was_put_in_is_named_although_all_numbers_shift():
    found = difference(chain(*OLD), chain(OLD[0], ("conv", 900), *OLD[1:]))
    (operator,) = found.operators
    (buffer,) = found.buffers
    assert (operator.operator, operator.old, operator.new) == ("conv_1", None, 900)
    assert (buffer.what, buffer.row.name) == ("added", "sid_1")
    (pool,) = found.pools
    assert pool.growth == 1700 - 1600
    assert [row.name for row in pool.joined] == ["sid_1"] and [row.name for row in pool.gone] == ["sid_1"]


def test_an_operator_that_was_taken_out_is_named():
    (operator,) = difference(chain(*OLD), chain(OLD[0], *OLD[2:])).operators
    assert (operator.operator, operator.old, operator.new) == ("relu", 800, None)


def test_pools_that_come_and_go_are_listed():
    found = difference(chain(*OLD, pool="a"), chain(*OLD, pool="b"))
    assert [(c.pool, c.growth) for c in found.pools] == [("b", 1600), ("a", -1600)]
    assert not found.buffers


def test_what_is_newly_left_alone_is_told():
    old, left = chain(*OLD), LeftAlone("s", "f", "shared", 8, "why")
    assert difference(old, replace(old, left_alone=(left,))).left_alone == (left,)
    assert difference(replace(old, left_alone=(left,)), replace(old, left_alone=(left,))).empty


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [("2%", 1020, 1021), ("0.05%", 1000, 1001), ("0", 1000, 1001), ("1KiB", 2024, 2025), ("100 %", 2000, 2001)],
)
def test_growth_is_allowed_to_the_byte(text, allowed, refused):
    growth = Growth.read(text)
    assert growth.allows(1000, allowed) and growth.allows(1000, 1)
    assert not growth.allows(1000, refused)


def test_a_growth_share_is_exact():
    assert Growth.read("0.1%").share == Fraction(1, 1000)
    assert not Growth.read("0.1%").allows(10**30, 10**30 + 10**27 + 1)


@pytest.mark.parametrize("text", ["", "%", "-1%", "2 percent", "1e3%", "2K", "nan%", "-4KiB"])
def test_what_is_no_growth_is_refused(text):
    with pytest.raises(BadInput):
        Growth.read(text)


def test_limits_name_the_pool_and_the_bytes():
    found = difference(chain(*OLD), chain(("conv", 1000), *OLD[1:]))  # 1600 -> 1800
    assert overruns(found, Limits(Growth.read("12.5%"), (("arena", 1800), ("", 1800)))) == ()
    (grown,) = overruns(found, Limits(Growth.read("12.4%")))
    assert "'arena' grew by 200 B (12.50%); allowed is 12.4%" in grown
    (large,) = overruns(found, Limits(None, (("arena", 1799),)))
    assert "over the limit of 1,799 B (1.8 KiB) by 1 B" in large
    with pytest.raises(BadInput, match=r"no pool is called 'sram'; there are arena"):
        overruns(found, Limits(None, (("sram", 1),)))


def test_a_pool_that_is_new_has_grown_from_nothing():
    found = difference(chain(*OLD, pool="a"), chain(*OLD, pool="b"))
    (said,) = overruns(found, Limits(Growth.read("50%")))
    assert "'b' grew by 1,600 B (1.6 KiB), from nothing" in said
