"""The snapshot by its documented fields; and through torch's own reader where torch is installed."""

import pickle

import pytest
from hypothesis import given

from tests.browser.reports import everything
from tests.report.any_report import REPORTS
from tvm_memplan.report.exchange import torch_snapshot
from tvm_memplan.report.exchange.torch_snapshot import BASE, torch_snapshot_file

ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc"}


@given(REPORTS)
def test_what_is_allocated_is_freed_and_no_two_blocks_share_an_address(report):
    snapshot = torch_snapshot(report)
    assert len(snapshot["segments"]) == len(snapshot["device_traces"]) == len(report.pools)
    for trace in snapshot["device_traces"]:
        there = {}
        for entry in trace:
            assert set(entry) == {"action", "addr", "size", "stream", "time_us", "frames"}
            assert entry["action"] in ACTIONS
            if entry["action"] == "alloc":
                end = entry["addr"] + entry["size"]
                assert all(end <= a or a + size <= entry["addr"] for a, size in there.items())
                there[entry["addr"]] = entry["size"]
            elif entry["action"] == "free_completed":
                assert there.pop(entry["addr"], 0) == entry["size"]
        assert not any(there.values())
        times = [entry["time_us"] for entry in trace]
        assert times[1:] == sorted(times[1:])


def test_an_in_place_pair_hands_its_bytes_over():
    trace = torch_snapshot(everything())["device_traces"][0]
    at_3 = [(e["action"], e["frames"][0]["name"]) for e in trace if e["time_us"] == 3]
    assert at_3 == [("free_requested", "conv.out"), ("free_completed", "conv.out"), ("alloc", "sum")]


def test_the_file_is_plain_python_values():
    snapshot = pickle.loads(torch_snapshot_file(everything()))
    assert snapshot == torch_snapshot(everything())
    block = snapshot["segments"][0]["blocks"][0]
    assert block["address"] == BASE and block["size"] == 14336 and block["state"] == "inactive"


def test_torch_reads_it():
    viz = pytest.importorskip("torch.cuda._memory_viz")
    snapshot = pickle.loads(torch_snapshot_file(everything()))
    text = viz.trace(snapshot)
    assert "cudaMalloc(1099511627776, 14.0KiB)" in text and "Device 1" in text
    assert "total_reserved: 43.3KiB" in viz.segsum(snapshot)
    assert viz.trace_plot(snapshot) and viz.segment_plot(snapshot)
