"""MirrorMaker 2's metrics under the names that Strimzi's dashboards and alerts use, so that they go on working.

What is the same: names, labels, units. What is honest to know: ages and latencies are those of the newest record of a
partition when its position was noted (each second), so minimum, average and maximum are of the partitions of a topic;
bytes are whole batches, where MirrorMaker 2 counts values only, and what comes in goes out; a round of checkpoints is
one for all groups; lag exists, where it has none. What has no meaning here (the JVM, buffers of Java's producer) is
left out, not shown as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from twinlog.flow.lookout import Sight
from twinlog.model.health import PartitionStatus

_SOURCE: Final = "kafka_connect_mirror_mirrorsourceconnector"
_CHECKPOINT: Final = "kafka_connect_mirror_mirrorcheckpointconnector"
_ALL: Final = "all"
OTHERS: Final = "(others)"
"""What is beyond the number of series that a family may have, together."""
_WORDS: Final = {
    "RUNNING": "running",
    "CATCHING_UP": "running",
    "DEGRADED": "running",
    "STOPPED": "stopped",
    "SWITCHED": "paused",
}


def mirrormaker_families(sights: Sequence[Sight], *, by_partition: bool, most_topics: int) -> Iterator[Metric]:
    """All of them."""
    yield from _source(sights, None if by_partition else most_topics)
    yield from _bytes(sights)
    yield from _checkpoints(sights)
    yield from _connect(sights)


def _source(sights: Iterable[Sight], most_topics: int | None) -> Iterator[Metric]:
    labels = ["source", "target", "topic", "partition"]
    names = ("record_count", "record_rate", "byte_count", "byte_rate")
    sums = {name: GaugeMetricFamily(f"{_SOURCE}_{name}", f"MirrorMaker 2's {name}.", labels=labels) for name in names}
    times = {
        f"{name}{part}": GaugeMetricFamily(f"{_SOURCE}_{name}{part}", f"MirrorMaker 2's {name}{part}.", labels=labels)
        for name in ("record_age_ms", "replication_latency_ms")
        for part in ("", "_min", "_max", "_avg")
    }
    lag_labels = ["clientid", "topic", "partition"]
    lag = GaugeMetricFamily("kafka_consumer_fetch_manager_records_lag", "Offsets not copied yet.", labels=lag_labels)
    for sight in sights:
        if sight.status is None:
            continue
        ends = [sight.link.source, sight.link.target]
        client = f"{sight.link.name}|replication-consumer"
        for topic, number, parts in _grouped(sight.status.partitions, most_topics):
            where = [*ends, topic, number]
            sums["record_count"].add_metric(where, sum(part.records for part in parts))
            sums["byte_count"].add_metric(where, sum(part.bytes for part in parts))
            if sight.trouble:
                continue  # what was copied stays copied; how it goes on nobody knows
            rates = [sight.rate(part.partition) for part in parts]
            sums["record_rate"].add_metric(where, sum(rate[0] for rate in rates))
            sums["byte_rate"].add_metric(where, sum(rate[1] for rate in rates))
            took = [max(0, part.at_ms - part.newest_ms) for part in parts if part.newest_ms > 0]
            if took:
                figures = {"": max(took), "_min": min(took), "_max": max(took), "_avg": sum(took) / len(took)}
                for name in ("record_age_ms", "replication_latency_ms"):
                    for part, value in figures.items():
                        times[f"{name}{part}"].add_metric(where, value)
            lags = [part.lag for part in parts]
            if None not in lags:
                lag.add_metric([client, topic, number], sum(one for one in lags if one is not None))
    yield from sums.values()
    yield from times.values()
    yield lag


def _grouped(
    partitions: Iterable[PartitionStatus], most_topics: int | None
) -> Iterator[tuple[str, str, list[PartitionStatus]]]:
    """Partitions by themselves (None), or by topic: so many, and the rest together."""
    if most_topics is None:
        for part in partitions:
            yield part.remote, str(part.partition.partition), [part]
        return
    topics: dict[str, list[PartitionStatus]] = {}
    for part in partitions:
        name = part.remote if part.remote in topics or len(topics) < most_topics else OTHERS
        topics.setdefault(name, []).append(part)
    for topic, parts in topics.items():
        yield topic, _ALL, parts


def _bytes(sights: Iterable[Sight]) -> Iterator[Metric]:
    incoming = CounterMetricFamily("kafka_consumer_incoming_byte", "Bytes copied.", labels=["clientid"])
    outgoing = CounterMetricFamily("kafka_producer_outgoing_byte", "Bytes copied.", labels=["clientid"])
    for sight in sights:
        if sight.status is not None:
            size = sum(part.bytes for part in sight.status.partitions)
            incoming.add_metric([f"{sight.link.name}|replication-consumer"], size)
            outgoing.add_metric([f"{sight.link.name}|replication-producer"], size)
    yield from (incoming, outgoing)


def _checkpoints(sights: Iterable[Sight]) -> Iterator[Metric]:
    labels = ["source", "target", "group", "topic", "partition"]
    families = {
        part: GaugeMetricFamily(
            f"{_CHECKPOINT}_checkpoint_latency_ms{part}", "How long a round of checkpoints took.", labels=labels
        )
        for part in ("", "_min", "_max", "_avg")
    }
    for sight in sights:
        note = next((one for one in (sight.status.chores if sight.status else ()) if one.chore == "groups"), None)
        if note is not None:
            for family in families.values():
                family.add_metric([sight.link.source, sight.link.target, _ALL, _ALL, _ALL], note.took_ms)
    yield from families.values()


def _connect(sights: Sequence[Sight]) -> Iterator[Metric]:
    connectors = GaugeMetricFamily("kafka_connect_worker_connector_count", "Links.")
    connectors.add_metric([], len(sights))
    tasks = GaugeMetricFamily("kafka_connect_worker_task_count", "Links that are not stopped.")
    rebalancing = GaugeMetricFamily("kafka_connect_worker_rebalance_rebalancing", "Never: links move one by one.")
    rebalancing.add_metric([], 0)
    labels = ["connector", "task", "status"]
    status = GaugeMetricFamily("kafka_connect_connector_status", "1 for the state of a link.", labels=labels)
    words = [
        _WORDS.get(sight.status.state, "failed") if sight.status and not sight.trouble else "failed" for sight in sights
    ]
    tasks.add_metric([], sum(word != "stopped" for word in words))
    for sight, word in zip(sights, words, strict=True):
        status.add_metric([sight.link.name, "0", word], 1)
    yield from (connectors, tasks, rebalancing, status)
