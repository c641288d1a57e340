"""Metrics of pipelines: our own names, and those under which Kafka Connect's are exported. Asks no cluster.

Connect's names are those that the usual JMX rules make of `kafka.connect:type=sink-task-metrics` and so on. What has no
meaning here is left out, not shown as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from twinlog.pipelines.engine import Engine

STATES: Final = ("RUNNING", "FAILED", "PAUSED", "STOPPED", "UNASSIGNED", "RESTARTING")
_TASK: Final = ["connector", "task"]


def pipeline_families(engines: Iterable[Engine]) -> Iterator[Metric]:
    """All families of the pipelines that this process runs."""
    running = list(engines)
    yield from _own(running)
    yield from _connect(running)


def _own(engines: list[Engine]) -> Iterator[Metric]:
    one = ["pipeline"]
    state = GaugeMetricFamily("twinlog_pipeline_state", "1 for the state that it has.", labels=["pipeline", "state"])
    tasks = GaugeMetricFamily("twinlog_pipeline_tasks", "Tasks of the epoch that runs.", labels=one)
    failures = GaugeMetricFamily("twinlog_pipeline_failures", "Failures in a row.", labels=one)
    waiting = GaugeMetricFamily("twinlog_pipeline_waiting", "1 while it waits for a system.", labels=one)
    stopped = GaugeMetricFamily("twinlog_pipeline_partitions_stopped", "Partitions that stand still.", labels=one)
    lag = GaugeMetricFamily("twinlog_pipeline_lag_records", "Records not yet read when it was planned.", labels=one)
    moved = GaugeMetricFamily("twinlog_pipeline_moved_timestamp_seconds", "When it stored a position last.", labels=one)
    records = CounterMetricFamily(
        "twinlog_pipeline_records",
        "Records by what became of them: put, written, dropped, failed, parked.",
        labels=["pipeline", "kind"],
    )
    for engine in engines:
        name, progress = engine.connector.name, engine.progress
        for state_name in STATES:
            state.add_metric([name, state_name], float(progress.state == state_name))
        tasks.add_metric([name], progress.tasks)
        failures.add_metric([name], progress.failures_in_a_row)
        waiting.add_metric([name], float(bool(progress.waiting)))
        stopped.add_metric([name], len(progress.faults))
        if hasattr(engine.planner, "lag"):
            lag.add_metric([name], engine.planner.lag)
        if progress.moved_at:
            moved.add_metric([name], progress.moved_at)
        for kind, count in sorted(progress.totals().items()):
            records.add_metric([name, kind], count)
    yield from (state, tasks, failures, waiting, stopped, lag, moved, records)


def _connect(engines: list[Engine]) -> Iterator[Metric]:
    sent = CounterMetricFamily(
        "kafka_connect_sink_task_metrics_sink_record_send", "Records that a sink's task has put.", labels=_TASK
    )
    written = CounterMetricFamily(
        "kafka_connect_source_task_metrics_source_record_write",
        "Records that a source's task has written.",
        labels=_TASK,
    )
    errors = CounterMetricFamily(
        "kafka_connect_task_error_metrics_total_record_errors", "Records that could not be handled.", labels=_TASK
    )
    letters = CounterMetricFamily(
        "kafka_connect_task_error_metrics_deadletterqueue_produce_requests", "Dead letters written.", labels=_TASK
    )
    for engine in engines:
        name, progress = engine.connector.name, engine.progress
        # Tasks of an epoch that ended are counted together, under the first.
        by_task = {number: dict(counts) for number, counts in progress.by_task.items()}
        first = by_task.setdefault(0, {})
        for kind, count in progress.counts.items():
            first[kind] = first.get(kind, 0) + count
        for number, counts in sorted(by_task.items()):
            place = [name, str(number)]
            if engine.connector.kind == "sink":
                sent.add_metric(place, counts.get("put", 0))
            else:
                written.add_metric(place, counts.get("written", 0))
            errors.add_metric(place, counts.get("failed", 0))
            letters.add_metric(place, counts.get("parked", 0))
    yield from (sent, written, errors, letters)
