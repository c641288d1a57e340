"""Topics as logs and tables on a real broker."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from functools import partial

import pytest
from confluent_kafka import Producer
from tests.kit.elected_contract import ElectedContract, Log
from tests.kit.ends import Ends
from tests.kit.log_contract import LogContract, Place
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError, LogFenced
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.client_options import client_options
from twinlog.logs.append import LogWriter
from twinlog.logs.background import BackgroundWriter
from twinlog.logs.configs import fetch_configs
from twinlog.logs.elected import ElectedLog
from twinlog.logs.ensure import ensure_logs
from twinlog.logs.table import LogTable
from twinlog.logs.topic import BROKER_TIME, LogTopic
from twinlog.model.names import TopicPartition
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence

COMPACTED = {**BROKER_TIME, "cleanup.policy": "compact"}


@pytest.fixture
def ends(make_ends: Callable[..., Ends]) -> Ends:
    return make_ends()


def new_topic(ends: Ends) -> str:
    topic = LogTopic(f"log-{uuid.uuid4().hex[:8]}", COMPACTED)
    ensure_logs(ends.target, 1, topic)
    return topic.name


class TestOnABroker(LogContract):
    @pytest.fixture
    def place(self, ends: Ends) -> Place:
        settings = ends.link.clients.target_producer
        return Place(lambda: Cluster(settings, "test"), new_topic(ends), f"absent-{uuid.uuid4().hex[:8]}")


class TestElectedOnABroker(ElectedContract):
    @pytest.fixture
    def make(self, ends: Ends) -> Callable[..., Log]:
        return partial(ElectedLog, ends.link.clients.target_admin, new_topic(ends), f"g{uuid.uuid4().hex[:6]}")


def test_topics_are_created_once_and_told_as_they_are(ends: Ends) -> None:
    one, two = (LogTopic(f"log-{uuid.uuid4().hex[:8]}", COMPACTED, partitions) for partitions in (1, 3))
    assert ensure_logs(ends.target, 1, one, two)[two.name].partitions == 3
    again = ensure_logs(ends.target, 1, one, LogTopic(two.name, COMPACTED, 7))
    assert (again[one.name].partitions, again[two.name].partitions) == (1, 3)
    assert (fetch_configs(ends.target, one.name) or {})["cleanup.policy"] == "compact"
    with pytest.raises(ClusterError):
        ensure_logs(ends.target, 9, LogTopic(f"log-{uuid.uuid4().hex[:8]}", COMPACTED))


def test_a_topic_that_lacks_the_brokers_time_gets_it(ends: Ends) -> None:
    name = f"log-{uuid.uuid4().hex[:8]}"
    ensure_logs(ends.target, 1, LogTopic(name, {}))
    assert (fetch_configs(ends.target, name) or {})["message.timestamp.type"] == "CreateTime"
    ensure_logs(ends.target, 1, LogTopic(name, BROKER_TIME))
    assert (fetch_configs(ends.target, name) or {})["message.timestamp.type"] == "LogAppendTime"


@pytest.mark.proves("R10")
def test_a_signed_writer_is_shut_out_by_the_next_owner_of_its_id(ends: Ends) -> None:
    topic, transactional_id = new_topic(ends), f"owner-{uuid.uuid4().hex[:8]}"

    async def story() -> None:
        cluster = Cluster(ends.link.clients.target_producer, "test")
        fence = Fence(cluster, "test")
        try:
            writers = []
            for _ in range(2):
                producer = await fence.take_over(transactional_id, 0)
                await fence.plant(producer, 0, [TopicPartition(topic, 0)])
                writers.append(LogWriter(cluster, topic, producer=producer))
            table = LogTable(cluster, topic)
            await table.catch_up()
            await writers[1].append([(b"k", b"second")])
            with pytest.raises(LogFenced, match=topic):
                await writers[0].append([(b"k", b"first")])
            assert await table.catch_up() == {b"k": b"second"}
        finally:
            await cluster.close()

    asyncio.run(story())


@pytest.mark.proves("R7")
def test_what_a_leader_did_not_commit_is_read_by_nobody(ends: Ends) -> None:
    """A leader that dies in the middle of a write leaves an open transaction; the next leader aborts it."""
    topic, group = new_topic(ends), f"g{uuid.uuid4().hex[:6]}"
    settings = ends.link.clients.target_admin
    dying = Producer({**client_options(settings), "transactional.id": f"twinlog-{topic}-{group}"})
    dying.init_transactions(30)
    dying.begin_transaction()
    dying.produce(topic, b"half", b"half", partition=0)
    assert dying.flush(30) == 0
    start: dict[bytes, bytes | None] = {}
    log = ElectedLog(
        settings,
        topic,
        group,
        start=start,
        apply=lambda rows, record: {**rows, record.key or b"": record.value},
        on_change=lambda _: None,
        on_elected=lambda: None,
    )
    try:
        assert log.open() == {}
        assert log.lead([(b"leader", b"2")]) == {b"leader": b"2"}
        assert log.append([(b"k", b"v")]) == {b"leader": b"2", b"k": b"v"}
    finally:
        log.close()


@pytest.mark.proves("R7")
def test_a_record_written_in_the_background_is_told_as_written_or_not(ends: Ends) -> None:
    topic = new_topic(ends)
    done: list[ClusterError | None] = []
    writer = BackgroundWriter(ends.link.clients.target_admin, topic)
    writer.append(b"k", b"v", done.append)
    wait_until(lambda: done, lambda seen: seen == [None], within_s=30, what="the acknowledgement")
    writer.append(b"k", bytes(10 << 20), done.append)
    wait_until(lambda: done, lambda seen: len(seen) == 2, within_s=30, what="the refusal")
    assert done[1] is not None
    assert topic in str(done[1])
    writer.close()
    assert ClusterAdmin(ends.link.clients.target_admin).fetch_end_offsets([TopicPartition(topic, 0)]) == {
        TopicPartition(topic, 0): 1
    }
