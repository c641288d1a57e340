"""Logs that the cleaner really thinned out: a registry's topic through a switch, and groups whose offsets are holes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.abandoned import Abandoned
from tests.kit.ends import Ends, numbers
from tests.kit.groups import position, set_positions
from tests.kit.logs import Cluster, LogRecord, read_logs
from tests.kit.switches import IDENTITY, do_switch, service_running
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

from twinlog.errors import ClusterError
from twinlog.kafka.admin import TopicOrder
from twinlog.local.cluster import LocalCluster

MakeCluster = Callable[..., LocalCluster]
CLEANING = {"log.cleaner.backoff.ms": "100"}
EAGER = {"min_cleanable_dirty_ratio": "0.01", "segment_ms": "50", "delete_retention_ms": "3600000"}
SCHEMAS = "_schemas"

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]


# --- a registry's topic -----------------------------------------------------------------------------------------------


def register(server: str, rounds: range) -> None:
    """What a schema registry writes: versions that are written anew, soft deletions, tombstones, no-ops without value.

    Small batches, so that the cleaner has segments to work on.
    """
    producer = Producer({"bootstrap.servers": server, "linger.ms": 0, "enable.idempotence": True, "log_level": 0})
    for turn in rounds:
        for subject in range(20):
            place = {"subject": f"s{subject}", "version": 1 + turn % 3}
            key = json.dumps({"keytype": "SCHEMA", **place, "magic": 1})
            value = json.dumps({**place, "id": 100 * turn + subject, "schema": '"string"', "deleted": turn % 7 == 0})
            gone = subject % 5 == 4 and turn % 2 == 1
            producer.produce(SCHEMAS, None if gone else value.encode(), key.encode(), partition=0)
        producer.produce(SCHEMAS, None, b'{"keytype":"NOOP","magic":0}', partition=0)
        assert producer.flush(30) == 0


def log_of(cluster: Cluster) -> list[LogRecord]:
    return read_logs(cluster, SCHEMAS, "read_committed")[0]


def as_a_registry_reads(records: list[LogRecord]) -> list[tuple[bytes | None, bytes | None, int]]:
    """The last word about each key, in the order of the log: what is left whenever the cleaner ran."""
    last: dict[bytes | None, LogRecord] = {}
    for record in records:
        last.pop(record.key, None)
        last[record.key] = record
    return [(record.key, record.value, record.timestamp[1]) for record in last.values()]


def await_equal(ends: Ends) -> list[LogRecord]:
    """Wait until a registry would read the same on both sides; returns the source's log."""
    found = wait_until(
        lambda: (log_of(ends.source_logs), log_of(ends.target_logs)),
        lambda logs: as_a_registry_reads(logs[0]) == as_a_registry_reads(logs[1]),
        within_s=60,
        what="equal registries",
    )
    return found[0]


