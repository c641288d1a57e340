"""An unplanned cut between two topics of one application: torn transactions are named, positions follow the cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from tests.kit.ends import Ends
from tests.kit.switches import IDENTITY, do_switch, log_numbers, numbers_of, produce, service_running, switching
from tests.kit.waiting import wait_until

from twinlog.ledger.reading import look_at_ledger
from twinlog.model.groups.cut_sets import CHORE, remembered_cuts

pytestmark = pytest.mark.chaos

_REFUSED = b"x" * 5000
"""A value that a copy with a small limit does not take."""


def transactional(servers: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name})
    producer.init_transactions(30)
    return producer


@pytest.mark.proves("R7")
def test_a_transaction_that_was_copied_in_half_is_named(make_ends: Callable[..., Ends], tmp_path: Path) -> None:
    ends = make_ends(replication_policy_class=IDENTITY, switch_grace_seconds="0", sync_topic_configs_enabled="false")
    here = ends.source_cluster.bootstrap_servers
    orders, payments = ends.create("orders"), ends.create("payments")
    producer = transactional(here, f"tx-{ends.alias}")

    def transaction(*values: tuple[str, bytes]) -> None:
        producer.begin_transaction()
        for topic, value in values:
            producer.produce(topic, value)
        producer.commit_transaction(30)

    transaction((orders, b"1"), (payments, b"1"))
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        ends.await_copied(orders)
        ends.await_copied(payments)
        ends.target.apply_topic_configs({payments: {"max.message.bytes": "1000"}})
        transaction((orders, b"2"), (orders, b"3"), (payments, _REFUSED))
        ends.await_copied(orders)
        ends.await_fault("RECORD_TOO_LARGE", payments)
    over = do_switch(ends, tmp_path, "failover-unplanned")
    assert over.outcome == "done"
    ends.target.apply_topic_configs({payments: {"max.message.bytes": None}})
    back = do_switch(ends, tmp_path, "failback-delta")
    (torn,) = back.tail["torn"]
    assert not torn["certain"]  # this client keeps one epoch for all of its transactions
    assert torn["copied"] == {f"{orders}-0": 2}
    assert torn["lost"] == {f"{payments}-0": 1}
    (sentence,) = [finding for step in back.steps for finding in step["findings"] if "torn" in finding]
    assert f"copied {orders}-0 (2 records); not copied {payments}-0 (1 records)" in sentence


@pytest.mark.proves("R5")
def test_groups_of_a_cut_set_start_where_all_topics_were_covered(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    ends = make_ends(
        replication_policy_class=IDENTITY,
        switch_grace_seconds="0",
        sync_topic_configs_enabled="false",
        emit_checkpoints_interval_seconds="1",
        sync_group_offsets_interval_seconds="1",
        sync_group_offsets_enabled="true",
    )
    here, there = ends.source_cluster.bootstrap_servers, ends.target_cluster.bootstrap_servers
    requests, payments = ends.create("requests"), ends.create("payments")
    ends.set(cut_sets="shop", cut_sets_shop_topics=f"{requests}, {payments}")
    group = f"g{ends.alias}"
    producer = transactional(here, f"tx-{ends.alias}")
    consumer = Consumer({"bootstrap.servers": here, "group.id": group, "enable.auto.commit": False})

    def process(until: int, value: bytes) -> None:
        """Read requests up to an offset, write a payment, commit both in one transaction."""
        producer.begin_transaction()
        producer.produce(payments, value)
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([Place(requests, 0, until)], metadata, 30)
        producer.commit_transaction(30)

    def there_committed() -> int:
        reader = Consumer({"bootstrap.servers": there, "group.id": group})
        try:
            return int(reader.committed([Place(requests, 0)], 10)[0].offset)
        finally:
            reader.close()

    def cut() -> int | None:
        view = asyncio.run(look_at_ledger(ends.link.clients.target_consumer, ends.link.source))
        found = remembered_cuts(view.memos.get(CHORE, {})) if view else {}
        one = found.get("shop", {}).get(group)
        return next((o for p, o in one.positions[group].items() if p.topic == requests), None) if one else None

    produce(here, requests, range(100))
    process(50, b"1")
    with service_running(ends, tmp_path) as engine:
        engine.await_running()
        wait_until(cut, lambda offset: offset == 50, within_s=60, what="a cut that covers both topics")
        ends.target.apply_topic_configs({payments: {"max.message.bytes": "1000"}})
        process(100, _REFUSED)
        ends.await_fault("RECORD_TOO_LARGE", payments)
        wait_until(there_committed, lambda offset: offset == 100, within_s=60, what="the last checkpoint")
        assert cut() == 50
    _, plan = asyncio.run(switching(ends, tmp_path).plan("failover-unplanned"))
    assert any(f"cut set shop: group {group}" in one and "up to 50 offsets" in one for one in plan.at_risk.sentences)
    over = do_switch(ends, tmp_path, "failover-unplanned")
    (said,) = [finding for step in over.steps for finding in step["findings"] if "cut set shop" in finding]
    assert "it reads 50 offsets again" in said
    assert numbers_of(there, group, requests) == list(range(50, 100))
    assert len(log_numbers(there, requests)) == 100
    consumer.close()
