"""What cannot be copied is named, with its offsets, within seconds; everything else goes on (R7, R8)."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import pytest
from tests.kit.ends import Ends, numbers
from tests.kit.logs import read_logs
from tests.kit.records import Shape
from tests.kit.threads import engine_running

from twinlog.errors import ClusterError
from twinlog.local.cluster import LocalCluster
from twinlog.service import forget_topic

MakeEnds = Callable[..., Ends]
MakeCluster = Callable[..., LocalCluster]

pytestmark = pytest.mark.proves("R7", "R8")


@pytest.fixture
def ends(make_ends: MakeEnds) -> Ends:
    """A link with a topic beside, which must go on whatever happens to the other."""
    ends = make_ends()
    ends.create("beside")
    return ends


def beside_goes_on(ends: Ends) -> None:
    """Records that are written after the fault are copied while it lasts."""
    name = ends.name("beside")
    ends.load(name, seed=99).produce(100)
    ends.await_copied(name, within_s=60)
    ends.check(name)


def test_records_deleted_before_they_were_copied_are_a_gap_that_only_a_policy_skips(ends: Ends, tmp_path: Path) -> None:
    name = ends.create("orders", 2)
    load = ends.load(name, 2)
    load.produce(400)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
    load.produce(400)
    ends.delete_records(name, 0, 300)
    with engine_running(ends.link, tmp_path):
        part = ends.await_fault("OFFSET_GAP", name, 0)
        assert part.fault is not None
        assert (part.fault.facts["wanted"], part.fault.facts["earliest"]) == (200, 300)
        beside_goes_on(ends)
        healthy = ends.await_status(lambda s: s.partitions[-1].lag == 0, "the other partition")
        assert [p.fault for p in healthy.partitions if p.partition != part.partition] == [None, None]
    ends.set(on_gap="skip")
    with engine_running(ends.link, tmp_path):
        status = ends.await_copied(name)
    (gap,) = [p for p in status.partitions if p.skipped]
    assert (gap.partition.topic, gap.partition.partition, gap.skipped) == (name, 0, 100)
    logs = read_logs(ends.target_logs, ends.remote(name), "read_committed")
    assert numbers(logs[0]) == [*range(200), *range(300, 400)]
    assert numbers(logs[1]) == list(range(400))


def test_a_deleted_source_topic_is_named_and_its_copy_stays(ends: Ends, tmp_path: Path) -> None:
    name = ends.create("orders")
    ends.load(name).produce(200)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        ends.delete(ends.source, name)
        ends.await_fault("SOURCE_TOPIC_MISSING", name)
        beside_goes_on(ends)
    assert numbers(read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]) == list(range(200))


@pytest.mark.parametrize("records", [50, 500], ids=["shorter", "longer"])
def test_a_recreated_source_topic_is_never_mixed_with_the_old_one(ends: Ends, tmp_path: Path, records: int) -> None:
    name = ends.create("orders")
    ends.load(name, seed=1).produce(200)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        ends.delete(ends.source, name)
        ends.create("orders")
        ends.load(name, seed=2).produce(records)
        ends.await_fault("SOURCE_TOPIC_RECREATED", name)
        beside_goes_on(ends)
        assert numbers(read_logs(ends.target_logs, ends.remote(name), "read_committed")[0]) == list(range(200))
        ends.delete(ends.target, ends.remote(name))  # the way out that the fault names
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    assert ends.check(name).target_records == records


def test_a_deleted_target_topic_is_not_made_anew_until_the_operator_says_so(ends: Ends, tmp_path: Path) -> None:
    name = ends.create("orders")
    load = ends.load(name)
    load.produce(200)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        ends.delete(ends.target, ends.remote(name))
        load.produce(100)
        ends.await_fault("TARGET_TOPIC_MISSING", name)
        beside_goes_on(ends)
        assert isinstance(ends.target.describe_topics([ends.remote(name)])[ends.remote(name)], ClusterError)
        asyncio.run(forget_topic(ends.link, name))
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    assert ends.check(name).target_records == 300


def test_a_record_too_large_for_the_target_waits_until_the_target_takes_it(ends: Ends, tmp_path: Path) -> None:
    name = ends.create("orders", 2)
    small, large = ends.load(name, 2), ends.load(name, 2, seed=2, shape=Shape.PLAIN, max_record_bytes=60_000)
    small.produce(100)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
        assert ends.target.apply_topic_configs({ends.remote(name): {"max.message.bytes": "30000"}}) == {
            ends.remote(name): None
        }
        large.produce(1, partition=0)
        small.produce(100)
        part = ends.await_fault("RECORD_TOO_LARGE", name, 0)
        assert part.fault is not None
        assert part.fault.facts["offset"] == 50
        assert part.fault.facts["size"] > 60_000
        beside_goes_on(ends)
        assert ends.target.apply_topic_configs({ends.remote(name): {"max.message.bytes": "100000"}}) == {
            ends.remote(name): None
        }
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    ends.check(name)


def test_a_target_that_would_overwrite_times_gets_nothing_until_it_keeps_them(ends: Ends, tmp_path: Path) -> None:
    name = ends.create("orders")
    ends.load(name).produce(50)
    with engine_running(ends.link, tmp_path):
        ends.await_copied(name)
    configs = {ends.remote(name): {"message.timestamp.type": "LogAppendTime"}}
    assert ends.target.apply_topic_configs(configs) == {ends.remote(name): None}
    ends.load(name, seed=2).produce(50)
    with engine_running(ends.link, tmp_path):
        ends.await_fault("TARGET_KEEPS_NO_TIMES", name)
        beside_goes_on(ends)
        assert ends.target.apply_topic_configs({ends.remote(name): {"message.timestamp.type": None}}) == {
            ends.remote(name): None
        }
        ends.await_status(lambda s: not s.faults, "the end of the fault")
        ends.await_copied(name)
    assert ends.check(name).target_records == 100


def test_a_corrupt_batch_and_an_unknown_codec_stop_their_partitions_at_the_very_offset(
    make_cluster: MakeCluster, target_cluster: LocalCluster, tmp_path: Path
) -> None:
    source = make_cluster("damaged")
    ends = Ends(source, target_cluster)
    name = ends.create("orders", 3)
    load = ends.load(name, 3, batch_records=100, linger_ms=200, shape=Shape.PLAIN, max_record_bytes=1_000)
    for partition in range(3):
        for _ in range(3):
            load.produce(100, partition=partition)
    source.stop()
    corrupt, strange = (segment(source, name, partition) for partition in (0, 1))
    sound = {path: path.read_bytes() for path in (corrupt, strange)}
    corrupt.write_bytes(with_flipped_byte(sound[corrupt], 200))
    strange.write_bytes(with_codec(sound[strange], 100, 7))
    source.start()
    with engine_running(ends.link, tmp_path):
        first = ends.await_fault("CORRUPT_BATCH", name, 0)
        second = ends.await_fault("UNKNOWN_CODEC", name, 1)
        assert first.fault is not None
        assert second.fault is not None
        assert first.fault.facts["offset"] == first.source_next == 200
        assert (second.fault.facts["offset"], second.fault.facts["codec"], second.source_next) == (100, 7, 100)
        ends.await_status(lambda s: s.partitions[2].lag == 0, "the sound partition")
        source.stop()  # somebody repairs the disk
        for path, data in sound.items():
            path.write_bytes(data)
        source.start()
        ends.await_status(lambda s: not s.faults, "the end of the faults")
        ends.await_copied(name)
    assert ends.check(name).target_records == 900


def segment(cluster: LocalCluster, topic: str, partition: int) -> Path:
    """The only log segment of a partition."""
    (path,) = cluster.folder.glob(f"broker-*/data/{topic}-{partition}/*.log")
    return path


def batch_at(log: bytes, offset: int) -> tuple[int, int]:
    """Begin and end of the batch with this base offset."""
    at = 0
    while at < len(log):
        base, length = struct.unpack_from(">qi", log, at)
        if base == offset:
            return at, at + 12 + length
        at += 12 + length
    raise AssertionError(f"no batch begins at offset {offset}")


def with_flipped_byte(log: bytes, offset: int) -> bytes:
    """One bit of rot in the middle of a batch."""
    begin, end = batch_at(log, offset)
    changed = bytearray(log)
    changed[(begin + 61 + end) // 2] ^= 0x10
    return bytes(changed)


def with_codec(log: bytes, offset: int, codec: int) -> bytes:
    """A batch that names another codec and is otherwise sound."""
    begin, end = batch_at(log, offset)
    changed = bytearray(log)
    changed[begin + 22] = changed[begin + 22] & ~7 | codec
    changed[begin + 17 : begin + 21] = google_crc32c.value(bytes(changed[begin + 21 : end])).to_bytes(4, "big")
    return bytes(changed)
