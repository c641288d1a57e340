"""Switches driven in the test's own process: the real steps on real brokers, engines without Spark."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Place
from tests.kit.ends import Ends
from tests.kit.groups import COORDINATOR_IS_COMING
from tests.kit.threads import ThreadedEngine, ThreadedQuery
from tests.kit.waiting import wait_until

from twinlog.config.pair import Pair, resolve_pair, stand_in_pair
from twinlog.config.resolve import resolve
from twinlog.config.settings import LinkSettings
from twinlog.kafka.admin import TopicOrder
from twinlog.ledger.reading import look_at_ledger
from twinlog.ledger.writer import LedgerWriter, roster_writer
from twinlog.model.ledger.records import ledger_topic, shard_of
from twinlog.model.switch.events import OnSwitchEvent, ignore_event
from twinlog.model.switch.log import Command
from twinlog.recovery.guard import ReturnGuard
from twinlog.recovery.own_engines import EngineCopier
from twinlog.recovery.report import Report
from twinlog.recovery.switching import Switching
from twinlog.wire.connection import Cluster

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
QUICK_SWITCH = {
    "replication_policy_class": IDENTITY,
    "emit_checkpoints_interval_seconds": "1",
    "sync_group_offsets_interval_seconds": "1",
    "refresh_groups_interval_seconds": "1",
    "switch_grace_seconds": "0",
}
"""Settings of a link with unchanged names, whose groups are synced each second and whose switch waits for nobody."""


class Plug(BaseException):
    """Pulled: what kill -9 is to a process, this is to a switch within the test. No step may catch it."""


class BothWays(Ends):
    """A link and its way back, both enabled in the file, with the same settings."""

    @property
    def properties(self) -> str:
        mine = super().properties
        there, back = f"{self.alias}->T.", f"T->{self.alias}."
        return mine + "".join(f"{line.replace(there, back)}\n" for line in mine.splitlines() if line.startswith(there))

    @property
    def link(self) -> LinkSettings:
        return next(link for link in self.links if link.source == self.alias)

    @property
    def links(self) -> tuple[LinkSettings, ...]:
        """Both of them."""
        return tuple(resolve(self.properties.encode("latin-1"), "test.properties", (), {}).links)

    def returned(self, topic: str) -> str:
        """What a topic of the target is called on the source, by its full name."""
        return self.link.naming.remote("T", topic)

    def create_there(self, name: str, partitions: int = 1) -> None:
        """Create a topic on the target."""
        assert self.target.create_topics([TopicOrder(name, partitions, 1, {})]) == {name: None}
        self.await_topic(self.target, name, partitions)


def pair_of_ends(ends: Ends) -> Pair:
    """Both directions of the link of a test."""
    return resolve_pair(ends.properties.encode("latin-1"), "test.properties", f"{ends.alias}->T", {})


def switching(ends: Ends, folder: Path, on_event: OnSwitchEvent = ignore_event) -> Switching:
    """Switches whose own engines run in threads."""
    copier = EngineCopier(lambda: lambda run, _: ThreadedQuery(run), folder)
    return Switching(pair_of_ends(ends), copier, folder / "switch", on_event)


def do_switch(ends: Ends, folder: Path, command: Command, on_event: OnSwitchEvent = ignore_event) -> Report:
    """Plan and execute."""

    async def run() -> Report:
        one = switching(ends, folder, on_event)
        _, plan = await one.plan(command)
        return await one.execute(plan)

    return asyncio.run(run())


def resume_switch(ends: Ends, folder: Path, on_event: OnSwitchEvent = ignore_event) -> Report:
    """Go on with what is open."""
    return asyncio.run(switching(ends, folder, on_event).resume())


@contextmanager
def service_running(ends: Ends, folder: Path) -> Iterator[ThreadedEngine]:
    """The engine of the link as the service runs it: with sync jobs, and with the guard of an old primary."""
    with _serving(ends.link, folder) as engine:
        yield engine


@contextmanager
def both_running(ends: BothWays, folder: Path) -> Iterator[list[ThreadedEngine]]:
    """The engines of both directions, as the service runs them."""
    with ExitStack() as stack:
        engines = [stack.enter_context(_serving(link, folder / link.source)) for link in ends.links]
        for engine in engines:
            engine.await_running()
        yield engines


@contextmanager
def _serving(link: LinkSettings, folder: Path) -> Iterator[ThreadedEngine]:
    engine = ThreadedEngine(link, folder, with_chores=True)
    engine.engine.on_held = ReturnGuard(stand_in_pair(link))
    try:
        yield engine
    finally:
        engine.stop()


def as_if_killed(ends: Ends, ahead_ms: int = -60_000) -> None:
    """Leave the ledger as an engine leaves it that was killed in the midst of copying: nobody signed out.

    The clock of its host is ahead of ours by so much.
    """
    link = ends.link

    async def rewrite() -> None:
        view = await look_at_ledger(link.clients.target_producer, link.source, within_s=30)
        assert view is not None
        assert view.engine is not None
        last_word = int(time.time() * 1000) + ahead_ms
        cluster = Cluster(link.clients.target_producer, "test")
        try:
            engine = view.engine.model_copy(update={"phase": "running", "at_ms": last_word})
            await roster_writer(cluster, link.source, link.name).write([engine])
            for partition, state in view.states.items():
                shard = 1 + shard_of(partition, len(view.positions) - 1)
                unsigned = LedgerWriter(cluster, ledger_topic(link.source), shard, link.name)
                await unsigned.write([state.model_copy(update={"phase": "copying", "at_ms": last_word})])
        finally:
            await cluster.close()

    asyncio.run(rewrite())


def produce(bootstrap: str, topic: str, values: range, *, partition: int = 0) -> list[str]:
    """Plain records with their numbers as values; returns the errors."""
    errors: list[str] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "message.timeout.ms": 5000, "log_level": 0})

    def done(error: KafkaError | None, _: object) -> None:
        if error is not None:
            errors.append(str(error.name()))

    for value in values:
        producer.produce(topic, str(value).encode() + b" " * 40, partition=partition, on_delivery=done)
        producer.poll(0)
    assert producer.flush(30) == 0
    return errors


def numbers_of(bootstrap: str, group: str, topic: str, *, commit: bool = True) -> list[int]:
    """What a group reads until the ends of its partitions; it leaves afterwards."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "log_level": 0,
        }
    )
    found: list[int] = []
    try:
        consumer.subscribe([topic])
        ended: set[int] = set()
        while True:
            message = consumer.poll(10)
            assert message is not None, f"{topic}: nothing came"
            error = message.error()
            if error is None:
                found.append(int(message.value() or b"-1"))
                continue
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition() or 0)
            if len(ended) >= len(consumer.assignment()):
                break
        if commit:
            consumer.commit(asynchronous=False)
        return found
    finally:
        consumer.close()


def commit_at(bootstrap: str, group: str, topic: str, offset: int, partition: int = 0) -> None:
    """Put a group to a position, as soon as the cluster has a coordinator for it."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})

    def refusal() -> str:
        # The first group of a fresh cluster makes the topic of positions, whose leaders still have to load it.
        try:
            consumer.commit(offsets=[Place(topic, partition, offset)], asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in COORDINATOR_IS_COMING:
                raise
            return str(error)
        return ""

    try:
        wait_until(refusal, lambda said: not said, within_s=30, what=f"position of {group}")
    finally:
        consumer.close()


def log_numbers(bootstrap: str, topic: str, partition: int = 0) -> list[int]:
    """Everything that a partition holds, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "log",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        consumer.assign([Place(topic, partition, 0)])
        found: list[int] = []
        while True:
            message = consumer.poll(10)
            assert message is not None, f"{topic}: nothing came"
            if message.error() is not None:
                return found
            found.append(int(message.value() or b"-1"))
    finally:
        consumer.close()
