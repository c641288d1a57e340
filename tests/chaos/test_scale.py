"""A thousand topics in one link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.waiting import wait_until

from twinlog.kafka.admin import TopicOrder

MakeEnds = Callable[..., Ends]

TOPICS, PARTITIONS = 1_000, 2
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1_200)]


@pytest.mark.proves("R1", "R2")
def test_a_thousand_topics_are_copied_and_a_record_into_each_still_arrives_after_a_kill(
    make_ends: MakeEnds, tmp_path: Path
) -> None:
    ends = make_ends(tasks_max="2", ledger_shards="16", refresh_topics_interval_seconds="5")
    names = [ends.name(f"topic-{number}") for number in range(TOPICS)]
    orders = [TopicOrder(name, PARTITIONS, 1, {}) for name in names]
    assert set(ends.source.create_topics(orders).values()) == {None}
    produce_round(ends, names, 0)
    with twinlog_run(ends, tmp_path) as engine:
        await_round(ends, 1)
        engine.kill()
    with twinlog_run(ends, tmp_path) as engine:
        produce_round(ends, names, 1)
        await_round(ends, 2)
        assert engine.stop() == 0
    verdict = ends.check(*names[:: TOPICS // 20])
    assert verdict.target_records == 20 * PARTITIONS * 2


def produce_round(ends: Ends, names: list[str], round_: int) -> None:
    """One record into every partition."""
    producer = Producer({"bootstrap.servers": ends.source_cluster.bootstrap_servers, "linger.ms": 50})
    for name in names:
        for partition in range(PARTITIONS):
            producer.produce(name, key=b"k", value=b"%d" % round_, partition=partition)
        producer.poll(0)
    assert producer.flush(120) == 0


def await_round(ends: Ends, rounds: int) -> None:
    """Wait until every partition has so many records."""
    wait_until(
        lambda: sum(part.records for part in ends.status().partitions),
        lambda copied: copied == TOPICS * PARTITIONS * rounds,
        within_s=300,
        what=f"{TOPICS * PARTITIONS * rounds} copies",
    )
