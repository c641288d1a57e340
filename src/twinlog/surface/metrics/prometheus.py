"""/metrics: what the lookout saw, as Prometheus reads it. Asks no cluster; runs in the service's loop.

How many series there are is chosen where Prometheus is told to scrape (`params:` of a job):

    topics=false       no series per topic
    partitions=true    MirrorMaker 2's names per partition instead of per topic
    mirrormaker=false  without MirrorMaker 2's names

A name that is not known is left out, never shown as 0: `absent()` and `unless` then say what they mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from pydantic import BaseModel, Field

from twinlog.control.notifier import Notifier
from twinlog.model.clock import SYSTEM_CLOCK
from twinlog.model.health.movement import WORST_FIRST
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.stage_times import STAGES
from twinlog.model.ledger.translation import AtOrBefore, Exact
from twinlog.surface.answers.links import state_of, without_copy
from twinlog.surface.answers.rows import topics_of
from twinlog.surface.http.app_state import AppState, TheAppState
from twinlog.surface.http.response_cache import FOR_ALL
from twinlog.surface.metrics.mirrormaker import OTHERS, mirrormaker_families
from twinlog.surface.metrics.pipelines import pipeline_families
from twinlog.surface.metrics.processes import process_families
from twinlog.watch.monitor import LinkSnapshot

router = APIRouter(tags=["metrics"])

STATES: Final = (
    *("RUNNING", "CATCHING_UP", "DEGRADED", "FAULTED", "STALLED", "SOURCE_DOWN"),
    *("SWITCHED", "STOPPED", "UNKNOWN"),
)
MOST_TOPICS: Final = 2000
"""Series per family and link; what is more goes into one named `(others)`."""


class MetricsWish(BaseModel):
    """How many series are wanted."""

    topics: bool = Field(True, description="Series per topic.")
    partitions: bool = Field(False, description="MirrorMaker 2's names per partition, not per topic.")
    mirrormaker: bool = Field(True, description="MirrorMaker 2's names too.")


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}}, dependencies=[FOR_ALL]
)
def metrics(app_state: TheAppState, wish: Annotated[MetricsWish, Query()]) -> Response:
    """Everything, in Prometheus' text."""
    return Response(render(app_state, wish), media_type=CONTENT_TYPE_LATEST)


