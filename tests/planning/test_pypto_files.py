"""The structured problems that PyPTO exports."""

from __future__ import annotations

import json

import pytest

from tvm_memplan.errors import BadInput, DoesNotFit
from tvm_memplan.planning.bounds.bound import bound
from tvm_memplan.planning.files import problem_from_pypto, read_problem
from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Pool, View
from tvm_memplan.planning.planners import plan


def tile(id_: int, size: int = 64, lower: int = 0, upper: int = 4, **more: object) -> dict[str, object]:
    spans = [{"lower": lower, "upper": upper}]
    return {"id": id_, "name": f"t{id_}", "size": size, "alignment": 32, "live_intervals": spans} | {
        "allowed_pools": [1],
        **more,
    }


def document(**changes: object) -> str:
    problem = {
        "buffers": [tile(0), tile(1), tile(7, 128, 4, 6)],
        "pools": [{"id": 1, "name": "Vec", "capacity": 1024, "reserved_ranges": []}, {"id": 2, "name": "Mat"}],
        "constraints": {"colocations": [], "separations": [], "temporal_exclusions": [], "pinned_allocations": []},
        "objective": {"aggregation": "lexicographic", "terms": ["total_peak", "max_peak"]},
        "pypto_structure": {"alias_classes": [], "pipeline_groups": []},
        **changes,
    }
    return json.dumps(
        {"schema_version": 1, "profile": "pypto_hard_v1", "instance": "i", "metadata": {}, "problem": problem}
    )


def constraints(**some: object) -> str:
    return document(constraints=some)


def test_buffers_and_pools_are_read():
    problem = problem_from_pypto(document())
    assert problem.pools == (Pool("Vec", 1024), Pool("Mat"))
    assert problem.buffers[2] == Buffer("t7", 128, (LiveRange(4, 6),), 32, pools=("Vec",))
    assert plan(problem).pool_sizes == {"Vec": 128, "Mat": 0}


def test_separations_and_penalties_go_by_ids():
    apart = [{"first": 7, "second": 0, "reasons": ["cross_pipe"]}]
    problem = problem_from_pypto(constraints(separations=apart))
    assert problem.separate == {(0, 2)}
    assert plan(problem).size() == 192
    costs = [{"first": 7, "second": 0, "cost": 2, "reason": "generic"}, {"first": 0, "second": 7, "cost": 1}]
    assert problem_from_pypto(document(cost_model={"reuse_penalties": costs})).penalties == {(0, 2, 3)}


def test_reserved_ranges_are_nobodys():
    pools = [{"id": 1, "name": "Vec", "capacity": 1024, "reserved_ranges": [{"begin": 0, "end": 96}]}]
    problem = problem_from_pypto(document(pools=pools))
    reserved = problem.buffers[-1]
    assert (reserved.name, reserved.size, reserved.pinned) == ("reserved Vec@0", 96, Placement("Vec", 0))
    made = plan(problem)
    assert all(place.offset >= 96 for place in made.placements[:-1])
    assert made.size() == 96 + 128


def test_colocated_buffers_become_views_of_the_largest():
    together = [{"first": 0, "second": 7}, {"first": 1, "second": 0}]
    problem = problem_from_pypto(constraints(colocations=together))
    assert [buffer.name for buffer in problem.buffers] == ["t7"]
    assert problem.buffers[0].live_ranges == (LiveRange(0, 6),)
    assert problem.views == (View("t0", 0, 0, 64), View("t1", 0, 0, 64))


def test_temporal_exclusions_lift_conflicts():
    problem = problem_from_pypto(constraints(temporal_exclusions=[{"first": 1, "second": 0}]))
    assert problem.conflicts == frozenset()
    assert plan(problem).size() == 128


def test_pins_may_be_for_all_time():
    pin = {"buffer": 0, "pool": 1, "offset": 256}
    assert plan(problem_from_pypto(constraints(pinned_allocations=[pin]))).placements[0] == Placement("Vec", 256)
    problem = problem_from_pypto(constraints(pinned_allocations=[{**pin, "exclusive_for_all_time": True}]))
    assert problem.separate == {(0, 1), (0, 2)}


def test_names_that_come_twice_get_their_ids():
    problem = problem_from_pypto(document(buffers=[tile(0, name="t"), tile(1, name="t")]))
    assert [buffer.name for buffer in problem.buffers] == ["t#0", "t#1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"f:1: not JSON"),
        ('{"schema_version": 2, "problem": {}}', "schema_version: must be 1, got 2"),
        ('{"schema_version": 1}', "field 'problem' is missing"),
        (document(bank_cost=1), "problem: unknown field 'bank_cost'"),
        (constraints(colors=[]), "problem.constraints: unknown field 'colors'"),
        (document(pools=[{"id": 1, "name": "V", "bank_geometry": {}}]), r"pools\[0\]: unknown field 'bank_geometry'"),
        (document(pools=[{"id": 1, "name": "V"}, {"id": 1, "name": "W"}]), r"pools\[1\]\.id: 1 comes twice"),
        (document(buffers=[tile(0), tile(0)]), r"problem\.buffers\[1\]\.id: 0 comes twice"),
        (document(buffers=[tile(0, size="x")]), r'problem\.buffers\[0\]\.size: must be an integer, got "x"'),
        (document(buffers=[tile(0, alignment=3)]), r"buffers\[0\]\.alignment: must be a power of two"),
        (document(buffers=[tile(0, 8, 4, 4)]), r"live_intervals\[0\]: the live range \[4, 4\) is empty"),
        (document(buffers=[tile(0, live_intervals=[])]), "'t0' has no live range"),
        (document(buffers=[tile(0, allowed_pools=[9])]), r"allowed_pools\[0\]: there is no pool 9"),
        (constraints(separations=[{"first": 0, "second": 5}]), r"separations\[0\]\.second: there is no buffer 5"),
        (constraints(separations=[{"first": 0, "second": 0}]), r"separations\[0\]: must be two different buffers"),
        (constraints(separations=[{"first": 0}]), r"separations\[0\]: field 'second' is missing"),
        (constraints(pinned_allocations=[{"buffer": 0, "pool": 3, "offset": 0}]), "there is no pool 3"),
        (document(cost_model={"bank": 1}), "problem.cost_model: unknown field 'bank'"),
        (document(pools=[{"id": 1, "name": "V", "reserved_ranges": [{"begin": 4, "end": 4}]}]), "is empty"),
        (
            constraints(colocations=[{"first": 0, "second": 7}], separations=[{"first": 0, "second": 7}]),
            "must share, but must also lie apart",
        ),
    ],
)
def test_malformed_documents_are_refused_by_path_and_field(text, message):
    with pytest.raises(BadInput, match=message) as caught:
        problem_from_pypto(text, "f")
    assert str(caught.value).startswith("f:")


def test_every_problem_of_the_sample_is_planned_at_its_bound_or_proven_not_to_fit(shared_data):
    files = sorted((shared_data / "problems" / "pypto").glob("*.json"))
    assert len(files) == 144
    unfit = 0
    for file in files:
        problem = read_problem(file)
        members = {
            pool: [i for i, b in enumerate(problem.buffers) if b.pools == (pool.name,)] for pool in problem.pools
        }
        least = {pool: bound(problem, members[pool], pool).bytes for pool in problem.pools}
        if any(pool.capacity is not None and least[pool] > pool.capacity for pool in problem.pools):
            unfit += 1
            with pytest.raises(DoesNotFit):
                plan(problem)
        else:
            made = plan(problem)
            assert {pool: made.size(pool.name) for pool in problem.pools} == least
    assert unfit == 10
