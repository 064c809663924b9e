"""USMP's lists of buffers as problems, beside TVM's own planners."""

from __future__ import annotations

from random import Random

import pytest

from tests.planning.usmp_problems import EXPECTED
from tvm_memplan.dialects.usmp import problem_from_buffer_infos, usmp_algorithm
from tvm_memplan.errors import BadInput, BadPlan
from tvm_memplan.planning.judge.check import check_plan
from tvm_memplan.planning.model import Buffer, Placement, Plan, Pool, Problem
from tvm_memplan.planning.planners import plan
from tvm_memplan.planning.usmp import usmp_greedy_by_conflicts, usmp_greedy_by_size

pytestmark = pytest.mark.needs_relay


def infos_of(problem):
    """The problem as TVM objects."""
    from tvm import PoolInfoProperties, WorkspacePoolInfo
    from tvm.target import Target
    from tvm.tir.usmp.utils import BufferInfo

    pools = {
        pool.name: WorkspacePoolInfo(
            pool.name, [Target("c")], PoolInfoProperties(size_hint_bytes=-1 if pool.capacity is None else pool.capacity)
        )
        for pool in problem.pools
    }
    infos = [
        BufferInfo(b.name, b.size, [pools[pool.name] for pool in problem.candidates(b)], alignment=b.alignment)
        for b in problem.buffers
    ]
    for i, info in enumerate(infos):
        info.set_conflicts([infos[sum(pair) - i] for pair in sorted(problem.conflicts) if i in pair])
    return infos


def size(answer, pool):
    return max(
        int(place.byte_offset) + int(info.size_bytes)
        for info, place in answer.items()
        if place.pool_info.pool_name == pool
    )


def random_problem(seed):
    random = Random(seed)
    count = random.randint(2, 25)
    buffers = tuple(Buffer(f"b{i}", random.randint(1, 60), alignment=random.choice((1, 4, 16))) for i in range(count))
    pairs = ((i, j) for i in range(count) for j in range(i + 1, count))
    conflicts = frozenset(pair for pair in pairs if random.random() < 0.4)
    # One pool only: with several, TVM forgets that a pool was full when a later conflict in it would still fit.
    return Problem(buffers, (Pool("arena"),), conflicts)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_problem_survives_the_way_to_tvm_and_back(name):
    problem = EXPECTED[name][0]
    again = problem_from_buffer_infos(infos_of(problem))
    assert again.conflicts == problem.conflicts and again.pools == problem.pools
    assert [(b.name, b.size, b.alignment) for b in again.buffers] == [
        (b.name, b.size, b.alignment) for b in problem.buffers
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_greedy_planners_of_tvm_are_reproduced_offset_by_offset(seed):
    import tvm

    problem = random_problem(seed)
    for ours in (usmp_greedy_by_size, usmp_greedy_by_conflicts):
        infos = infos_of(problem)
        theirs = tvm.get_global_func(f"tir.usmp.algo.{ours.__name__.removeprefix('usmp_')}")(infos, 0)
        expected = [(theirs[info].pool_info.pool_name, int(theirs[info].byte_offset)) for info in infos]
        assert [(place.pool, place.offset) for place in ours(problem).placements] == expected


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_as_an_algorithm_of_tvm_auto_is_no_larger_than_tvms(name):
    import tvm

    problem, pool, *_ = EXPECTED[name]
    sizes = {}
    for algorithm in ("greedy_by_size", "greedy_by_conflicts", "hill_climb"):
        sizes[algorithm] = size(tvm.get_global_func(f"tir.usmp.algo.{algorithm}")(infos_of(problem), 0), pool)
    ours = usmp_algorithm()(infos_of(problem), 0)
    assert size(ours, pool) <= min(sizes.values())
    assert size(ours, pool) == plan(problem).size(pool)


def test_one_direction_of_a_conflict_is_enough_and_a_buffer_does_not_conflict_with_itself():
    one, other = infos_of(Problem((Buffer("a", 4), Buffer("b", 4)), conflicts=frozenset()))
    one.set_conflicts([other, one])
    assert problem_from_buffer_infos([one, other]).conflicts == {(0, 1)}


def test_lists_that_are_no_problem_are_refused_by_name():
    one, _ = infos_of(Problem((Buffer("a", 4), Buffer("b", 4)), conflicts=frozenset({(0, 1)})))
    with pytest.raises(BadInput, match="'a' conflicts with 'b', not in the list"):
        problem_from_buffer_infos([one])
    (third,) = infos_of(Problem((Buffer("c", 4),), (Pool("arena", 8),), frozenset()))
    with pytest.raises(BadInput, match="'c': pool 'arena' has another size"):
        problem_from_buffer_infos([*infos_of(Problem((Buffer("a", 4),), conflicts=frozenset())), third])


def test_tvm_forgets_that_a_pool_was_full_and_ours_does_not():
    import tvm

    # x fits into `fast` above q, but not above p2, with which it conflicts too: TVM puts it there all the same.
    buffers = (Buffer("p1", 6), Buffer("q", 5), Buffer("p2", 4), Buffer("x", 3))
    problem = Problem(buffers, (Pool("fast", 10), Pool("slow")), frozenset({(0, 2), (2, 3), (1, 3)}))
    infos = infos_of(problem)
    infos[3].set_conflicts([infos[2], infos[1]])
    theirs = tvm.get_global_func("tir.usmp.algo.greedy_by_size")(infos, 0)
    places = tuple(Placement(theirs[info].pool_info.pool_name, int(theirs[info].byte_offset)) for info in infos)
    with pytest.raises(BadPlan, match=r"'p2' and 'x' share bytes \[6, 8\) of pool 'fast', in conflict"):
        check_plan(Plan(problem, places))
    assert plan(problem).pool_sizes["slow"] <= 3
