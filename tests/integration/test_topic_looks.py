"""What the page shows of a topic and a cluster, asked of real brokers: a record and its copy, configs, disks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.threads import engine_running

from twinlog.errors import PositionUnknown
from twinlog.model.names import TopicPartition
from twinlog.service.questions import record_pair, topic_explanation
from twinlog.watch.clusters import look_at_card


@pytest.mark.proves("R14")
def test_a_record_and_its_copy_are_shown_next_to_each_other(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    topic = ends.create("orders", 1, retention_ms="86400000")
    producer = Producer({"bootstrap.servers": ends.source_cluster.bootstrap_servers})
    for number in range(5):
        value = json.dumps({"number": number}).encode()
        producer.produce(topic, value, b"user-7", partition=0, headers=[("trace", b"abc")])
    assert producer.flush(20) == 0
    with engine_running(ends.link, tmp_path):
        ends.await_copied()
    place = TopicPartition(topic, 0)
    found = asyncio.run(record_pair(ends.link, place, 3))
    assert found.equal is True
    assert found.target is not None
    assert (found.source.value.form, found.source.value.text, found.source.key.text) == (
        "JSON", '{\n  "number": 3\n}', "user-7",
    )  # fmt: skip
    assert (found.target.topic, found.target.value, found.target.headers) == (
        ends.remote(topic), found.source.value, (("trace", "abc"),),
    )  # fmt: skip
    producer.produce(topic, b"later", partition=0)
    assert producer.flush(20) == 0
    late = asyncio.run(record_pair(ends.link, place, 5))
    assert (late.target, late.equal) == (None, None), "it is not copied yet, and nothing is claimed"
    with pytest.raises(PositionUnknown):
        asyncio.run(record_pair(ends.link, TopicPartition("nope", 0), 0))
    configs = {one.name: one.in_force for one in asyncio.run(topic_explanation(ends.link, topic)).configs}
    assert configs["retention.ms"] == "86400000"
    card = asyncio.run(look_at_card(ends.link.clients.source_admin))
    assert (card.brokers, card.under_replicated, card.unknown, card.trouble) == (
        len(ends.source_cluster.brokers), 0, (), None,
    )  # fmt: skip
    assert card.disk_usable is not None
    assert 0 < card.disk_usable < (card.disk_total or 0)
    assert card.release
