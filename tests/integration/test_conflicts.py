"""Keys that are written on both sides of a pair, found by Spark in both logs of real clusters; copies do not count."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.threads import engine_running

from twinlog.errors import SelectionEmpty
from twinlog.model.wanted import Wanted
from twinlog.spark.place import SparkPlace, spark_session
from twinlog.spark.session import Session, stop_session
from twinlog.spark.work import TABLES
from twinlog.verify.conflicts import ConflictSearch, ConflictWish

NAMES = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    started = spark_session(SparkPlace(), 2, tmp_path_factory.mktemp("spark"), TABLES)
    yield started
    stop_session(started)


def write(servers: str, topic: str, records: list[tuple[str | None, int]]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    refused: list[Any] = []
    for key, ms in records:
        producer.produce(topic, b"v", key, timestamp=ms, on_delivery=lambda error, _: refused.append(error))
    assert producer.flush(20) == 0
    assert not any(refused)


@pytest.mark.chaos
@pytest.mark.proves("R14")
def test_keys_of_both_sides_within_the_window_are_counted_and_named(
    make_ends: Callable[..., Ends], session: Session, tmp_path: Path
) -> None:
    ends = make_ends(replication_policy_class=NAMES)
    topic, now = ends.create("orders", 2), int(time.time() * 1000) - 60_000
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    write(here, topic, [("ada", now), ("ada", now + 9000), ("bob", now), ("eve", now), (None, now)])
    with engine_running(ends.link, tmp_path):
        ends.await_copied()  # all of these are on the target now: copies, which are nobody's conflict
    write(there, topic, [("ada", now + 1500), ("bob", now + 30_000), ("sue", now), ("old", now - 7_200_000)])
    wish = ConflictWish(Wanted("--topics", topic), 5000, now - 3_600_000, show_keys=True)
    report = ConflictSearch(ends.link, wish).run(session, 2)
    assert report.troubles == []
    (found,) = report.topics
    assert (found.records, found.without_key) == ({ends.alias: 4, "T": 3}, 1)
    assert (found.keys, found.both_sides, found.conflicting, found.conflicts) == (4, 2, 1, 1)
    (ada,) = report.keys
    assert (ada.key, ada.gap_ms, ada.earlier.side, ada.later.side) == ("ada", 1500, ends.alias, "T")
    assert report.not_sticky == 0.5
    wide = ConflictSearch(ends.link, ConflictWish(wish.wanted, 8000, wish.since_ms)).run(session, 2)
    assert (wide.conflicts, wide.keys[0].conflicts) == (2, 2), "ada again, 7.5 s later on the first side"
    assert "ada" not in str(wide.as_json()), "keys are shown only to who asks for them"
    with pytest.raises(SelectionEmpty):
        ConflictSearch(ends.link, ConflictWish(Wanted("--topics", "nope"))).run(session, 2)
