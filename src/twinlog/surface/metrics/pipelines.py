"""Metrics of pipelines: our own names, and those under which Kafka Connect's are exported. Asks no cluster.

Connect's names are those that the usual JMX rules make of `kafka.connect:type=sink-task-metrics` and so on. What has no
meaning here, or is not known, is left out, not shown as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

if TYPE_CHECKING:
    from twinlog.pipelines.engine import Engine
    from twinlog.surface.http.app_state import PipelineState

STATES: Final = ("RUNNING", "FAILED", "PAUSED", "STOPPED", "UNASSIGNED", "RESTARTING")
_TASK: Final = ["connector", "task"]
Counts = Mapping[str, int]


def pipeline_families(looks: Iterable[PipelineState]) -> Iterator[Metric]:
    """All families of all pipelines. Those that do not run here have a state and nothing else."""
    all_looks = list(looks)
    yield from _states(all_looks)
    yield from _own(all_looks)
    yield from _connect([look.view.engine for look in all_looks if look.view.engine is not None])


def _states(looks: list[PipelineState]) -> Iterator[Metric]:
    state = GaugeMetricFamily("twinlog_pipeline_state", "1 for the state that it has.", labels=["pipeline", "state"])
    failed = GaugeMetricFamily("twinlog_pipeline_tasks_failed", "Tasks that do not advance.", labels=["pipeline"])
    for view, _ in looks:
        for name in STATES:
            state.add_metric([view.name, name], float(view.status.state == name))
        tasks = [view.status.of_task(number)[0] for number in range(view.status.tasks)]
        # Connect has no tasks where the connector itself failed; whoever counts failed tasks must see it all the same.
        failed.add_metric([view.name], tasks.count("FAILED") or float(view.status.state == "FAILED"))
    yield from (state, failed)


def _own(looks: list[PipelineState]) -> Iterator[Metric]:
    def gauge(name: str, text: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"twinlog_pipeline_{name}", text, labels=["pipeline"])

    tasks = gauge("tasks", "Tasks of the epoch that runs.")
    failures = gauge("failures", "Failures in a row.")
    waiting = gauge("waiting", "1 while it waits for a system.")
    stopped = gauge("partitions_stopped", "Partitions that stand still.")
    rate = gauge("records_per_second", "Records handled per second.")
    lag = gauge("lag_records", "Records of a sink's topics that are not stored yet.")
    late = gauge("lag_seconds", "Age of the last stored record, while others wait.")
    moved = gauge("moved_timestamp_seconds", "When it stored a position last.")
    restarts = CounterMetricFamily(
        "twinlog_pipeline_restarts", "Times that its tasks were started again after a failure.", labels=["pipeline"]
    )
    records = CounterMetricFamily(
        "twinlog_pipeline_records",
        "Records by what became of them: put, written, dropped, failed, parked.",
        labels=["pipeline", "kind"],
    )
    for view, meter in looks:
        if view.engine is None:
            continue
        name, progress = [view.name], view.engine.progress
        tasks.add_metric(name, progress.tasks)
        failures.add_metric(name, progress.failures_in_a_row)
        waiting.add_metric(name, float(bool(progress.hindrance)))
        stopped.add_metric(name, len(progress.faults))
        restarts.add_metric(name, progress.restarts)
        for family, value in ((rate, meter.records_per_second), (lag, meter.lag_records), (late, meter.lag_seconds)):
            if value is not None:
                family.add_metric(name, value)
        if progress.moved_at:
            moved.add_metric(name, progress.moved_at)
        for kind, count in sorted(progress.totals().items()):
            records.add_metric([*name, kind], count)
    yield from (tasks, failures, waiting, stopped, rate, lag, late, moved, restarts, records)


def _handled(counts: Counts) -> int:
    return sum(counts.get(kind, 0) for kind in ("put", "written", "dropped", "failed"))


def _of(kind: str) -> Callable[[Counts], int]:
    return lambda counts: counts.get(kind, 0)


_BY_TYPE: Final[Mapping[str, tuple[tuple[str, str, Callable[[Counts], int]], ...]]] = {
    "sink": (
        ("sink_task_metrics_sink_record_read", "Records that a sink's task has read.", _handled),
        ("sink_task_metrics_sink_record_send", "Records that a sink's task has put.", _of("put")),
    ),
    "source": (
        ("source_task_metrics_source_record_poll", "Records that a source's task has read.", _handled),
        ("source_task_metrics_source_record_write", "Records that a source's task has written.", _of("written")),
    ),
}
_OF_ERRORS: Final = (
    ("task_error_metrics_total_record_errors", "Records that could not be handled.", _of("failed")),
    ("task_error_metrics_total_record_failures", "Records that could not be handled.", _of("failed")),
    ("task_error_metrics_total_records_skipped", "Records that were passed over for an error.", _of("failed")),
    ("task_error_metrics_deadletterqueue_produce_requests", "Dead letters written.", _of("parked")),
)


def _connect(engines: list[Engine]) -> Iterator[Metric]:
    every = [measure for some in (*_BY_TYPE.values(), _OF_ERRORS) for measure in some]
    families = {name: CounterMetricFamily(f"kafka_connect_{name}", text, labels=_TASK) for name, text, _ in every}
    for engine in engines:
        progress = engine.progress
        # Tasks of an epoch that ended are counted together, under the first.
        by_task = {number: dict(counts) for number, counts in progress.by_task.items()}
        first = by_task.setdefault(0, {})
        for kind, count in progress.counts.items():
            first[kind] = first.get(kind, 0) + count
        for number, counts in sorted(by_task.items()):
            for name, _, count_of in (*_BY_TYPE[engine.connector.kind], *_OF_ERRORS):
                families[name].add_metric([engine.connector.name, str(number)], count_of(counts))
    yield from families.values()
