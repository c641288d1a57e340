"""Two hundred days of take-overs in a minute: the epochs of a producer id run out, and still nobody writes late."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.abandoned import Abandoned, raw
from tests.kit.ends import Ends
from tests.kit.switches import log_numbers, produce
from tests.kit.threads import engine_running

from twinlog.flow.retirement import LAST_EPOCH
from twinlog.flow.takeover import Begin, ShardOwner
from twinlog.model.names import TopicPartition
from twinlog.model.routes.provenance import ClusterIds
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.fence import Fence, Producer
from twinlog.wire.frames import string

_INIT_PRODUCER_ID = (22, 1)
_ENGINE = 10  # the generation of the engine whose owner dies: later than what the ledger says

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.mark.proves("R2", "R10")
def test_an_owner_before_and_one_behind_the_last_epoch_add_nothing_after_they_lost_the_shard(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends()
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    topic = ends.create("orders")
    assert produce(here, topic, range(300)) == []
    left = Abandoned.of(ends, topic)
    left.leave(noted=100)
    first = left.owner
    second = asyncio.run(age_and_die(left))
    assert produce(here, topic, range(300, 350)) == []
    with engine_running(ends.link, tmp_path):
        ends.await_copied(topic)
        answers = [left.late(first, sequence=300).error, left.late(second, sequence=0).error]
        assert set(answers) <= codes.FENCED, f"late batches were answered with {answers}"
    assert log_numbers(there, left.remote.topic) == list(range(350))


async def age_and_die(left: Abandoned) -> Producer:
    """Use epochs up until one is left; then an owner takes the shard, writes nothing that is noted, and dies."""
    async with raw(left.ends) as target:
        await use_up(target, left.owner)
        begin = Begin(TopicPartition(left.topic, 0), left.roster, None, 0, 0, _ENGINE, left.shard)
        last = await ShardOwner.take(left.ends.link, ClusterIds("here", "there"), Fence(target, "test"), begin)
        await last.open([begin])
        return last.producer


async def use_up(target: Cluster, owner: Producer) -> None:
    """Take epochs one after the other, on one connection, until the next one is the last."""
    connection = await target.any_connection()  # of one broker, so it coordinates
    body = (string(owner.transactional_id), struct.pack(">i", 60_000))
    epoch = owner.epoch
    while epoch < LAST_EPOCH - 1:
        reader = await connection.exchange(*_INIT_PRODUCER_ID, body, flexible=False, timeout_s=30)
        reader.i32()
        assert reader.i16() == codes.NONE
        producer_id, epoch = reader.i64(), reader.i16()
        assert producer_id == owner.producer_id
