"""What a log promises, whatever it lies on: the same tests run on the cluster in memory and on a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from twinlog.logs.append import LogWriter
from twinlog.logs.follow import follow
from twinlog.logs.read import Batches, is_there, read_to_end, records_in
from twinlog.logs.table import LogTable
from twinlog.logs.topic import LogRecord
from twinlog.wire.connection import Cluster

LANE = "test"


@dataclass
class Place:
    """Where a contract is tried: a topic that is there, one that is not, and clients."""

    make_cluster: Callable[[], Cluster]
    topic: str
    absent: str

    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[Cluster]:
        cluster = self.make_cluster()
        try:
            yield cluster
        finally:
            await cluster.close()

    async def read(self, cluster: Cluster) -> list[LogRecord]:
        found: list[LogRecord] = []
        await read_to_end(
            cluster, self.topic, {0: 0}, lambda _, batches: found.extend(records_in(batches)), LANE, silent_for_s=20
        )
        return found


class LogContract:
    """The promises. Subclasses have a fixture `place`."""

    def test_what_is_appended_is_read_in_order(self, place: Place) -> None:
        async def story() -> None:
            async with place.cluster() as cluster:
                writer = LogWriter(cluster, place.topic)
                assert await writer.append([(b"a", b"1"), (b"b", None)]) == 0
                assert await writer.append([(b"a", b"2")]) == 2
                found = await place.read(cluster)
                assert [(r.offset, r.key, r.value) for r in found] == [
                    (0, b"a", b"1"),
                    (1, b"b", None),
                    (2, b"a", b"2"),
                ]

        asyncio.run(story())

    def test_more_than_a_batch_holds_is_split_and_complete(self, place: Place) -> None:
        async def story() -> None:
            async with place.cluster() as cluster:
                await LogWriter(cluster, place.topic).append([(b"%d" % n, bytes(200_000)) for n in range(7)])
                assert [r.key for r in await place.read(cluster)] == [b"%d" % n for n in range(7)]

        asyncio.run(story())

    def test_a_topic_that_is_not_there_is_told_apart_from_an_empty_one(self, place: Place) -> None:
        async def story() -> None:
            async with place.cluster() as cluster:
                assert await is_there(cluster, place.topic)
                assert not await is_there(cluster, place.absent)
                assert await place.read(cluster) == []
                assert await LogTable(cluster, place.absent).catch_up() == {}

        asyncio.run(story())

    def test_who_follows_gets_what_is_there_and_what_comes(self, place: Place) -> None:
        async def story() -> None:
            async with place.cluster() as cluster, place.cluster() as other:
                writer = LogWriter(cluster, place.topic)
                await writer.append([(b"k", b"before")])
                found: list[bytes | None] = []
                complete = asyncio.Event()

                def take(_: int, batches: Batches) -> None:
                    found.extend(record.value for record in records_in(batches))
                    if len(found) == 2:
                        complete.set()

                task = asyncio.create_task(follow(other, place.topic, {0: 0}, take, LANE))
                await writer.append([(b"k", b"after")])
                try:
                    async with asyncio.timeout(20):
                        await complete.wait()
                finally:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)
                assert found == [b"before", b"after"]

        asyncio.run(story())

    def test_a_table_knows_the_newest_value_of_each_key(self, place: Place) -> None:
        async def story() -> None:
            async with place.cluster() as cluster, place.cluster() as other:
                table = LogTable(cluster, place.topic)
                assert await table.put([(b"a", b"1"), (b"b", b"1")]) == {b"a": b"1", b"b": b"1"}
                assert await table.put([(b"a", None), (b"b", b"2")]) == {b"b": b"2"}
                assert await table.put([]) == {b"b": b"2"}
                reader = LogTable(other, place.topic)
                assert await reader.catch_up() == {b"b": b"2"}
                await table.put([(b"c", b"3")])
                assert await reader.catch_up() == {b"b": b"2", b"c": b"3"}

        asyncio.run(story())
