"""OpenTelemetry: the families of /metrics and the steps of switches, sent to a collector over OTLP/HTTP.

Runs beside the HTTP server, in the service's loop; what waits for the network runs in a thread. The extra `otel` brings
OpenTelemetry's own SDK, which is loaded only where `otel.endpoint` is set.

    families of /metrics ──▶ MetricsData ──▶ <endpoint>/v1/metrics      every `otel.interval.seconds`
    switches that ended  ──▶ spans       ──▶ <endpoint>/v1/traces       once: one for the switch, one for each step
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Status, StatusCode, set_span_in_context
from prometheus_client.core import Metric as Family

from twinlog.config.service_settings import OtelSettings
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.switch.log import Switch
from twinlog.surface.http.app_state import AppState
from twinlog.surface.metrics.prometheus import MetricsWish, families

log = logging.getLogger("twinlog.otel")

_TIMEOUT_S: Final = 10.0
_MS: Final = 1_000_000
_WISH: Final = MetricsWish(topics=True, partitions=False, mirrormaker=False)


@dataclass
class Teller:
    """Tells a collector what /metrics shows. One that does not answer is told again at the next turn."""

    app_state: AppState
    settings: OtelSettings
    began_ns: int = field(default_factory=SYSTEM_CLOCK.now_ns)
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        resource = Resource.create({"service.name": "twinlog", "service.version": version("twinlog")})
        endpoint = self.settings.endpoint
        self._resource = resource
        self._metrics = OTLPMetricExporter(f"{endpoint}/v1/metrics", timeout=_TIMEOUT_S)
        self._ids = _SwitchIds()
        self._spans = TracerProvider(resource=resource, id_generator=self._ids)
        exporter = OTLPSpanExporter(f"{endpoint}/v1/traces", timeout=_TIMEOUT_S)
        self._spans.add_span_processor(BatchSpanProcessor(exporter))

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await asyncio.sleep(self.settings.interval_seconds)
                try:
                    await asyncio.to_thread(self.tell)
                except Exception:  # a mistake of ours must be seen, and must not end the telling
                    log.exception("otel.endpoint %s: telling", self.settings.endpoint)
                    self.app_state.otel_failures = (self.app_state.otel_failures or 0) + 1
        finally:
            self._metrics.shutdown(timeout_millis=1000)
            self._spans.shutdown()

    def tell(self) -> None:
        data = data_of(families(self.app_state, _WISH), self._resource, self.began_ns)
        before = self.app_state.otel_failures or 0
        taken = self._metrics.export(data) is MetricExportResult.SUCCESS
        self.app_state.otel_failures = 0 if taken else before + 1
        if before and taken:
            log.warning("otel.endpoint %s: it takes metrics again", self.settings.endpoint)
        elif not taken and not before:
            log.warning("otel.endpoint %s: it does not take metrics; it is tried again", self.settings.endpoint)
        for switch in self._fresh_switches():
            self._tell_switch(switch)

    def _fresh_switches(self) -> Iterator[Switch]:
        """Those that ended since this service began, each of them once."""
        for snapshot in self.app_state.snapshots():
            for switch in snapshot.switches.ended if snapshot.switches else ():
                of_link = switch.claim.link == snapshot.link.name and switch.ended_ms * _MS >= self.began_ns
                if of_link and switch.id not in self._told:
                    self._told.add(switch.id)
                    yield switch

    def _tell_switch(self, switch: Switch) -> None:
        tracer = self._spans.get_tracer("twinlog")
        about = {"twinlog.link": switch.claim.link, "twinlog.switch": switch.id}
        self._ids.of(switch.id, "")
        whole = tracer.start_span(switch.claim.command, start_time=switch.since_ms * _MS, attributes=about)
        for step in switch.steps.values():
            self._ids.of(switch.id, step.step)
            span = tracer.start_span(
                step.step, set_span_in_context(whole), start_time=step.began_ms * _MS, attributes=about
            )
            if step.status != "done":
                span.set_status(Status(StatusCode.ERROR, step.says))
            span.end((step.ended_ms or switch.ended_ms) * _MS)
        if switch.end is not None and switch.end.outcome != "done":
            whole.set_status(Status(StatusCode.ERROR, switch.end.says))
        whole.end(switch.ended_ms * _MS)


class _SwitchIds(IdGenerator):
    """Ids made of the switch itself: every service of a group tells the same spans, and a collector keeps them once."""

    def __init__(self) -> None:
        self._switch = self._step = ""

    def of(self, switch: str, step: str) -> None:
        """Whose ids are asked for next."""
        self._switch, self._step = switch, step

    def generate_trace_id(self) -> int:
        return _number(self._switch, 16)

    def generate_span_id(self) -> int:
        return _number(f"{self._switch}/{self._step}", 8)


def _number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size]) or 1


def data_of(families: Iterable[Family], resource: Resource, began_ns: int) -> MetricsData:
    """The families as OpenTelemetry has them: same names, same labels, same numbers."""
    now_ns = SYSTEM_CLOCK.now_ns()
    metrics = [metric for family in families if (metric := _metric(family, began_ns, now_ns)) is not None]
    scope = ScopeMetrics(InstrumentationScope("twinlog", version("twinlog")), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _metric(family: Family, began_ns: int, now_ns: int) -> Metric | None:
    if not family.samples:
        return None
    if family.type == "histogram":
        points = list(_histograms(family, began_ns, now_ns))
        return Metric(family.name, family.documentation, "", Histogram(points, AggregationTemporality.CUMULATIVE))
    counts = family.type == "counter"
    numbers = [
        NumberDataPoint(sample.labels, began_ns if counts else 0, now_ns, float(sample.value))
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]
    data = Sum(numbers, AggregationTemporality.CUMULATIVE, is_monotonic=True) if counts else Gauge(numbers)
    return Metric(family.name, family.documentation, "", data)


def _histograms(family: Family, began_ns: int, now_ns: int) -> Iterator[HistogramDataPoint]:
    """One point for each set of labels: Prometheus counts up to each bound, OpenTelemetry between two."""
    buckets: dict[tuple[tuple[str, str], ...], list[tuple[float, int]]] = {}
    sums: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in family.samples:
        labels = tuple(sorted((name, text) for name, text in sample.labels.items() if name != "le"))
        if sample.name.endswith("_bucket"):
            buckets.setdefault(labels, []).append((float(sample.labels["le"]), int(sample.value)))
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    for labels, up_to in buckets.items():
        counts = [up_to[0][1], *(later - earlier for (_, earlier), (_, later) in pairwise(up_to))]
        bounds = [bound for bound, _ in up_to[:-1]]
        least: Any = None  # nobody knows the least and the most, and the protocol may do without
        total = sums.get(labels, 0.0)
        yield HistogramDataPoint(dict(labels), began_ns, now_ns, sum(counts), total, counts, bounds, least, least)
