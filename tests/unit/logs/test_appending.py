"""A write is acknowledged, or an error names the topic; what is sent twice is written once."""

from __future__ import annotations

import asyncio

import pytest
from tests.kit.fake_cluster import FakeBroker

from twinlog.errors import AccessDenied, BrokerRefused, ClusterError, ClusterUnreachable, LogFenced
from twinlog.logs.append import LogWriter
from twinlog.logs.read import is_there, read_to_end, records_in
from twinlog.logs.table import LogTable
from twinlog.wire.codec import open_batch
from twinlog.wire.fence import Producer


@pytest.fixture
def broker() -> FakeBroker:
    made = FakeBroker()
    made.create("log")
    return made


def values(broker: FakeBroker) -> list[bytes | None]:
    return [record.value for _, batch in broker.logs["log"][0].behind(0) for record in open_batch(batch)]


@pytest.mark.proves("R7")
@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (29, AccessDenied, "Write on log is needed"),
        (10, BrokerRefused, "log-0: a batch of .* is too large"),
        (87, BrokerRefused, "log-0: .*87"),
        (6, BrokerRefused, "log-0: .*6"),
        (7, ClusterUnreachable, "the leader of log-0 does not answer"),
        (47, LogFenced, "log-0: another process writes here now"),
    ],
)
def test_a_write_that_is_refused_is_an_error_that_names_the_topic(
    broker: FakeBroker, error: int, kind: type[ClusterError], says: str
) -> None:
    broker.refused["log"] = error
    with pytest.raises(kind, match=says):
        asyncio.run(LogWriter(broker.cluster(), "log", attempts=2).append([(b"k", b"v")]))
    assert values(broker) == []


def test_a_writer_waits_for_a_leader(broker: FakeBroker) -> None:
    async def story() -> int:
        broker.leaderless.add("log")
        asyncio.get_running_loop().call_later(0.1, broker.leaderless.clear)
        return await LogWriter(broker.cluster(), "log").append([(b"k", b"v")])

    assert asyncio.run(story()) == 0
    assert values(broker) == [b"v"]


@pytest.mark.proves("R2")
def test_a_signed_batch_whose_answer_is_lost_is_written_once(broker: FakeBroker) -> None:
    async def story() -> None:
        writer = LogWriter(broker.cluster(), "log", producer=Producer("t", 7, 0))
        broker.lost_answers = 2
        await writer.append([(b"k", b"1")])
        await writer.append([(b"k", b"2")])

    asyncio.run(story())
    assert values(broker) == [b"1", b"2"]


@pytest.mark.proves("R1", "R2")
@pytest.mark.parametrize("written", [True, False])
def test_a_signed_writer_that_was_given_up_loses_nothing_that_it_writes_later(
    broker: FakeBroker, written: bool
) -> None:
    """A broker drops a batch that has the sequence number of another one, and says that it is written."""

    async def story() -> None:
        writer = LogWriter(broker.cluster(), "log", producer=Producer("t", 7, 0))
        if written:
            broker.lost_answers = 1_000
        else:
            broker.refused["log"] = 7
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await writer.append([(b"k", b"given up")])
        broker.lost_answers = 0
        broker.refused.clear()
        await writer.append([(b"k", b"later")])

    asyncio.run(story())
    assert values(broker) == [b"given up", b"later"]


def test_a_signed_writer_goes_on_after_a_batch_that_was_refused(broker: FakeBroker) -> None:
    async def story() -> None:
        writer = LogWriter(broker.cluster(), "log", producer=Producer("t", 7, 0))
        broker.refused["log"] = 10
        with pytest.raises(BrokerRefused):
            await writer.append([(b"k", b"too large")])
        broker.refused.clear()
        await writer.append([(b"k", b"fits")])

    asyncio.run(story())
    assert values(broker) == [b"fits"]


def test_reading_that_stalls_is_an_error_that_says_how_far_it_came(broker: FakeBroker) -> None:
    async def story() -> None:
        cluster = broker.cluster()
        await LogWriter(cluster, "log").append([(b"k", b"v")])
        broker.silent.add("log")
        with pytest.raises(BrokerRefused, match="reading stopped at offset 0 of 1"):
            await read_to_end(cluster, "log", {0: 0}, lambda *_: None, "t", silent_for_s=0.1)
        broker.leaderless.add("log")
        with pytest.raises(BrokerRefused, match="no leader"):
            await read_to_end(broker.cluster(), "log", {0: 0}, lambda *_: None, "t", silent_for_s=0.1)

    asyncio.run(story())


def test_a_topic_that_may_not_be_read_is_not_told_as_absent(broker: FakeBroker) -> None:
    broker.hidden["log"] = 29
    with pytest.raises(AccessDenied, match="Read and Describe on log"):
        asyncio.run(is_there(broker.cluster(), "log"))
    with pytest.raises(AccessDenied):
        asyncio.run(LogTable(broker.cluster(), "log").catch_up())


def test_a_table_is_not_written_without_its_topic(broker: FakeBroker) -> None:
    table = LogTable(broker.cluster(), "absent")
    table._writer.attempts = 2
    with pytest.raises(BrokerRefused, match="absent-0"):
        asyncio.run(table.put([(b"k", b"v")]))


def test_two_writers_interleave_and_readers_see_one_order(broker: FakeBroker) -> None:
    async def story() -> list[bytes | None]:
        one, two = (LogWriter(broker.cluster(), "log") for _ in range(2))
        await asyncio.gather(*(w.append([(b"k", b"%d" % n)]) for n in range(20) for w in (one, two)))
        found: list[bytes | None] = []
        await read_to_end(
            broker.cluster(), "log", {0: 0}, lambda _, b: found.extend(r.value for r in records_in(b)), "t"
        )
        return found

    found = asyncio.run(story())
    assert found == values(broker)
    assert sorted(found, key=lambda v: int(v or b"-1")) == [b"%d" % n for n in range(20) for _ in range(2)]