def render(app_state: AppState, wish: MetricsWish) -> bytes:
    """The whole text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(app_state, wish))
    return generate_latest(registry)


class _Families(Collector):
    def __init__(self, app_state: AppState, wish: MetricsWish) -> None:
        self._app_state = app_state
        self._wish = wish

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        return families(self._app_state, self._wish)


def families(app_state: AppState, wish: MetricsWish) -> Iterator[Metric]:
    """Everything, whoever it is told to."""
    snapshots = app_state.snapshots()
    build = GaugeMetricFamily("twinlog_build_info", "The version that answers.", labels=["version"])
    build.add_metric([version("twinlog")], 1)
    yield build
    if app_state.notifier is not None:
        yield from _notification_families(app_state.notifier)
    if app_state.otel_failures is not None:
        failures = GaugeMetricFamily("twinlog_otel_failures", "Failures to report to a collector, in a row.")
        failures.add_metric([], app_state.otel_failures)
        yield failures
    if app_state.audit is not None:
        lost = CounterMetricFamily("twinlog_audit_failures", "Entries that the audit file or topic did not take.")
        lost.add_metric([], app_state.audit.failures)
        yield lost
    yield from link_families(snapshots)
    yield from latency_families(snapshots)
    yield from epoch_families(snapshots)
    yield from partition_families(snapshots)
    yield from chore_families(snapshots)
    yield from group_families(snapshots)
    yield from switch_families(snapshots)
    yield from pipeline_families(app_state.pipelines())
    if wish.topics:
        yield from topic_families(snapshots)
    if wish.mirrormaker:
        yield from mirrormaker_families(
            snapshots, app_state.connectors(), by_partition=wish.partitions, most_topics=MOST_TOPICS
        )
    yield from process_families()


Value = float | int | bool | None


def _notification_families(notifier: Notifier) -> Iterator[Metric]:
    failures = GaugeMetricFamily("twinlog_notification_failures", "Failures of a hook, in a row.", labels=["hook"])
    sent = CounterMetricFamily("twinlog_notifications", "Messages that a hook took.", labels=["hook"])
    for hook, count in notifier.failures.items():
        failures.add_metric([hook], count)
    for hook, count in notifier.sent.items():
        sent.add_metric([hook], count)
    yield failures
    yield sent


def gauge(
    name: str, text: str, snapshots: Iterable[LinkSnapshot], value: Callable[[LinkSnapshot], Value]
) -> GaugeMetricFamily:
    """One number per link; a link without that number has no series."""
    family = GaugeMetricFamily(name, text, labels=["link"])
    for snapshot in snapshots:
        number = value(snapshot)
        if number is not None:
            family.add_metric([snapshot.link.name], float(number))
    return family


def _of_status(read: Callable[[LinkStatus], Value]) -> Callable[[LinkSnapshot], Value]:
    """A number of the last good look; nothing when the link cannot be looked at now."""
    return lambda snapshot: None if snapshot.status is None or snapshot.trouble else read(snapshot.status)


def _of_exposure(name: str) -> Callable[[LinkSnapshot], Value]:
    return _of_status(lambda s: None if s.exposure is None or s.rests else getattr(s.exposure.total, name))


def link_families(snapshots: list[LinkSnapshot]) -> Iterator[Metric]:
    """Links: state, lag, RPO, what was copied."""
    info = GaugeMetricFamily("twinlog_link_info", "The links of this service.", labels=["link", "source", "target"])
    state = GaugeMetricFamily("twinlog_link_state", "1 for the state a link is in.", labels=["link", "state"])
    for snapshot in snapshots:
        info.add_metric([snapshot.link.name, snapshot.link.source, snapshot.link.target], 1)
        now = state_of(snapshot)
        for name in STATES:
            state.add_metric([snapshot.link.name, name], float(name == now))
    yield info
    yield state
    now_ms = SYSTEM_CLOCK.now_ms()
    yield gauge(
        "twinlog_look_age_seconds",
        "Since the link was last looked at.",
        snapshots,
        lambda s: (now_ms - s.looked_ms) / 1000 if s.looked_ms else None,
    )
    yield gauge("twinlog_look_failures", "Looks that failed, in a row.", snapshots, lambda s: s.failures)
    yield gauge("twinlog_look_seconds", "How long the last look took.", snapshots, lambda s: s.took_s)
    yield gauge(
        "twinlog_engine_heartbeat_age_seconds",
        "Since the engine last spoke.",
        snapshots,
        _of_status(lambda s: max(0.0, (now_ms - s.engine.at_ms) / 1000) if s.engine else None),
    )
    yield gauge(
        "twinlog_engine_generation",
        "Rises with every engine that takes the link over.",
        snapshots,
        _of_status(lambda s: s.engine.generation if s.engine else None),
    )
    yield gauge("twinlog_replication_lag_records", "Offsets not copied yet.", snapshots, _of_status(lambda s: s.lag))
    yield gauge("twinlog_replication_lag_seconds", "Age of the copy.", snapshots, _of_status(lambda s: s.lag_seconds))
    yield gauge("twinlog_rpo_seconds", "Everything older is copied.", snapshots, _of_exposure("seconds"))
    yield gauge("twinlog_rpo_records", "Records lost if the source vanished now.", snapshots, _of_exposure("records"))
    yield gauge("twinlog_rpo_bytes", "Bytes lost if the source vanished now.", snapshots, _of_exposure("bytes"))
    yield gauge(
        "twinlog_time_to_loss_seconds",
        "Until retention on the source may reach what is not copied.",
        snapshots,
        _of_exposure("time_to_loss_s"),
    )
    yield gauge(
        "twinlog_objectives_broken",
        "Topics whose RPO objective is not kept.",
        snapshots,
        _of_status(lambda s: None if s.exposure is None or s.rests else len(s.exposure.broken)),
    )
    yield gauge("twinlog_records_per_second", "Copied now.", snapshots, _of_status(lambda s: s.records_per_second))
    yield gauge("twinlog_bytes_per_second", "Copied now.", snapshots, _of_status(lambda s: s.bytes_per_second))
    yield gauge("twinlog_topics", "Mirrored topics.", snapshots, _of_status(lambda s: s.topics))


def latency_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """How long records took, stage by stage, and heartbeats."""
    stages = HistogramMetricFamily(
        "twinlog_stage_latency_seconds", "How long records took, by stage of their way.", labels=["link", "stage"]
    )
    canary = HistogramMetricFamily(
        "twinlog_canary_latency_seconds", "How long heartbeats of the source took to the target.", labels=["link"]
    )
    for snapshot in snapshots:
        for stage in STAGES:
            durations = snapshot.status.stage_totals.get(stage) if snapshot.status else None
            if durations is not None:
                stages.add_metric([snapshot.link.name, stage], durations.buckets(), durations.total_us / 1e6)
        if snapshot.latencies.heard_ms:
            heard = snapshot.latencies.durations
            canary.add_metric([snapshot.link.name], heard.buckets(), heard.total_us / 1e6)
    yield from (stages, canary)


def epoch_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """Epochs of the engine that runs a link; a new engine begins to count at 0."""
    ended = CounterMetricFamily("twinlog_epochs", "Epochs that came to their end.", labels=["link"])
    failed = CounterMetricFamily("twinlog_epochs_failed", "Epochs that failed and were started again.", labels=["link"])
    for snapshot in snapshots:
        engine = snapshot.status.engine if snapshot.status else None
        if engine is not None:
            ended.add_metric([snapshot.link.name], engine.epochs)
            failed.add_metric([snapshot.link.name], engine.epochs_failed)
    yield from (ended, failed)


def partition_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """Partitions: how many are in which state, faults by code, and what all of them copied."""
    count = GaugeMetricFamily("twinlog_partitions", "Partitions by state.", labels=["link", "state"])
    faults = GaugeMetricFamily("twinlog_faults", "What cannot be copied, by code.", labels=["link", "code"])
    totals = {
        name: CounterMetricFamily(f"twinlog_{metric}", text, labels=["link"])
        for name, metric, text in (
            ("records", "records", "Records copied."),
            ("bytes", "bytes", "Bytes copied."),
            ("skipped", "gap_offsets", "Offsets that were given up on purpose, with a note."),
            ("returned", "returned_offsets", "Offsets left out because they came from the target."),
            ("dropped", "transform_dropped_offsets", "Offsets left out because a transform of the link drops them."),
            ("refused", "transform_refused_offsets", "Offsets left out because a transform could not handle them."),
        )
    }
    for snapshot in snapshots:
        status = snapshot.status
        if status is None:
            continue
        link = snapshot.link.name
        if not snapshot.trouble:
            counter = Counter(
                "FAULTED" if part.fault else snapshot.movements.get(part.partition, "OK") for part in status.partitions
            )
            for state in ("FAULTED", *WORST_FIRST):
                count.add_metric([link, state], counter[state])
            for code, number in sorted(Counter(fault.code for fault in status.faults).items()):
                faults.add_metric([link, code], number)
        for name, family in totals.items():
            family.add_metric([link], sum(getattr(part, name) for part in status.partitions))
    yield count
    yield faults
    yield from totals.values()


def chore_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """SyncJobs: age, trouble, findings; and what the audit found."""
    labels = ["link", "chore"]
    age = GaugeMetricFamily("twinlog_chore_age_seconds", "Since its last sign of life.", labels=labels)
    trouble = GaugeMetricFamily("twinlog_chore_trouble", "1 while it cannot be done.", labels=labels)
    findings = GaugeMetricFamily("twinlog_chore_findings", "What it could not keep in sync.", labels=labels)
    mismatches = GaugeMetricFamily(
        "twinlog_verify_mismatches", "Copied records that differ from their originals.", labels=["link"]
    )
    audited = CounterMetricFamily("twinlog_verified_records", "Records compared by the audit.", labels=["link"])
    now_ms = SYSTEM_CLOCK.now_ms()
    for snapshot in snapshots:
        for note in snapshot.status.chores if snapshot.status else ():
            where = [snapshot.link.name, note.chore]
            age.add_metric(where, max(0.0, (now_ms - note.at_ms) / 1000))
            trouble.add_metric(where, float(note.trouble is not None))
            findings.add_metric(where, note.found)
            if note.chore == "audit":
                mismatches.add_metric([snapshot.link.name], note.counts.get("mismatches", 0))
                audited.add_metric([snapshot.link.name], note.counts.get("records", 0))
    yield from (age, trouble, findings, mismatches, audited)


def group_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """Groups: how they get on, how they are translated, what a switch would make them read again."""
    count = GaugeMetricFamily("twinlog_groups", "Groups by state at the source.", labels=["link", "state"])
    positions = GaugeMetricFamily(
        "twinlog_group_positions", "Positions by how they translate.", labels=["link", "translation"]
    )
    again = GaugeMetricFamily(
        "twinlog_translation_reread_records", "Records that groups would read again after a switch.", labels=["link"]
    )
    age = GaugeMetricFamily("twinlog_group_sync_age_seconds", "Since positions were last synced.", labels=["link"])
    now_ms = SYSTEM_CLOCK.now_ms()
    for snapshot in snapshots:
        link = snapshot.link.name
        note = next(
            (chore for chore in (snapshot.status.chores if snapshot.status else ()) if chore.chore == "groups"), None
        )
        if note is not None:
            age.add_metric([link], max(0.0, (now_ms - note.at_ms) / 1000))
        if snapshot.groups is None or snapshot.groups_trouble:
            continue
        moves = Counter(snapshot.group_movements.values())
        for state in WORST_FIRST:
            count.add_metric([link, state], moves[state])
        mirrored = [standing for standing in snapshot.groups.standings if standing.remote is not None]
        kinds = Counter(
            "exact" if isinstance(standing.translation, Exact)
            else "at-or-before" if isinstance(standing.translation, AtOrBefore)
            else "untranslatable"
            for standing in mirrored
        )  # fmt: skip
        for kind in ("exact", "at-or-before", "untranslatable"):
            positions.add_metric([link, kind], kinds[kind])
        again.add_metric([link], sum(standing.re_read or 0 for standing in mirrored))
    yield from (count, positions, again, age)


def switch_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """The switch: who is active, whether one runs, what is shut on its return."""
    active = GaugeMetricFamily("twinlog_active", "1 for the active cluster of a pair.", labels=["link", "cluster"])
    open_ = GaugeMetricFamily("twinlog_switch_open", "1 while a switch runs or was interrupted.", labels=["link"])
    generation = GaugeMetricFamily("twinlog_switch_generation", "Rises with every decision.", labels=["link"])
    fence = GaugeMetricFamily(
        "twinlog_fence_pending", "1 for a cluster that is shut as soon as it returns.", labels=["link", "cluster"]
    )
    lone = GaugeMetricFamily(
        "twinlog_without_copy", "1 for an active cluster whose new records nothing copies.", labels=["link", "cluster"]
    )
    snapshots = list(snapshots)
    for name, cluster in without_copy(snapshots).items():
        lone.add_metric([name, cluster], 1)
    for snapshot in snapshots:
        switches = snapshot.switches
        if switches is None:
            continue
        link = snapshot.link
        who = switches.state.active if switches.state else link.source
        for cluster in (link.source, link.target):
            active.add_metric([link.name, cluster], float(cluster == who))
        open_.add_metric([link.name], float(switches.open is not None))
        generation.add_metric([link.name], switches.state.generation if switches.state else 0)
        for cluster in switches.state.fence_on_return if switches.state else ():
            fence.add_metric([link.name, cluster], 1)
    yield from (active, open_, generation, fence, lone)


def topic_families(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    """Topics: lag, RPO, records; at most so many, the rest together."""
    labels = ["link", "topic"]
    lag = GaugeMetricFamily("twinlog_topic_lag_records", "Offsets not copied yet.", labels=labels)
    rpo = GaugeMetricFamily("twinlog_topic_rpo_seconds", "Everything older is copied.", labels=labels)
    records = CounterMetricFamily("twinlog_topic_records", "Records copied.", labels=labels)
    for snapshot in snapshots:
        rows = topics_of(snapshot)
        shown, others = rows[:MOST_TOPICS], rows[MOST_TOPICS:]
        for row in shown:
            where = [snapshot.link.name, row.topic]
            if row.lag_records is not None and not snapshot.trouble:
                lag.add_metric(where, row.lag_records)
            if row.rpo_seconds is not None and not snapshot.trouble:
                rpo.add_metric(where, row.rpo_seconds)
            records.add_metric(where, row.records)
        if others:
            where = [snapshot.link.name, OTHERS]
            if not (snapshot.status is not None and snapshot.status.rests):
                lag.add_metric(where, sum(row.lag_records or 0 for row in others))
                rpo.add_metric(where, max((row.rpo_seconds or 0 for row in others), default=0))
            records.add_metric(where, sum(row.records for row in others))
    yield from (lag, rpo, records)
