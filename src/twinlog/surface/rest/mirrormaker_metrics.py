"""MirrorMaker 2's metrics under the names that Strimzi's dashboards and alerts use, so that they go on working.

What is the same: names, labels, units. What is honest to know: ages and latencies are those of the newest record of a
partition when its position was noted (each second), so minimum, average and maximum are of the partitions of a topic;
bytes are whole batches, where MirrorMaker 2 counts values only; lag exists, where it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from twinlog.flow.lookout import Sight
from twinlog.model.health import PartitionStatus

_SOURCE: Final = "kafka_connect_mirror_mirrorsourceconnector"
_CHECKPOINT: Final = "kafka_connect_mirror_mirrorcheckpointconnector"
_ALL: Final = "all"
_MOST_GROUPS: Final = 1000


def mirrormaker_families(sights: Sequence[Sight], *, by_partition: bool) -> Iterator[Metric]:
    """All of them."""
    yield from _source(sights, by_partition=by_partition)
    yield from _checkpoints(sights)
    yield from _connect(sights)


def _source(sights: Iterable[Sight], *, by_partition: bool) -> Iterator[Metric]:
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
        for topic, number, parts in _grouped(sight.status.partitions, by_partition=by_partition):
            where = [*ends, topic, number]
            sums["record_count"].add_metric(where, sum(part.records for part in parts))
            sums["byte_count"].add_metric(where, sum(part.bytes for part in parts))
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
    partitions: Iterable[PartitionStatus], *, by_partition: bool
) -> Iterator[tuple[str, str, list[PartitionStatus]]]:
    if by_partition:
        for part in partitions:
            yield part.remote, str(part.partition.partition), [part]
        return
    topics: dict[str, list[PartitionStatus]] = {}
    for part in partitions:
        topics.setdefault(part.remote, []).append(part)
    for topic, parts in topics.items():
        yield topic, _ALL, parts


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
        if note is None:
            continue
        for group in sorted(sight.group_movements)[:_MOST_GROUPS]:
            for family in families.values():
                family.add_metric([sight.link.source, sight.link.target, group, _ALL, _ALL], note.took_ms)
    yield from families.values()


def _connect(sights: Sequence[Sight]) -> Iterator[Metric]:
    count = GaugeMetricFamily("kafka_connect_worker_connector_count", "Links.")
    count.add_metric([], len(sights))
    rebalancing = GaugeMetricFamily("kafka_connect_worker_rebalance_rebalancing", "Never: links move one by one.")
    rebalancing.add_metric([], 0)
    status = GaugeMetricFamily("kafka_connect_connector_status", "1 per link.", labels=["connector", "status"])
    for sight in sights:
        state = sight.status.state if sight.status and not sight.trouble else "UNKNOWN"
        words = {
            "RUNNING": "running",
            "CATCHING_UP": "running",
            "DEGRADED": "running",
            "STOPPED": "stopped",
            "SWITCHED": "paused",
        }
        status.add_metric([sight.link.name, words.get(state, "failed")], 1)
    yield from (count, rebalancing, status)
