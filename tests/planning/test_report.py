"""The figures of a plan."""

from __future__ import annotations

from tvm_memplan.planning.model import Buffer, Kind, LiveRange, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.report import Peak, memory_report


def made():
    ram = Buffer("x", 8, (LiveRange(0, 2),), operator="conv")
    more = Buffer("y", 20, (LiveRange(1, 3),))
    last = Buffer("z", 8, (LiveRange(2, 3),), kind=Kind.WORKSPACE)
    weights = Buffer("w", 100, (LiveRange(0, 3),), scope="constant", kind=Kind.WEIGHTS)
    pools = (Pool("ram", 4096, 4), Pool("flash", scopes=("constant",)))
    return plan(Problem((last, weights, more, ram), pools))


def test_every_pool_has_its_figures_and_its_peak():
    report = memory_report(made(), ("conv", "relu", "pool"), model="net", target="c")
    ram = report.pool("ram")
    assert (ram.naive, ram.planned, ram.bound, ram.bound_kind, ram.alignment) == (36, 28, 28, "pressure", 4)
    assert ram.peak == Peak(1, "relu", ("y", "x"))
    assert round(ram.reuse, 3) == round(8 / 36, 3)
    assert report.pool("flash").planned == 100
    assert (report.model, report.target, report.planner, report.notes) == ("net", "c", "auto", ())


def test_allocations_are_listed_by_first_use():
    report = memory_report(made())
    assert [row.name for row in report.allocations] == ["w", "x", "y", "z"]
    assert report.total(Kind.WEIGHTS) == 100
    assert report.pool("ram").peak.operator == ""


def test_given_conflicts_have_a_clique_and_no_step():
    problem = Problem((Buffer("a", 8), Buffer("b", 4)), conflicts=frozenset({(0, 1)}))
    (figures,) = memory_report(plan(problem)).pools
    assert (figures.bound, figures.bound_kind, figures.peak) == (12, "clique", None)


def test_a_choice_of_pools_is_noted():
    problem = Problem((Buffer("a", 8, (LiveRange(0, 1),)),), (Pool("fast"), Pool("slow")))
    (figures,) = memory_report(plan(problem)).pools  # only pools that hold something
    assert figures.pool == "fast"
    assert "several pools" in memory_report(plan(problem)).notes[0]
