"""MirrorMaker 2's metrics under the names that Strimzi's dashboards and alerts use, so that they keep working.

Strimzi ships two sets of dashboards, for two ways to export: by JMX (`clientid`, and quotes within the label where a
name has signs such as `>`) and by its own reporter (`client_id`, no quotes, other names for what is Kafka's own). Both
are served.

What is the same: names, labels, units. What is honest to know: ages and latencies are those of the newest record of a
partition when its position was noted (each second), so minimum, average and maximum are of the partitions of a topic;
bytes are whole batches, where MirrorMaker 2 counts values only, and what comes in goes out; a round of checkpoints is
one for all groups; lag exists, where it has none. What has no meaning here (the JVM, buffers of Java's producer) is
left out, not shown as 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from twinlog.control.states import ConnectorStatus
from twinlog.model.health.states import PartitionStatus
from twinlog.watch.monitor import LinkSnapshot

_SOURCE: Final = "kafka_connect_mirror_mirrorsourceconnector"
_CHECKPOINT: Final = "kafka_connect_mirror_mirrorcheckpointconnector"
_ALL: Final = "all"
OTHERS: Final = "(others)"
"""What is beyond the number of series that a family may have, together."""
_PLAIN: Final = re.compile(r"[\w\-%. \t]*")


def mirrormaker_families(
    snapshots: Sequence[LinkSnapshot],
    connectors: Mapping[str, ConnectorStatus],
    *,
    by_partition: bool,
    most_topics: int,
) -> Iterator[Metric]:
    """All of them. `connectors` are those that this service runs."""
    yield from _source(snapshots, None if by_partition else most_topics)
    yield from _lags(snapshots, None if by_partition else most_topics)
    yield from _bytes(snapshots)
    yield from _checkpoints(snapshots)
    yield from _worker(connectors)


def _quoted(name: str) -> str:
    """A name as JMX shows it: in quotes, unless it is plain."""
    return name if _PLAIN.fullmatch(name) else f'"{name}"'


def _client(snapshot: LinkSnapshot, role: str) -> str:
    """What MirrorMaker 2 would call the client of its first task."""
    return f"{snapshot.link.name}|{snapshot.link.name}.MirrorSourceConnector-0|{role}"


def _source(snapshots: Iterable[LinkSnapshot], most_topics: int | None) -> Iterator[Metric]:
    labels = ["source", "target", "topic", "partition"]
    names = ("record_count", "record_rate", "byte_count", "byte_rate")
    sums = {name: GaugeMetricFamily(f"{_SOURCE}_{name}", f"MirrorMaker 2's {name}.", labels=labels) for name in names}
    times = {
        f"{name}{part}": GaugeMetricFamily(f"{_SOURCE}_{name}{part}", f"MirrorMaker 2's {name}{part}.", labels=labels)
        for name in ("record_age_ms", "replication_latency_ms")
        for part in ("", "_min", "_max", "_avg")
    }
    for snapshot in snapshots:
        if snapshot.status is None:
            continue
        ends = [snapshot.link.source, snapshot.link.target]
        for topic, number, parts in _grouped(snapshot.status.partitions, most_topics):
            where = [*ends, topic, number]
            sums["record_count"].add_metric(where, sum(part.records for part in parts))
            sums["byte_count"].add_metric(where, sum(part.bytes for part in parts))
            if snapshot.trouble:
                continue  # what was copied stays copied; how it continues nobody knows
            rates = [snapshot.rate(part.partition) for part in parts]
            sums["record_rate"].add_metric(where, sum(rate[0] for rate in rates))
            sums["byte_rate"].add_metric(where, sum(rate[1] for rate in rates))
            took = [max(0, part.at_ms - part.newest_ms) for part in parts if part.newest_ms > 0]
            if took:
                figures = {"": max(took), "_min": min(took), "_max": max(took), "_avg": sum(took) / len(took)}
                for name in ("record_age_ms", "replication_latency_ms"):
                    for part, value in figures.items():
                        times[f"{name}{part}"].add_metric(where, value)
    yield from sums.values()
    yield from times.values()


def _lags(snapshots: Iterable[LinkSnapshot], most_topics: int | None) -> Iterator[Metric]:
    """Of the consumer, which reads the source: topics have their names there."""
    text, where = "Offsets not copied yet.", ["topic", "partition"]
    by_jmx = GaugeMetricFamily("kafka_consumer_fetch_manager_records_lag", text, labels=["clientid", *where])
    reported = GaugeMetricFamily(
        "kafka_consumer_consumer_fetch_manager_metrics_records_lag", text, labels=["client_id", *where]
    )
    for snapshot in snapshots:
        if snapshot.status is None or snapshot.trouble:
            continue
        client = _client(snapshot, "replication-consumer")
        for topic, number, parts in _grouped(snapshot.status.partitions, most_topics, of_source=True):
            lags = [part.lag for part in parts if part.lag is not None]
            if len(lags) == len(parts):
                by_jmx.add_metric([_quoted(client), topic, number], sum(lags))
                reported.add_metric([client, topic, number], sum(lags))
    yield from (by_jmx, reported)


def _grouped(
    partitions: Iterable[PartitionStatus], most_topics: int | None, *, of_source: bool = False
) -> Iterator[tuple[str, str, list[PartitionStatus]]]:
    """Partitions by themselves (None), or by topic: so many, and the rest together."""
    topics: dict[str, list[PartitionStatus]] = {}
    for part in partitions:
        name = part.partition.topic if of_source else part.remote
        if most_topics is None:
            yield name, str(part.partition.partition), [part]
        else:
            topics.setdefault(name if name in topics or len(topics) < most_topics else OTHERS, []).append(part)
    for topic, parts in topics.items():
        yield topic, _ALL, parts


def _bytes(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    text = "Bytes copied."
    for way, role, by_jmx, reported in (
        ("incoming", "consumer", "kafka_consumer_incoming_byte", "kafka_consumer_consumer_metrics_incoming_byte"),
        ("outgoing", "producer", "kafka_producer_outgoing_byte", "kafka_producer_producer_metrics_outgoing_byte"),
    ):
        counter = CounterMetricFamily(by_jmx, text, labels=["clientid"])
        # The reporter's dashboards ask for the name without `_total`, which a counter cannot have.
        gauge = GaugeMetricFamily(reported, f"{text} Only rises: all that is {way}.", labels=["client_id"])
        for snapshot in snapshots:
            if snapshot.status is not None:
                size = sum(part.bytes for part in snapshot.status.partitions)
                client = _client(snapshot, f"replication-{role}")
                counter.add_metric([_quoted(client)], size)
                gauge.add_metric([client], size)
        yield from (counter, gauge)


def _checkpoints(snapshots: Iterable[LinkSnapshot]) -> Iterator[Metric]:
    labels = ["source", "target", "group", "topic", "partition"]
    families = {
        part: GaugeMetricFamily(
            f"{_CHECKPOINT}_checkpoint_latency_ms{part}", "How long a round of checkpoints took.", labels=labels
        )
        for part in ("", "_min", "_max", "_avg")
    }
    for snapshot in snapshots:
        note = next(
            (chore for chore in (snapshot.status.chores if snapshot.status else ()) if chore.chore == "groups"), None
        )
        if note is not None:
            for family in families.values():
                family.add_metric([snapshot.link.source, snapshot.link.target, _ALL, _ALL, _ALL], note.took_ms)
    yield from families.values()


def _worker(connectors: Mapping[str, ConnectorStatus]) -> Iterator[Metric]:
    """The connectors of `/connectors`, as a worker counts them; one that failed to start has one failed task."""
    tasks = {
        name: [status.of_task(task)[0].lower() for task in range(status.tasks)]
        or ["failed"] * (status.state == "FAILED")
        for name, status in connectors.items()
    }
    total = sum(map(len, tasks.values()))
    for by_jmx, reported, text, number in (
        ("worker_connector_count", "connect_worker_metrics_connector_count", "Connectors.", len(connectors)),
        ("worker_task_count", "connect_worker_metrics_task_count", "Tasks of connectors.", total),
        ("coordinator_assigned_connectors", "connect_coordinator_metrics_assigned_connectors", "Run here.", len(tasks)),
        ("coordinator_assigned_tasks", "connect_coordinator_metrics_assigned_tasks", "Run here.", total),
        ("worker_rebalance_rebalancing", "connect_worker_rebalance_metrics_rebalancing", "Never: one by one.", 0),
    ):
        for name in (by_jmx, reported):
            yield GaugeMetricFamily(f"kafka_connect_{name}", text, value=number)
    status = GaugeMetricFamily(
        "kafka_connect_connector_status", "1 for the state of a task.", labels=["connector", "task", "status"]
    )
    failed = GaugeMetricFamily(
        "kafka_connect_worker_connector_failed_task_count", "Tasks that copy nothing.", labels=["connector"]
    )
    for name, states in tasks.items():
        failed.add_metric([_quoted(name)], states.count("failed"))
        for number, state in enumerate(states):
            status.add_metric([_quoted(name), str(number), state], 1)
    yield from (status, failed)
