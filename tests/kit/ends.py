"""Both ends of a link of one test's own: its topics, its load, its properties file, its status and its judge.

Tests share the brokers of a session. What they do not share is the source's alias, so every link has its own ledger,
its own writers' identities and its own names on the target.
"""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from tests.kit.checker import check_mirror
from tests.kit.load import Load
from tests.kit.logs import Cluster, LogRecord
from tests.kit.records import Stamp, read_stamp
from tests.kit.verdict import Verdict
from tests.kit.waiting import wait_until

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.local.cluster import LocalCluster
from twinlog.model.health.states import LinkStatus, PartitionStatus
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts
from twinlog.service import observer

QUICK: Mapping[str, str] = {
    "refresh.topics.interval.seconds": "1",
    "fault.retry.seconds": "2",
    "tasks.max": "1",
    "ledger.shards": "4",
}
"""Short intervals, so that a test waits for what it is about and not for a clock."""


class Ends:
    """Source, target, and the link between them. `settings` are the link's own, with dots as underscores."""

    def __init__(self, source: LocalCluster, target: LocalCluster, **settings: str) -> None:
        self.source_cluster, self.target_cluster = source, target
        self.alias = f"s{uuid.uuid4().hex[:6]}"
        self.prefix = f"{self.alias}t"
        self._settings = {**QUICK, **{name.replace("_", "."): value for name, value in settings.items()}}
        link = self.link
        self.source, self.target = ClusterAdmin(link.clients.source_admin), ClusterAdmin(link.clients.target_admin)

    # --- the link -------------------------------------------------------------------------------------------------

    @property
    def properties(self) -> str:
        """The file that an operator would write."""
        lines = [f"clusters = {self.alias}, T", f"{self.alias}->T.enabled = true"]
        for alias, cluster in ((self.alias, self.source_cluster), ("T", self.target_cluster)):
            lines += [f"{alias}.{name} = {value}" for name, value in cluster.client_properties("admin").items()]
        wishes = {"topics": f"{self.prefix}.*", **self._settings}
        lines += [f"{self.alias}->T.{name} = {value}" for name, value in wishes.items()]
        return "\n".join(lines) + "\n"

    @property
    def link(self) -> LinkSettings:
        """What the file means."""
        (link,) = resolve(self.properties.encode("latin-1"), "test.properties", (), {}).links
        return link

    def write_file(self, folder: Path) -> Path:
        """Write the properties file for a process of its own."""
        path = folder / f"{self.alias}.properties"
        path.write_text(self.properties, encoding="latin-1")
        return path

    def set(self, **settings: str) -> None:
        """Change settings of the link for whoever reads the file next."""
        self._settings |= {name.replace("_", "."): value for name, value in settings.items()}

    def name(self, topic: str) -> str:
        """A source topic of this link."""
        return f"{self.prefix}.{topic}"

    def remote(self, topic: str) -> str:
        """Its name on the target; takes the short name as well as the full one."""
        return f"{self.alias}.{topic if topic.startswith(self.prefix) else self.name(topic)}"

    # --- topics and records ---------------------------------------------------------------------------------------

    def create(self, topic: str, partitions: int = 1, /, **configs: str) -> str:
        """Create a source topic, wait until it is visible, return its full name."""
        name = self.name(topic)
        factor = min(3, len(self.source_cluster.brokers))
        order = TopicOrder(name, partitions, factor, {key.replace("_", "."): value for key, value in configs.items()})
        assert self.source.create_topics([order]) == {name: None}
        self.await_topic(self.source, name, partitions)
        return name

    def await_topic(self, admin: ClusterAdmin, name: str, partitions: int = 1) -> TopicFacts:
        """Wait for a topic to be visible with so many partitions."""
        found = wait_until(
            lambda: admin.describe_topics([name])[name],
            lambda answer: isinstance(answer, TopicFacts) and answer.partitions >= partitions,
            within_s=30,
            what=f"{name} on {admin.cluster}",
        )
        assert isinstance(found, TopicFacts)
        return found

    def await_topic_gone(self, admin: ClusterAdmin, name: str) -> None:
        """Wait until a deleted topic is deleted."""
        wait_until(
            lambda: admin.describe_topics([name])[name],
            lambda answer: isinstance(answer, ClusterError),
            within_s=30,
            what=f"the end of {name} on {admin.cluster}",
        )

    def delete(self, admin: ClusterAdmin, name: str) -> None:
        """Delete a topic and wait for it."""
        assert admin.delete_topics([name]) == {name: None}
        self.await_topic_gone(admin, name)

    def load(self, topic: str, partitions: int = 1, *, seed: int = 1, **wishes: Any) -> Load:
        """A load into a source topic, by its full name."""
        client = _client(self.link.clients.source_admin)
        return Load(client.pop("bootstrap.servers"), topic, partitions, seed, client=client, **wishes)

    def delete_records(self, topic: str, partition: int, before: int, *, on_target: bool = False) -> None:
        """Do what retention does: the source (or the target) forgets everything before an offset."""
        admin = AdminClient(
            {**_client(self.link.clients.target_admin if on_target else self.link.clients.source_admin)}
        )
        for future in admin.delete_records([Place(topic, partition, before)]).values():
            future.result(30)

    # --- looking --------------------------------------------------------------------------------------------------

    def status(self) -> LinkStatus:
        """One look at the link from outside, as `twinlog status` takes it; without the heartbeats of other tests."""
        return of_topics(asyncio.run(observer(self.link).look()), self.prefix)

    def await_status(self, accept: Callable[[LinkStatus], bool], what: str, within_s: float = 60) -> LinkStatus:
        """Look until the status is as wanted."""
        return wait_until(self.status, accept, within_s=within_s, what=what)

    def await_copied(self, *topics: str, within_s: float = 60) -> LinkStatus:
        """Wait until everything committed on the source in these topics (all, unless told) is noted as copied."""
        wanted = set(topics) or set(self.topics())
        ends = self.source_ends(wanted)

        def look() -> LinkStatus | ClusterUnreachable:
            try:
                return self.status()
            except ClusterUnreachable as away:
                return away  # a broker that was killed a moment ago still leads a part of the ledger

        def copied(seen: LinkStatus | ClusterUnreachable) -> bool:
            if isinstance(seen, ClusterUnreachable):
                return False
            reached = {part.partition: part.source_next for part in seen.partitions}
            return all(reached.get(partition, -1) >= end for partition, end in ends.items())

        last = wait_until(look, copied, within_s=within_s, what=f"copies of {sorted(wanted)}")
        assert ends, "there is nothing to copy"
        assert isinstance(last, LinkStatus)
        return last

    def topics(self) -> list[str]:
        """The source topics of this link that exist now."""
        return [name for name in self.source.list_topics() if name.startswith(self.prefix)]

    def source_ends(self, topics: Iterable[str]) -> dict[TopicPartition, int]:
        """Where the source ends for a read_committed consumer."""
        facts = {name: self.await_topic(self.source, name) for name in topics}
        places = [TopicPartition(name, number) for name, fact in facts.items() for number in range(fact.partitions)]
        found = self.source.fetch_end_offsets(places, committed=True)
        return {place: int(end) for place, end in found.items() if not isinstance(end, ClusterError)}

    def await_fault(self, code: str, topic: str, partition: int | None = None, within_s: float = 30) -> PartitionStatus:
        """Wait for a fault of one partition (or of the whole topic) by its code; return how the partition stands."""

        def guilty(status: LinkStatus) -> list[PartitionStatus]:
            whole = {p.facts.get("topic") for p in status.problems if p.code == code}
            return [
                part
                for part in status.partitions
                if part.partition.topic == topic
                and (partition is None or part.partition.partition == partition)
                and (part.partition.topic in whole or (part.fault is not None and part.fault.code == code))
            ]

        status = self.await_status(lambda status: bool(guilty(status)), f"{code} of {topic}", within_s)
        return guilty(status)[0]

    def check(self, *topics: str) -> Verdict:
        """Read both clusters completely and judge R1 to R4; fails unless all are kept and something was copied."""
        verdict = self.verdict(*topics)
        assert verdict.ok, str(verdict)
        assert verdict.target_records > 0, "nothing was copied"
        return verdict

    def verdict(self, *topics: str) -> Verdict:
        """Read both clusters completely and judge."""
        names = topics or tuple(self.topics())
        return check_mirror(self.source_logs, self.target_logs, {name: self.remote(name) for name in names})

    @property
    def source_logs(self) -> Cluster:
        """The source for a plain consumer."""
        client = _client(self.link.clients.source_admin)
        return Cluster(client.pop("bootstrap.servers"), client)

    @property
    def target_logs(self) -> Cluster:
        """The target for a plain consumer."""
        client = _client(self.link.clients.target_admin)
        return Cluster(client.pop("bootstrap.servers"), client)


def of_topics(status: LinkStatus, prefix: str) -> LinkStatus:
    """The status with the partitions of one test's own topics."""
    mine = tuple(part for part in status.partitions if part.partition.topic.startswith(prefix))
    return dataclasses.replace(status, partitions=mine)


def _client(settings: Any) -> dict[str, str]:
    """Options of an ordinary client of a cluster."""
    return {key: str(value) for key, value in client_options(settings).items()}


def numbers(records: list[LogRecord]) -> list[int]:
    """The sequence numbers that a load gave to its records."""
    stamps = [read_stamp(r.key, r.value, r.headers, r.timestamp[1]) for r in records]
    return [stamp.sequence if isinstance(stamp, Stamp) else -1 for stamp in stamps]