@pytest.mark.proves("R1", "R3", "R4")
def test_a_registry_s_topic_is_the_same_on_both_sides_through_compaction_and_a_switch(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    source, target = make_cluster("primary", settings=CLEANING), make_cluster("standby", settings=CLEANING)
    here, there = source.bootstrap_servers, target.bootstrap_servers
    # Mirrored record by record, as a topic like any other. With the registry mirrored, a switch merges schemas by their
    # meaning: a version that got another id away is then home as one more version (test_registry_disaster).
    ends = Ends(
        source,
        target,
        replication_policy_class=IDENTITY,
        topics=SCHEMAS,
        switch_grace_seconds="0",
        registry_mirror="off",
    )
    ends.prefix = SCHEMAS
    configs = {name.replace("_", "."): value for name, value in EAGER.items()}
    order = TopicOrder(SCHEMAS, 1, 1, {"cleanup.policy": "compact", **configs})
    assert ends.source.create_topics([order]) == {SCHEMAS: None}
    ends.await_topic(ends.source, SCHEMAS)
    register(here, range(40))
    written = 40 * 21
    wait_until(lambda: len(log_of(ends.source_logs)), lambda n: n < written / 2, within_s=60, what="a cleaned source")
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(SCHEMAS)
        await_equal(ends)
        there_configs = ends.target.fetch_topic_configs([SCHEMAS])[SCHEMAS]
        assert not isinstance(there_configs, ClusterError)
        assert {config.name: config.value for config in there_configs}["cleanup.policy"] == "compact"
        assert ends.await_topic(ends.target, SCHEMAS).partitions == 1
        register(here, range(40, 80))
        wait_until(
            lambda: len(log_of(ends.target_logs)), lambda n: n < written / 2, within_s=60, what="a cleaned target"
        )
        log = await_equal(ends)
        assert any(record.value is None for record in log), "no tombstone among them"

        assert do_switch(ends, tmp_path, "failover-planned").active == "T"
        register(there, range(80, 100))
        back = do_switch(ends, tmp_path, "failback-delta")
        assert (back.active, back.tail["records"]) == (ends.alias, 0)
        assert len(as_a_registry_reads(await_equal(ends))) == 20 * 3 + 1
        register(here, range(100, 110))
        ends.await_copied(SCHEMAS)
        await_equal(ends)


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.proves("R5")
def test_a_position_in_a_hole_skips_no_record_and_reads_none_again(
    make_cluster: MakeCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("compacting", settings=CLEANING)
    # The copy keeps every record it gets, so that what a group would read there can be told.
    ends = Ends(
        source,
        target_cluster,
        config_properties_exclude="cleanup.policy,segment.*,min.cleanable.*",
        refresh_groups_interval_seconds="1",
        emit_checkpoints_interval_seconds="1",
        sync_group_offsets_interval_seconds="1",
    )
    ends.set(groups=f"{ends.prefix}.*")
    name = ends.create("prices", 1, cleanup_policy="compact", **EAGER)
    load = ends.load(name, keys=50, batch_records=20)

    def kept() -> list[LogRecord]:
        return read_logs(ends.source_logs, name, "read_committed")[0]

    load.produce(2_000, rate=2_000)
    left = wait_until(kept, lambda log: len(log) < 1_000, within_s=60, what="a cleaned log")
    alive = {record.offset for record in left}
    holes = sorted(set(range(2_000)) - alive)
    # In the first hole and the last, before and behind a record, and spread over all of it.
    wanted = {holes[0], holes[-1], left[0].offset, left[-1].offset, left[-1].offset + 1, *holes[:: len(holes) // 20]}
    groups = {ends.name(f"g{offset}"): offset for offset in wanted}
    for group, offset in groups.items():
        set_positions(ends.source_logs, group, {(name, 0): offset})
    with engine_running(ends.link, tmp_path, with_chores=True):
        ends.await_copied()
        _await_positions(ends, name, groups)
        _assert_exact(ends, name, groups, kept())
        # What was copied meanwhile loses records on the source afterwards: positions in the new holes stay exact.
        load.produce(1_000, rate=2_000)
        ends.await_copied()
        wait_until(kept, lambda log: log[0].offset > left[-1].offset, within_s=60, what="a log cleaned again")
        late = {ends.name(f"l{offset}"): offset for offset in (left[0].offset, left[len(left) // 2].offset, 2_100)}
        for group, offset in late.items():
            set_positions(ends.source_logs, group, {(name, 0): offset})
        _await_positions(ends, name, late)
        _assert_exact(ends, name, late, kept())


def _await_positions(ends: Ends, topic: str, groups: dict[str, int]) -> None:
    wait_until(
        lambda: [group for group in groups if position(ends.target_logs, group, ends.remote(topic)) is None],
        lambda missing: not missing,
        within_s=60,
        what="a position of each group",
    )


def _assert_exact(ends: Ends, topic: str, groups: dict[str, int], left: list[LogRecord]) -> None:
    """Numbers of this load are offsets of the source: a group reads all that is left there, and nothing from before."""
    copied = read_logs(ends.target_logs, ends.remote(topic), "read_committed")[0]
    assert set(numbers(left)) <= {record.offset for record in left}
    for group, offset in groups.items():
        place = position(ends.target_logs, group, ends.remote(topic))
        assert place is not None
        rest = numbers([record for record in copied if record.offset >= place])
        assert not [number for number in rest if number < offset], f"{group} reads again"
        unread = {record.offset for record in left if record.offset >= offset}
        assert unread <= set(rest), f"{group} skips"


# --- owners that were killed ------------------------------------------------------------------------------------------


def write_prices(ends: Ends, topic: str, values: range) -> None:
    """Few keys, small batches: each value is there once and replaces an older one."""
    server = ends.source_cluster.bootstrap_servers
    producer = Producer({"bootstrap.servers": server, "linger.ms": 0, "log_level": 0})
    for value in values:
        producer.produce(topic, b"%d" % value, b"%d" % (value % 7), partition=0)
        if value % 5 == 4:
            assert producer.flush(30) == 0
    assert producer.flush(30) == 0


def values_of(cluster: Cluster, topic: str) -> list[int]:
    return [int(record.value or b"") for record in read_logs(cluster, topic, "read_committed")[0]]


@pytest.mark.proves("R1", "R2", "R3", "R9")
@pytest.mark.parametrize("both", [False, True], ids=["source-cleaned", "both-cleaned"])
def test_what_a_killed_owner_wrote_is_known_though_cleaners_removed_it(
    make_cluster: MakeCluster, tmp_path: Path, *, both: bool
) -> None:
    ends = Ends(make_cluster("here", settings=CLEANING), make_cluster("there", settings=CLEANING))
    name = ends.create("prices")
    write_prices(ends, name, range(300))
    left = Abandoned.of(ends, name)
    copy = left.remote.topic
    cleaning = {"cleanup.policy": "compact", **{key.replace("_", "."): value for key, value in EAGER.items()}}
    if both:
        assert ends.target.apply_topic_configs({copy: cleaning}) == {copy: None}
    left.leave(noted=100)
    if both:
        there = wait_until(
            lambda: values_of(ends.target_logs, copy), lambda log: len(log) < 200, within_s=60, what="a cleaned target"
        )
        assert there[-1] == 299
    assert ends.source.apply_topic_configs({name: cleaning}) == {name: None}
    write_prices(ends, name, range(300, 333))
    time.sleep(0.2)  # a segment is closed by the next record after its time, and only closed ones are cleaned
    write_prices(ends, name, range(333, 340))
    kept = wait_until(
        lambda: values_of(ends.source_logs, name), lambda log: log[0] >= 300, within_s=60, what="a cleaned source"
    )
    with engine_running(ends.link, tmp_path):
        status = ends.await_copied(name)
    assert [part.fault for part in status.partitions] == [None]
    found = values_of(ends.target_logs, copy)
    assert found == sorted(set(found))
    assert found[-7:] == list(range(333, 340))  # the newest of each key
    if not both:
        assert found[:300] == list(range(300))
    # Every record is there once, with one marker of the new owner.
    (end,) = ends.target.fetch_end_offsets([left.remote]).values()
    assert isinstance(end, int)
    assert 301 + 7 <= end <= 301 + len(kept)
