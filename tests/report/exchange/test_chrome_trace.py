import json
from itertools import pairwise

from hypothesis import given

from tests.browser.reports import everything
from tests.report.any_report import REPORTS
from tvm_memplan.report.exchange import chrome_trace


def events(report):
    return json.loads(chrome_trace(report))["traceEvents"]


@given(REPORTS)
def test_every_event_has_the_fields_of_its_phase(report):
    for event in events(report):
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
        if event["ph"] == "X":
            assert event["dur"] > 0 and isinstance(event["ts"], int) and event["cat"]
        elif event["ph"] == "C":
            assert list(event["args"]) == ["in use"] and isinstance(event["args"]["in use"], int)
        else:
            assert event["ph"] == "M" and event["name"] in ("process_name", "thread_name") and event["args"]["name"]


@given(REPORTS)
def test_events_of_one_lane_never_overlap(report):
    lanes = {}
    for event in events(report):
        if event["ph"] == "X":
            lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for spans in lanes.values():
        assert all(a[1] <= b[0] for a, b in pairwise(sorted(spans)))


def test_each_life_is_an_event_and_each_pool_a_process():
    report = everything()
    found = events(report)
    lives = [e for e in found if e["ph"] == "X" and e["pid"] > 1]
    assert len(lives) == sum(len(row.live_ranges) for row in report.allocations)
    (conv,) = [e for e in lives if e["name"] == "conv.out"]
    assert (conv["ts"], conv["dur"], conv["cat"]) == (1, 3, "activation")
    assert conv["args"]["size_bytes"] == 8192 and conv["args"]["tensor"] == "float32[1, 8, 16, 16]"
    names = [e["args"]["name"] for e in found if e["name"] == "process_name"]
    assert names == ["operators", "pool sram", "pool flash"]
    counter = [(e["ts"], e["args"]["in use"]) for e in found if e["ph"] == "C" and e["pid"] == 2]
    assert counter[:3] == [(0, 4096), (1, 14336), (2, 8192)] and counter[-1] == (7, 0)
