"""Transforms on a mirror link, through Spark: each record once, changed or dropped, with an exact map."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.engine import Victim, twinlog_run
from tests.kit.logs import LogRecord, read_logs
from tests.kit.waiting import wait_until

from twinlog.ledger.reading import read_ledger
from twinlog.model.ledger.translation import Exact
from twinlog.model.names import TopicPartition

MakeEnds = Callable[..., Ends]
pytestmark = pytest.mark.timeout(600)

KAFKA = "org.apache.kafka.connect.transforms"
STEPS = {
    "transforms": "internal, mask",
    "transforms.internal.type": f"{KAFKA}.Filter",
    "transforms.internal.predicate": "is-internal",
    "transforms.mask.type": f"{KAFKA}.MaskField$Value",
    "transforms.mask.fields": "email",
    "transforms.mask.predicate": "is-tombstone",
    "transforms.mask.negate": "true",
    "predicates": "is-internal, is-tombstone",
    "predicates.is-internal.type": f"{KAFKA}.predicates.HasHeaderKey",
    "predicates.is-internal.name": "internal",
    "predicates.is-tombstone.type": f"{KAFKA}.predicates.RecordIsTombstone",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transformed.topics": ".*people",
}


def documents(seed: int) -> Iterator[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]]:
    """Records without end: most have an e-mail address, some are internal, some are tombstones."""
    rng, number = random.Random(seed), 0
    while True:
        number += 1
        headers: list[tuple[str, bytes | None]] = [("trace", b"%d" % number), ("trace", None)]
        if rng.random() < 0.2:
            headers.append(("internal", b""))
        value = {"n": number, "email": f"p{number}@example.com", "note": "x" * rng.randint(0, 300)}
        yield b"k%d" % (number % 50), None if rng.random() < 0.1 else json.dumps(value).encode(), headers


def produce(ends: Ends, topic: str, count: int, records: Iterator[Any], partitions: int) -> None:
    producer = Producer({"bootstrap.servers": ends.source_logs.bootstrap_servers, "compression.type": "lz4",
                         "linger.ms": 20, **ends.source_logs.client})  # fmt: skip
    for number in range(count):
        key, value, headers = next(records)
        producer.produce(topic, value, key, partition=number % partitions, headers=headers)
        producer.poll(0)
    assert producer.flush(60) == 0


def expected(record: LogRecord) -> tuple[Any, ...] | None:
    """What a record must be on the target; None: it must not be there."""
    if any(name == "internal" for name, _ in record.headers):
        return None
    value = record.value if record.value is None else {**json.loads(record.value), "email": ""}
    return record.key, value, record.headers, record.timestamp


def found(record: LogRecord) -> tuple[Any, ...]:
    value = record.value if record.value is None else json.loads(record.value)
    return record.key, value, record.headers, record.timestamp


def without(made: tuple[Any, ...], member: str | None) -> tuple[Any, ...]:
    key, value, *rest = made
    return (key, value if value is None else {name: one for name, one in value.items() if name != member}, *rest)


def check(ends: Ends, topic: str, *, but: str | None = None) -> int:
    """Compare both logs completely, but for one member of values; returns how many records were dropped."""
    source = read_logs(ends.source_logs, topic, "read_committed")
    target = read_logs(ends.target_logs, ends.remote(topic), "read_uncommitted")
    dropped = 0
    for partition, records in source.items():
        wanted = [expected(one) for one in records]
        dropped += wanted.count(None)
        kept = [without(one, but) for one in wanted if one is not None]
        assert [without(found(one), but) for one in target[partition]] == kept
    return dropped


def check_map(ends: Ends, topic: str) -> None:
    """Every source position stands for the place of the first kept record at or behind it (R5)."""
    partition = TopicPartition(topic, 0)
    source = read_logs(ends.source_logs, topic, "read_committed", [0])[0]
    target = [one.offset for one in read_logs(ends.target_logs, ends.remote(topic), "read_uncommitted", [0])[0]]
    found = asyncio.run(read_ledger(ends.link)).map_of(partition)
    assert found is not None
    passed = 0
    for record in source:
        if passed < len(target):
            assert found.to_target(record.offset) == Exact(target[passed])
        passed += expected(record) is not None


@pytest.mark.proves("R1", "R2", "R3", "R5", "R7", "R8")
def test_records_are_masked_and_filtered_and_a_bad_one_stops_its_partition(make_ends: MakeEnds, tmp_path: Path) -> None:
    ends = make_ends(**STEPS)
    people, raw = ends.create("people", 2), ends.create("raw")
    ends.load(raw).produce(50)  # not JSON: no step looks into it
    records = documents(1)
    produce(ends, people, 3_000, records, 2)
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=120)
        dropped = check(ends, people)
        ends.check(raw)
        check_map(ends, people)
        assert dropped > 300
        status = ends.await_status(lambda s: sum(p.dropped for p in s.partitions) == dropped, "dropped records counted")
        assert not status.faults
        # One record that is no JSON: its partition stops in front of it, the other goes on.
        produce(ends, people, 2, iter([(b"k", b"{not json", []), (b"k", b'{"email":1}', [])]), 2)
        stopped = ends.await_fault("TRANSFORM_FAILED", people, 0)
        assert stopped.fault is not None
        assert stopped.fault.facts["offset"] == stopped.source_next == 1_500
        last = wait_until(
            lambda: read_logs(ends.target_logs, ends.remote(people), "read_uncommitted", [1])[1][-1],
            lambda one: one.value == b'{"email":0}',
            within_s=30,
            what="the record of the other partition",
        )
        assert last.headers == ()
        assert engine.stop() == 0
    ends.set(**{"errors.tolerance": "all"})
    produce(ends, people, 100, records, 2)
    with twinlog_run(ends, tmp_path) as engine:
        status = ends.await_copied(people, within_s=120)
        assert [p.refused for p in status.partitions if p.partition == TopicPartition(people, 0)] == [1]
        assert engine.stop() == 0


@pytest.mark.chaos
@pytest.mark.proves("R1", "R2", "R3", "R9")
def test_kill_9_under_load_loses_and_doubles_no_changed_record(make_ends: MakeEnds, tmp_path: Path) -> None:
    dice = random.Random(7)
    ends = make_ends(tasks_max="2", **STEPS)
    people = ends.create("people", 4)
    records = documents(2)
    produce(ends, people, 20_000, records, 4)
    victims: tuple[Victim, ...] = ("engine", "writer", "jvm", "engine", "reader")
    for victim in victims:
        with twinlog_run(ends, tmp_path) as engine:
            before = _copied(ends)
            produce(ends, people, 10_000, records, 4)
            await_copies(ends, before + dice.randrange(200, 4_000))
            engine.kill(victim)
            if victim == "engine":
                continue
            ends.await_copied(within_s=180)
            assert engine.stop() == 0
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=180)
        assert engine.stop() == 0
    dropped = check(ends, people)
    assert sum(p.dropped for p in ends.status().partitions) == dropped


@pytest.mark.chaos
@pytest.mark.proves("R2", "R7")
def test_other_transforms_behind_a_killed_engine_stop_what_cannot_be_recognised(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    """A crash between writing and noting, then another mask: the partition is named, and the former mask continues."""
    ends = make_ends(**STEPS)
    people = ends.create("people", 4)
    records = documents(3)
    with twinlog_run(ends, tmp_path) as engine:
        produce(ends, people, 40_000, records, 4)
        await_copies(ends, 1)
        produce(ends, people, 40_000, records, 4)
        engine.kill()
    ends.set(**{"transforms.mask.fields": "email, note"})
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_fault("TRANSFORMS_CHANGED", people, within_s=60)
        engine.stop()
    ends.set(**{"transforms.mask.fields": "email"})
    with twinlog_run(ends, tmp_path) as engine:
        ends.await_copied(within_s=180)
        assert engine.stop() == 0
    check(ends, people, but="note")  # partitions without such records went on with the other mask at once


def _copied(ends: Ends) -> int:
    return sum(part.records + part.dropped for part in ends.status().partitions)


def await_copies(ends: Ends, count: int) -> None:
    wait_until(lambda: _copied(ends), lambda now: now >= count, within_s=120, what=f"{count} copies")
