"""A report says where buffers work in place."""

from tvm_memplan.planning.model import Buffer, LiveRange, Placement, Plan, Pool, Problem
from tvm_memplan.report import memory_report


def report(offset):
    buffers = (Buffer("x", 8, (LiveRange(0, 2),)), Buffer("y", 8, (LiveRange(1, 3),)))
    problem = Problem(buffers, (Pool("arena"),), in_place=frozenset({(1, 0)}))
    return memory_report(Plan(problem, (Placement("arena", 0), Placement("arena", offset))))


def test_a_pair_at_one_offset_is_told():
    (note,) = report(0).notes
    assert note == "in place, on the bytes of a dying input: 'y' over 'x'"


def test_a_pair_that_lies_apart_is_not():
    assert report(8).notes == ()
