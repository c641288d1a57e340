"""Several clusters that mirror each other under the same names: their file, their links, their loads and their judge.

Aliases and topics are a test's own, as in `tests.kit.ends`, so that tests share brokers without meeting.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from tests.kit.checker import judge_numbers
from tests.kit.ends import QUICK, of_topics
from tests.kit.load import Load
from tests.kit.logs import Cluster, Isolation, LogRecord, read_logs
from tests.kit.records import Damaged, Stamp, read_stamp
from tests.kit.threads import ThreadedEngine
from tests.kit.verdict import Verdict
from tests.kit.waiting import wait_until

from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.client_options import client_options
from twinlog.ledger.view import LedgerView
from twinlog.local.cluster import LocalCluster
from twinlog.model.health.states import LinkStatus
from twinlog.model.ledger.partition_map import PartitionMap
from twinlog.model.ledger.records import FaultEntry, ledger_topic
from twinlog.model.ledger.runs import Run
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import HEADER
from twinlog.service import observer
from twinlog.wire.connection import Cluster as TargetCluster

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


class Mesh:
    """Clusters and links by one letter each: `Mesh({"A": one, "B": other}, ["A->B", "B->A"])`."""

    def __init__(self, clusters: Mapping[str, LocalCluster], links: Sequence[str], **settings: str) -> None:
        self.clusters, self.names = clusters, links
        self.mark = f"m{uuid.uuid4().hex[:6]}"
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.loads: list[tuple[str, Load]] = []
        self.users: dict[str, str] = {}  # who we are on a secure cluster; the one who may do everything, unless told
        self._admins: dict[str, ClusterAdmin] = {}

    def alias(self, letter: str) -> str:
        return f"{self.mark}{letter}"

    @property
    def properties(self) -> str:
        """The file that an operator would write."""
        lines = [f"clusters = {', '.join(map(self.alias, self.clusters))}"]
        for letter, cluster in self.clusters.items():
            client = cluster.client_properties(self.users.get(letter, "admin"))
            lines += [f"{self.alias(letter)}.{key} = {value}" for key, value in client.items()]
        lines += [f"{self.alias(name[0])}->{self.alias(name[-1])}.enabled = true" for name in self.names]
        wishes = {"topics": f"{self.mark}.*", "replication.policy.class": IDENTITY, **QUICK, **self._settings}
        return "\n".join([*lines, *(f"{key} = {value}" for key, value in wishes.items())]) + "\n"

    def set(self, **settings: str) -> None:
        """Change settings for whoever reads the file next."""
        self._settings |= {name.replace("_", "."): value for name, value in settings.items()}

    def delete(self, letter: str, topic: str) -> None:
        """Delete a topic on one cluster and wait for it."""
        assert self.admin(letter).delete_topics([topic]) == {topic: None}
        wait_until(
            lambda: topic in self.admin(letter).list_topics(), lambda there: not there, within_s=30, what="its end"
        )

    def write_file(self, folder: Path) -> Path:
        """Write the properties file for a process of its own."""
        path = folder / f"{self.mark}.properties"
        path.write_text(self.properties, encoding="latin-1")
        return path

    @property
    def links(self) -> dict[str, LinkSettings]:
        """What the file means, by the short names of the links."""
        found = resolve(self.properties.encode("latin-1"), "mesh.properties", (), {}).links
        return {f"{link.source[-1]}->{link.target[-1]}": link for link in found}

    def admin(self, letter: str) -> ClusterAdmin:
        if letter not in self._admins:
            mine = next(link for name, link in self.links.items() if letter in name)
            settings = mine.clients.source_admin if mine.source == self.alias(letter) else mine.clients.target_admin
            self._admins[letter] = ClusterAdmin(settings)
        return self._admins[letter]

    def create(self, topic: str, partitions: int, at: str | None = None, **configs: str) -> str:
        """Create a topic on every cluster, or on one."""
        name = f"{self.mark}.{topic}"
        order = TopicOrder(name, partitions, 1, {key.replace("_", "."): value for key, value in configs.items()})
        for letter in at or self.clusters:
            assert self.admin(letter).create_topics([order]) == {name: None}
        return name

    def load(self, letter: str, topic: str, partitions: int, **wishes: Any) -> Load:
        """A load into one cluster; its seed tells where its records were born."""
        client = self._client(letter)
        servers = client.pop("bootstrap.servers")
        load = Load(servers, topic, partitions, 1 + len(self.loads), client=client, **wishes)
        self.loads.append((letter, load))
        return load

    def _client(self, letter: str) -> dict[str, str]:
        link = next(link for name, link in self.links.items() if letter in name)
        settings = link.clients.source_admin if link.source == self.alias(letter) else link.clients.target_admin
        return {key: str(value) for key, value in client_options(settings).items()}

    # --- running ------------------------------------------------------------------------------------------------------

    @contextmanager
    def running(self, folder: Path, *names: str) -> Iterator[dict[str, ThreadedEngine]]:
        """Engines of these links (all, unless told) while the block runs."""
        links = self.links
        with ExitStack() as stack:
            engines: dict[str, ThreadedEngine] = {}
            for name in names or links:
                engines[name] = ThreadedEngine(links[name], folder)
                stack.callback(engines[name].stop)
            for engine in engines.values():
                engine.await_running()
            yield engines

    def status(self, name: str) -> LinkStatus:
        return of_topics(asyncio.run(observer(self.links[name]).look()), self.mark)

    def await_copies(self, name: str, more: int, within_s: float = 60) -> None:
        """Wait until a link has copied so many more records."""

        def copied() -> int:
            return sum(part.records for part in self.status(name).partitions)

        before = copied()
        wait_until(copied, lambda now: now >= before + more, within_s=within_s, what=f"{more} more copies by {name}")

    def await_fault(self, name: str, code: str) -> FaultEntry:
        """Wait for a fault of a link by its code."""
        status = wait_until(
            lambda: self.status(name), lambda seen: code in {f.code for f in seen.faults}, within_s=30, what=code
        )
        return next(fault for fault in status.faults if fault.code == code)

    def await_rest(self, topic: str, partitions: int, within_s: float = 60) -> dict[str, LinkStatus]:
        """Wait until every link has come to the end of its source, twice, with the same ends: all is still."""
        links = self.links
        observers = {name: observer(link) for name, link in links.items()}

        def look() -> dict[str, LinkStatus]:
            return {name: of_topics(asyncio.run(eye.look()), self.mark) for name, eye in observers.items()}

        def still(seen: dict[str, LinkStatus]) -> bool:
            parts = {n: [p for p in s.partitions if p.partition.topic == topic] for n, s in seen.items()}
            return all(len(some) == partitions and all(p.lag == 0 for p in some) for some in parts.values())

        def ends(seen: dict[str, LinkStatus]) -> list[int | None]:
            return [p.source_end for status in seen.values() for p in status.partitions]

        def twice() -> tuple[dict[str, LinkStatus], bool]:
            first, second = look(), look()
            return second, still(first) and still(second) and ends(first) == ends(second)

        return wait_until(twice, lambda found: found[1], within_s=within_s, what=f"rest of {topic}")[0]

    def grant(self, letter: str, topic: str) -> None:
        """Let the user `twinlog` read a topic and its configs, and see the cluster."""
        boss = {**self.users, letter: "admin"}
        now, self.users = self.users, boss
        client = AdminClient({**self._client(letter)})
        self.users = now
        rights = [("TOPIC", topic, right) for right in ("READ", "DESCRIBE", "DESCRIBE_CONFIGS")]
        rules = [
            AclBinding(
                ResourceType[kind], what, ResourcePatternType.LITERAL, "User:twinlog", "*",
                AclOperation[right], AclPermissionType.ALLOW,
            )
            for kind, what, right in rights
        ]  # fmt: skip
        for future in client.create_acls(rules).values():
            future.result(30)

    # --- judging ------------------------------------------------------------------------------------------------------

    def view(self, name: str) -> LedgerView:
        """The ledger of a link, with all of its map."""
        link = self.links[name]

        async def read() -> LedgerView:
            target = TargetCluster(link.clients.target_producer, "test")
            try:
                topic = (await target.refresh([ledger_topic(link.source)]))[ledger_topic(link.source)]
                view = LedgerView(dict.fromkeys(topic.leaders, 0), keep_maps=True)
                await view.catch_up(target, link.source)
            finally:
                await target.close()
            return view

        return asyncio.run(read())

    def runs(self, name: str, partition: TopicPartition) -> list[Run]:
        """The map of a partition, its sealed parts first."""
        view = self.view(name)
        return list(PartitionMap(view.states[partition], view.parts_of(partition)).runs())

    def records(self, letter: str, topic: str, load: Load, partition: int | None = None) -> list[LogRecord]:
        """What of a load is on one cluster, as it lies there."""
        where = self._client(letter)
        try:
            logs = read_logs(Cluster(where["bootstrap.servers"], where), topic, "read_committed")
        except KeyError:
            return []
        return [
            record
            for number, records in logs.items()
            if partition in {None, number}
            for record, bare in zip(records, map(unmarked, records), strict=True)
            if isinstance(stamp := _stamp(bare), Stamp) and stamp.seed == load.seed
        ]

    def verdict(self, letter: str, topic: str, load: Load) -> Verdict:
        """Whether all of a load is on one cluster, once and in order."""
        where = self._client(letter)
        logs = read_logs(Cluster(where["bootstrap.servers"], where), topic, "read_committed")
        mine = {number: _of_load(load, records) for number, records in logs.items()}
        return judge_numbers(load.seed, load.acknowledged, load.aborted, mine, f"{topic} on {letter}")

    def check(self, topic: str) -> None:
        """Every record of every load is on every cluster exactly once, in its load's order, byte by byte."""
        for letter in self.clusters:
            where = self._client(letter)
            for isolation in ("read_committed", "read_uncommitted"):
                logs = read_logs(Cluster(where["bootstrap.servers"], where), topic, _isolation(isolation))
                for born, load in self.loads:
                    mine = {number: _of_load(load, records) for number, records in logs.items()}
                    # Where it was produced, who reads uncommitted sees what was aborted; nowhere else.
                    aborted = {} if born != letter or isolation == "read_committed" else load.aborted
                    mine = {
                        number: [r for r in records if _number(r) not in aborted.get(number, ())]
                        for number, records in mine.items()
                    }
                    verdict = judge_numbers(load.seed, load.acknowledged, load.aborted, mine, f"{topic} on {letter}")
                    assert verdict.ok, f"records of {born} on {letter} ({isolation}): {verdict}"
                total = sum(len(records) for records in logs.values())
                known = sum(load.count for _, load in self.loads)
                aborted_here = sum(len(n) for born, load in self.loads if born == letter for n in load.aborted.values())
                assert total in {known, known + aborted_here}, f"{letter}: {total} records, {known} were produced"


def _isolation(text: str) -> Isolation:
    return "read_committed" if text == "read_committed" else "read_uncommitted"


def unmarked(record: LogRecord) -> LogRecord:
    """The record without the headers of provenance."""
    return record._replace(headers=tuple(header for header in record.headers if header[0] != HEADER))


def _stamp(record: LogRecord) -> Stamp | Damaged:
    return read_stamp(record.key, record.value, record.headers, record.timestamp[1])


def _number(record: LogRecord) -> int:
    stamp = _stamp(record)
    return -1 if isinstance(stamp, Damaged) else stamp.sequence


def _of_load(load: Load, records: Sequence[LogRecord]) -> list[LogRecord]:
    """The records of one load without headers of provenance, and those that say nothing of themselves."""
    plain = [unmarked(record) for record in records]
    return [r for r in plain if isinstance(stamp := _stamp(r), Damaged) or stamp.seed == load.seed]
