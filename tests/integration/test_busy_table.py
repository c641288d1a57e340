"""A compacted topic is read while others write it in transactions: nothing that was committed before is missed."""

from __future__ import annotations

import time

from confluent_kafka import Producer
from tests.kit.jdbc_copies import in_background
from tests.kit.waiting import wait_until

from twinlog.config.settings import ClientSettings
from twinlog.kafka.admin import ClusterAdmin, TopicOrder
from twinlog.kafka.compacted_table import read_table
from twinlog.kafka.transactions import ExclusiveProducer
from twinlog.local.cluster import LocalCluster
from twinlog.model.names import TopicPartition


def test_a_table_that_another_one_writes_all_the_time_is_read_at_once(source_cluster: LocalCluster) -> None:
    store = ClientSettings(cluster="store", bootstrap_servers=(source_cluster.bootstrap_servers,))
    ClusterAdmin(store).create_topics([TopicOrder("busy-table", 1, 1, {"cleanup.policy": "compact"})])
    busy, calm = (ExclusiveProducer(store, name, TopicPartition("busy-table", 0)) for name in ("busy-w", "calm-w"))

    def write(number: int) -> None:
        busy.write([(b"busy", b"%d" % number)])

    with in_background(write, 0.0) as written:
        wait_until(written, lambda count: count > 20, within_s=60, what="a busy writer")
        calm.write([(b"calm", b"1")])
        began = time.monotonic()
        assert read_table(store, "busy-table", 1)[b"calm"] == b"1"
        assert time.monotonic() - began < 20, "it waited for an end that never comes"


def test_an_open_transaction_of_another_one_hides_no_position(source_cluster: LocalCluster) -> None:
    store = ClientSettings(cluster="store", bootstrap_servers=(source_cluster.bootstrap_servers,))
    ClusterAdmin(store).create_topics([TopicOrder("held-table", 1, 1, {"cleanup.policy": "compact"})])
    other = Producer({"bootstrap.servers": source_cluster.bootstrap_servers, "transactional.id": "held-w"})
    other.init_transactions(60)
    other.begin_transaction()
    other.produce("held-table", key=b"other", value=b"1")
    other.flush(60)
    ExclusiveProducer(store, "ours-w", TopicPartition("held-table", 0)).write([(b"ours", b"1")])
    with in_background(lambda _: other.commit_transaction(60), 2.0):
        assert read_table(store, "held-table", 1)[b"ours"] == b"1"
