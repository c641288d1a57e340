"""What a collector of OpenTelemetry hears: a real receiver of OTLP over HTTP decodes what the SDK sent."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from tests.kit.observed_state import app_state_of
from tests.kit.paper_backend import PaperBackend
from tests.kit.waiting import wait_until

from twinlog.config.resolve import resolve
from twinlog.config.service_settings import OtelSettings
from twinlog.errors import ExtraMissing
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics.otel import Teller
from twinlog.surface.metrics.prometheus import MetricsWish, render

LINK = "east->west"


class Receiver:
    """Takes what is posted, or refuses it."""

    def __init__(self) -> None:
        self.metrics: list[Any] = []
        self.spans: list[Any] = []
        self.status = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if outer.status == 200:
                    outer.take(self.path, body)
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:  # not on the terminal
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/metrics":
            told = ExportMetricsServiceRequest.FromString(body)
            self.metrics = [m for r in told.resource_metrics for s in r.scope_metrics for m in s.metrics]
        elif path == "/v1/traces":
            told_spans = ExportTraceServiceRequest.FromString(body)
            self.spans += [one for r in told_spans.resource_spans for s in r.scope_spans for one in s.spans]
        else:
            raise AssertionError(path)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.server.shutdown()
    one.server.server_close()


def labels(point: Any) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in point.attributes}


def point_of(receiver: Receiver, name: str, **wanted: str) -> Any:
    (metric,) = [one for one in receiver.metrics if one.name == name]
    data = getattr(metric, metric.WhichOneof("data"))
    (found,) = [point for point in data.data_points if wanted.items() <= labels(point).items()]
    return found


def test_a_collector_hears_the_families_of_the_metrics_page(receiver: Receiver) -> None:
    app_state = app_state_of(PaperBackend())
    Teller(app_state, OtelSettings(endpoint=receiver.endpoint, interval_seconds=1)).tell()
    page = render(app_state, MetricsWish(mirrormaker=False)).decode()
    shown = {family.name for family in text_string_to_metric_families(page) if family.samples}
    assert shown - {one.name for one in receiver.metrics} == {"twinlog_otel_failures"}  # known since this telling
    status = app_state.snapshot(LINK).status
    assert status is not None
    assert point_of(receiver, "twinlog_replication_lag_records", link=LINK).as_double == status.lag
    assert point_of(receiver, "twinlog_records", link=LINK).as_double == sum(one.records for one in status.partitions)
    (counter,) = [one for one in receiver.metrics if one.name == "twinlog_records"]
    assert counter.sum.is_monotonic
    assert point_of(receiver, "twinlog_link_state", link=LINK, state="DEGRADED").as_double == 1
    stage = point_of(receiver, "twinlog_stage_latency_seconds", link=LINK, stage="copied")
    assert (stage.count, sum(stage.bucket_counts), len(stage.bucket_counts)) == (
        200,
        200,
        len(stage.explicit_bounds) + 1,
    )
    assert stage.bucket_counts[list(stage.explicit_bounds).index(0.01)] == 196
    assert not stage.HasField("min")


def switched(backend: PaperBackend, began_ns: int, app_state: AppState) -> Any:
    """A failover on paper, seen by the desk; returns the switch."""

    async def go() -> None:
        await backend.switch(backend.links()[0], "failover-planned", lambda _: None)
        await app_state.monitor.look_at_switches(app_state.monitor.snapshots[LINK])

    asyncio.run(go())
    (one,) = backend.runs
    assert one.since_ms * 1_000_000 >= began_ns - 1_000_000_000
    return one


def test_a_switch_is_one_trace_with_a_span_for_each_step(receiver: Receiver) -> None:
    backend = PaperBackend(step_seconds=0.01)
    app_state = app_state_of(backend)
    settings = OtelSettings(endpoint=receiver.endpoint, interval_seconds=1)
    tellers = [Teller(app_state, settings), Teller(app_state, settings)]  # two services of a group tell the same
    switch = switched(backend, time.time_ns(), app_state)
    for teller in tellers:
        teller.tell()
        teller.tell()
        assert teller._spans.force_flush(5000)
    assert len(receiver.spans) == 2 * (1 + len(switch.steps))
    spans = {one.span_id: one for one in receiver.spans}
    assert len(spans) == 1 + len(switch.steps)
    (whole,) = [one for one in spans.values() if not one.parent_span_id]
    assert (whole.name, whole.start_time_unix_nano) == (switch.claim.command, switch.since_ms * 1_000_000)
    assert {one.name for one in spans.values() if one.parent_span_id == whole.span_id} == set(switch.steps)
    assert len({one.trace_id for one in spans.values()}) == 1


def test_a_collector_that_is_away_is_told_of_and_tried_again(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    app_state = app_state_of(PaperBackend())
    teller = Teller(app_state, OtelSettings(endpoint=receiver.endpoint, interval_seconds=1))
    receiver.status = 400
    with caplog.at_level(logging.WARNING, "twinlog.otel"):
        teller.tell()
        teller.tell()
        assert (app_state.otel_failures, receiver.metrics) == (2, [])
        assert b"twinlog_otel_failures 2.0" in render(app_state, MetricsWish())
        receiver.status = 200
        teller.tell()
    assert app_state.otel_failures == 0
    assert receiver.metrics
    said = [one.getMessage() for one in caplog.records if one.name == "twinlog.otel"]
    assert [receiver.endpoint in one for one in said] == [True, True]  # once when it went, once when it came


def test_a_service_tells_again_and_again_until_it_ends(receiver: Receiver) -> None:
    app_state = app_state_of(PaperBackend())

    async def serve() -> None:
        task = asyncio.create_task(
            Teller(app_state, OtelSettings(endpoint=receiver.endpoint, interval_seconds=1)).run()
        )
        await asyncio.to_thread(
            wait_until, lambda: app_state.otel_failures, lambda seen: seen == 0, within_s=60, what="the first telling"
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(serve())
    assert receiver.metrics


def test_without_the_extra_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from twinlog.surface.http.listening import HttpService

    text = b"""
clusters = east, west
east.bootstrap.servers = 127.0.0.1:9
west.bootstrap.servers = 127.0.0.1:9
east->west.enabled = true
otel.endpoint = http://127.0.0.1:4318/
"""
    file = resolve(text, str(tmp_path / "mirror.properties"), (), {})
    assert file.service.otel == OtelSettings(endpoint="http://127.0.0.1:4318", interval_seconds=15)
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "twinlog.surface.metrics.otel")
    importlib.invalidate_caches()
    with pytest.raises(ExtraMissing) as caught:
        HttpService.open(["127.0.0.1:0"], file)
    assert "otel.endpoint" in str(caught.value)
    assert "pip install 'PATH-TO-WHEEL[otel]'" in caught.value.remedy_text()
