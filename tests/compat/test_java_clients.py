"""Java clients of MirrorMaker 2 read what a link of ours wrote, and agree with `twinlog.client` and with the truth."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.kit.ends import Ends
from tests.kit.groups import set_positions
from tests.kit.java_oracle import Oracle, java_running
from tests.kit.load import Ending
from tests.kit.logs import LogRecord, read_logs
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.client import MirrorClient, TranslatedOffset
from twinlog.config.resolve import resolve
from twinlog.kafka.admin import ClusterAdmin
from twinlog.model.mirrormaker.records import Checkpoint, Heartbeat, OffsetSync
from twinlog.model.names import TopicPartition
from twinlog.sync.heartbeats import Pulse

QUICK: Final = {
    "refresh_groups_interval_seconds": "1",
    "emit_checkpoints_interval_seconds": "1",
    "emit_heartbeats_interval_seconds": "1",
}
SYNCS: Final = "mm2-offset-syncs.T.internal"


@pytest.fixture(scope="module")
def java() -> Iterator[Oracle]:
    with java_running() as oracle:
        yield oracle


def beat_on_source(ends: Ends) -> None:
    """The heartbeats of the opposite pair, which `twinlog run` writes; the link carries them."""
    (pair,) = resolve(ends.properties.encode("latin-1"), "test.properties", (), {}).heartbeats

    async def beat() -> None:
        pulse = Pulse(pair, ClusterAdmin(pair.target_admin))
        try:
            assert await pulse.beat() is None
        finally:
            await pulse.close()

    asyncio.run(beat())


def own_syncs(ends: Ends) -> list[LogRecord]:
    if SYNCS not in ends.source.list_topics():
        return []
    told = read_logs(ends.source_logs, SYNCS, "read_uncommitted")[0]
    return [record for record in told if ends.prefix.encode() in (record.key or b"")]


def same(one: LogRecord, other: LogRecord) -> bool:
    return (one.key, one.value, one.headers, one.timestamp) == (other.key, other.value, other.headers, other.timestamp)


@pytest.mark.proves("R5")
def test_java_reads_our_checkpoints_heartbeats_and_offset_syncs(
    make_ends: Callable[..., Ends], tmp_path: Path, java: Oracle
) -> None:
    ends = make_ends(**QUICK)
    group, other = f"{ends.prefix}.billing", f"{ends.prefix}.audit"
    ends.set(groups=f"{ends.prefix}.*")
    beat_on_source(ends)
    name = ends.create("orders", 2)
    load = ends.load(name, 2)
    for ending in (Ending.COMMITTED, Ending.ABORTED, Ending.COMMITTED):  # the logs drift apart
        load.produce(60)
        load.transaction(40, ending)
    positions = {(name, 0): 37, (name, 1): 101}
    set_positions(ends.source_logs, group, positions)
    set_positions(ends.source_logs, other, {(name, 0): 90})
    remote = ends.remote(name)
    properties = {"bootstrap.servers": ends.target_logs.bootstrap_servers}
    client = MirrorClient(properties, alias="T", sources={ends.alias: {"bootstrap.servers": ends.source_logs[0]}})

    originals = read_logs(ends.source_logs, name, "read_committed")
    truth = {
        TopicPartition(remote, number): len([record for record in originals[number] if record.offset < position])
        for (_, number), position in positions.items()
    }
    everybody = re.compile(re.escape(ends.prefix) + ".*")

    def checkpoints() -> dict[str, dict[TopicPartition, TranslatedOffset]]:
        there = f"{ends.alias}.checkpoints.internal" in client.checkpoint_topics()
        return client.translate_offsets(everybody, ends.alias) if there else {}

    with engine_running(ends.link, tmp_path, with_chores=True):
        ours = wait_until(
            checkpoints,
            lambda found: {p: at.offset for p, at in found.get(group, {}).items()} == truth and other in found,
            within_s=30,
            what=f"checkpoints at {truth}",
        )
        wait_until(client.upstream_clusters, lambda found: ends.alias in found, within_s=60, what="heartbeats")
        ends.await_copied()
        wait_until(lambda: own_syncs(ends), lambda found: len(found) >= 2, within_s=60, what="offset syncs")

    # Java and we say the same, of the groups as of the topology.
    theirs = java.translate_all(properties, ends.alias, re.escape(ends.prefix) + ".*")
    assert theirs == {
        name: {place: (at.offset, at.metadata) for place, at in found.items()} for name, found in ours.items()
    }
    assert java.translate_offsets(properties, ends.alias, group) == theirs[group]
    assert client.translate_offsets(group, ends.alias) == ours[group]
    topology = java.topology(properties)
    assert topology == {
        "upstream_clusters": client.upstream_clusters(),
        "heartbeat_topics": client.heartbeat_topics(),
        "checkpoint_topics": client.checkpoint_topics(),
        "remote_topics": client.remote_topics(),
    }
    assert remote in topology["remote_topics"]
    assert f"{ends.alias}.checkpoints.internal" in topology["checkpoint_topics"]
    assert java.replication_hops(properties, ends.alias) == client.replication_hops(ends.alias) == 1
    assert java.replication_hops(properties, "nowhere") == -1
    assert client.replication_hops("nowhere") is None

    # And what they say is the truth: the next record of the group is the same on both sides.
    copies = read_logs(ends.target_logs, remote, "read_uncommitted")
    for (_, number), position in positions.items():
        at = theirs[group][TopicPartition(remote, number)][0]
        following = next(record for record in originals[number] if record.offset >= position)
        assert same(following, next(record for record in copies[number] if record.offset >= at))

    _check_formatters(ends, java)


def _check_formatters(ends: Ends, java: Oracle) -> None:
    """What a console consumer prints for every record in the three topics of this link."""
    checkpoints = f"{ends.alias}.checkpoints.internal"
    for record in read_logs(ends.target_logs, checkpoints, "read_uncommitted")[0]:
        known = Checkpoint.read(record.key, record.value)
        printed = java.formatted("CheckpointFormatter", checkpoints, record.key, record.value)
        assert f"consumerGroupId={known.group}, topicPartition={known.topic}-{known.partition}, " in printed
        assert f"upstreamOffset={known.upstream}, downstreamOffset={known.downstream}, " in printed
    mine = own_syncs(ends)
    assert mine
    for record in mine:
        sync = OffsetSync.read(record.key, record.value)
        printed = java.formatted("OffsetSyncFormatter", SYNCS, record.key, record.value)
        place = f"topicPartition={sync.topic}-{sync.partition}"
        assert printed == f"OffsetSync{{{place}, upstreamOffset={sync.upstream}, downstreamOffset={sync.downstream}}}"
    beats = read_logs(ends.target_logs, "heartbeats", "read_uncommitted")[0]
    mine = [r for r in beats if ends.alias.encode() in (r.key or b"")]
    assert mine
    beat = Heartbeat.read(mine[-1].key, mine[-1].value)
    printed = java.formatted("HeartbeatFormatter", "heartbeats", mine[-1].key, mine[-1].value)
    assert printed == (
        f"Heartbeat{{sourceClusterAlias={ends.alias}, targetClusterAlias=T, timestamp={beat.timestamp_ms}}}"
    )
