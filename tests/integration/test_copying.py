"""Records on their way from one real cluster to another: equal, once, in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends, numbers
from tests.kit.groups import set_positions
from tests.kit.load import Ending
from tests.kit.logs import read_logs
from tests.kit.records import Shape
from tests.kit.threads import engine_running
from tests.kit.waiting import wait_until

MakeEnds = Callable[..., Ends]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.mark.proves("R1", "R2", "R3", "R4")
def test_every_oddity_that_kafka_allows_arrives_unchanged_in_every_codec(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    for codec in CODECS:
        name = ends.create(codec, 2)
        ends.load(name, 2, compression=codec, shape=Shape.VARIED).produce(1_000)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    assert ends.check().target_records == 1_000 * len(CODECS)


@pytest.mark.proves("R1", "R2", "R3", "R4")
def test_batches_of_one_record_are_merged_without_a_trace_in_the_records(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("tiny", 2)
    ends.load(name, 2, batch_records=1, linger_ms=0, compression="lz4", max_record_bytes=100).produce(3_000)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    assert ends.check().target_records == 3_000


@pytest.mark.proves("R4", "R11")
def test_records_of_five_megabytes_arrive_through_a_fetch_size_of_one(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(max_bytes_in_flight="1048576")
    name = ends.create("large", 1, max_message_bytes="6000000")
    ends.load(name, max_record_bytes=5_000_000, shape=Shape.PLAIN).produce(6)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    assert ends.check().target_records == 6


@pytest.mark.proves("R1", "R2", "R3")
def test_epochs_hand_over_under_load_without_a_seam(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(epoch_seconds="1", tasks_max="2")
    name = ends.create("orders", 4)
    load = ends.load(name, 4, linger_ms=0)
    with engine_running(ends.link, tmp_path) as engine:
        with load.in_background(rate=600):
            wait_until(lambda: engine.epochs, lambda epochs: epochs >= 5, within_s=60, what="five epochs")
        ends.await_copied()
    assert ends.check().source_records == load.count


@pytest.mark.proves("R1", "R2", "R4")
def test_aborted_transactions_never_arrive_and_an_open_one_is_named_as_the_brake(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends()
    name = ends.create("ledgers")
    load = ends.load(name)
    load.produce(100)
    load.transaction(200, Ending.COMMITTED)
    load.transaction(200, Ending.ABORTED)
    load.transaction(50, Ending.HANGING)
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
        load.produce(100)  # lies behind the open transaction
        status = ends.await_status(lambda s: bool(s.partitions[0].held_back), "a partition held back")
        assert "source offset 502 " in (status.partitions[0].held_back or "")
        assert not status.faults
        load.end_hanging(Ending.COMMITTED)
        load.transaction(30, Ending.HANGING)
        load.end_hanging(Ending.ABORTED)
        ends.await_copied()
        ends.await_status(lambda s: not s.partitions[0].held_back, "nothing held back")
    assert ends.check().source_records == load.count


@pytest.mark.proves("R1", "R4")
def test_a_compacted_topic_with_holes_and_tombstones_arrives_as_it_is(make_ends: MakeEnds, tmp_path: Path) -> None:
    # The copy keeps every record it gets, so that both sides can be compared whenever the target's cleaner runs.
    ends = make_ends(config_properties_exclude="cleanup.policy,segment.*,min.cleanable.*")
    eager = {"min_cleanable_dirty_ratio": "0.01", "segment_ms": "50", "delete_retention_ms": "3600000"}
    name = ends.create("prices", 1, cleanup_policy="compact", **eager)
    load = ends.load(name, keys=50, batch_records=20, compression="zstd")
    load.produce(2_000, rate=2_000)
    left = wait_until(
        lambda: len(read_logs(ends.source_logs, name, "read_committed")[0]),
        lambda count: count < 1_000,
        within_s=60,
        what="a compacted log",
    )
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    verdict = ends.verdict(name)
    copied = read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]
    assert any(record.value is None for record in copied), "no tombstone among them"
    assert verdict.ok, str(verdict)
    assert verdict.target_records <= left


@pytest.mark.proves("R1")
def test_topics_and_partitions_that_appear_later_are_copied_from_their_first_record(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends(start_from="latest")
    old = ends.create("old", 1)
    load = ends.load(old, 2)
    load.produce(500, partition=0)
    with engine_running(ends.link, tmp_path):
        ends.await_topic(ends.target, ends.remote(old))
        load.produce(200, partition=0)
        new = ends.create("new", 2)
        ends.load(new, 2).produce(300)
        assert ends.source.create_partitions({old: 2}) == {old: None}
        ends.await_topic(ends.source, old, 2)
        ends.load(old, 2, seed=2).produce(200, partition=1)
        ends.await_copied()
    assert ends.check(new).target_records == 300
    logs = read_logs(ends.target_logs, ends.remote(old), "read_committed")
    assert numbers(logs[0]) == list(range(500, 700))
    assert numbers(logs[1]) == list(range(200))


@pytest.mark.proves("R1")
def test_a_start_time_begins_inside_a_batch_at_the_very_record(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("orders")
    load = ends.load(name, shape=Shape.PLAIN, linger_ms=2_000, max_record_bytes=50)
    load.produce(400, rate=400)  # one batch, a second long
    records = read_logs(ends.source_logs, name, "read_committed")[0]
    chosen = records[200]
    ends.set(start_from=str(chosen.timestamp[1]))
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    first = next(r.offset for r in records if r.timestamp[1] >= chosen.timestamp[1])
    copied = read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]
    assert numbers(copied) == list(range(first, 400))
    assert first > 0


def test_a_link_begins_where_a_group_of_the_source_stands(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    read, unread = ends.create("read"), ends.create("unread")
    for topic in (read, unread):
        ends.load(topic, shape=Shape.PLAIN).produce(100)
    group = f"{read}-mirrormaker1"
    set_positions(ends.source_logs, group, {(read, 0): 60})
    ends.set(start_from=f"group:{group}")
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    copies = {t: numbers(read_logs(ends.target_logs, ends.remote(t), "read_committed")[0]) for t in (read, unread)}
    assert copies == {read: list(range(60, 100)), unread: list(range(100))}


@pytest.mark.proves("R4")
def test_times_given_by_the_source_broker_are_kept(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("stamped", 1, message_timestamp_type="LogAppendTime")
    ends.load(name, timed=False).produce(300, rate=1_000)
    before = time.time() * 1000
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    ours = read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]
    theirs = read_logs(ends.source_logs, name, "read_committed")[0]
    assert [r.timestamp[1] for r in ours] == [r.timestamp[1] for r in theirs]
    assert max(r.timestamp[1] for r in ours) <= before
    assert numbers(ours) == list(range(300))
