"""The first batch of a copy that the target refuses: nothing behind it may be appended in its place (R3)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.kit.ends import Ends
from tests.kit.logs import read_logs
from tests.kit.threads import engine_running

from twinlog.kafka.admin import TopicOrder
from twinlog.kafka.client_options import client_options

HOUR_MS = 3_600_000
RECORDS = 100
"""In a batch: more than are merged."""


@pytest.mark.proves("R3", "R7", "R9")
def test_a_refused_first_batch_lets_none_of_the_others_pass(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends()
    name = ends.create("orders")
    remote = ends.remote(name)
    order = TopicOrder(remote, 1, 1, {"message.timestamp.before.max.ms": str(HOUR_MS)})
    assert ends.target.create_topics([order]) == {remote: None}
    ends.await_topic(ends.target, remote)
    producer = Producer({**client_options(ends.link.clients.source_admin), "linger.ms": 1000})
    now_ms = int(time.time() * 1000)
    for batch, stamp in enumerate([now_ms - 2 * HOUR_MS, *[now_ms] * 4]):
        for number in range(RECORDS):
            producer.produce(name, b"%d" % (batch * RECORDS + number), timestamp=stamp + number)
        assert producer.flush(30) == 0
    with engine_running(ends.link, tmp_path):
        part = ends.await_fault("TIMESTAMP_REFUSED", name)
        assert (part.source_next, part.records) == (0, 0)
        assert values(ends) == []
        lifted = {remote: {"message.timestamp.before.max.ms": None}}
        assert ends.target.apply_topic_configs(lifted) == {remote: None}
        status = ends.await_copied(name)
        assert not status.faults
    assert values(ends) == [b"%d" % number for number in range(5 * RECORDS)]


def values(ends: Ends) -> list[bytes | None]:
    """What a consumer finds in the copy."""
    return [record.value for record in read_logs(ends.target_logs, ends.remote("orders"), "read_committed")[0]]
