"""The client library's rules, without a cluster; and that an application does not pay for Spark."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.client import MirrorClient
from twinlog.client.checkpoints import TranslatedOffset, group_positions
from twinlog.client.timestamps import newest_timestamps
from twinlog.config.client_properties import ClusterProperties
from twinlog.config.text.precedence import Client
from twinlog.errors import RecordsUnreadable, SettingsInvalid
from twinlog.kafka.clients import LogRecord
from twinlog.model.groups.consumer_timestamps import TIMESTAMPS_TOPIC, ConsumerTimestamp, NotATimestamp, ReadTimes
from twinlog.model.mirrormaker.records import Checkpoint
from twinlog.model.names import TopicPartition
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.hops import replication_hops, upstream_clusters
from twinlog.model.selection import Selection, replicates

DEFAULT = ReplicationNaming("default", source_alias="A")


def test_importing_the_client_imports_neither_spark_nor_arrow():
    code = "import sys, twinlog.client; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "twinlog" in loaded
    assert not {"pyspark", "pyarrow", "py4j", "typer"} & set(eval(loaded))  # noqa: S307


# --- who is upstream --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topics", "clusters", "hops"),
    [
        ([], set(), {"A": None}),
        (["heartbeats", "A.orders"], set(), {"A": None}),
        (["A.heartbeats"], {"A"}, {"A": 1, "B": None}),
        (["A.B.heartbeats", "C.heartbeats"], {"A", "B", "C"}, {"A": 1, "B": 2, "C": 1}),
        (["A.B.heartbeats", "B.heartbeats"], {"A", "B"}, {"B": 1}),
        (["A.B.A.heartbeats"], {"A", "B"}, {"A": 1, "B": 2}),
    ],
)
def test_heartbeats_tell_who_is_upstream_and_how_far(topics, clusters, hops):
    assert upstream_clusters(topics, DEFAULT) == clusters
    assert {alias: replication_hops(topics, alias, DEFAULT) for alias in hops} == hops


# --- checkpoints ------------------------------------------------------------------------------------------------------


def record(key, value, offset=0, headers=(), *, timestamp=0, partition=0):
    return LogRecord(partition, offset, timestamp, key, value, tuple(headers))


def written(*checkpoints):
    return [record(c.key(), c.value(), offset) for offset, c in enumerate(checkpoints)]


def everybody(_):
    return True


def test_the_newest_checkpoint_of_a_partition_counts():
    records = written(
        Checkpoint("g", "A.t", 0, 10, 8), Checkpoint("h", "A.t", 0, 3, 2), Checkpoint("g", "A.t", 0, 20, 17, "note")
    )
    assert group_positions(records, "T", "c", everybody) == {
        "g": {TopicPartition("A.t", 0): TranslatedOffset(17, 20, "note")},
        "h": {TopicPartition("A.t", 0): TranslatedOffset(2, 3)},
    }
    assert group_positions(records, "T", "c", lambda name: name == "x") == {}


def test_a_foreign_record_is_named_and_no_part_of_an_answer_is_given():
    records = [*written(Checkpoint("g", "A.t", 0, 10, 8)), record(b"foreign", b"bytes", 7)]
    with pytest.raises(RecordsUnreadable, match=r"c offset 7"):
        group_positions(records, "T", "c", everybody)


def test_a_foreign_record_that_was_replaced_is_no_trouble():
    good = Checkpoint("g", "A.t", 0, 10, 8)
    records = [record(good.key(), b"?", 0), record(good.key(), good.value(), 1)]
    assert "g" in group_positions(records, "T", "c", everybody)


def test_a_withdrawn_checkpoint_is_none():
    good = Checkpoint("g", "A.t", 0, 10, 8)
    assert group_positions([*written(good), record(good.key(), None, 1)], "T", "c", everybody) == {}


# --- properties of an application -------------------------------------------------------------------------------------


def test_java_s_words_and_those_of_librdkafka_mean_the_same():
    java = {
        "bootstrap.servers": "a:1, b:2",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": 'x.ScramLoginModule required username="me" password="a\\"b";',
    }
    rdkafka = {
        "bootstrap.servers": "a:1, b:2",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": 'a"b',
    }
    one, other = (ClusterProperties(words, "west").client(Client.ADMIN) for words in (java, rdkafka))
    assert one == other
    assert one.bootstrap_servers == ("a:1", "b:2")
    assert one.security.password is not None
    assert one.security.password.reveal() == 'a"b'


def test_a_client_s_own_word_wins_and_the_rest_of_an_application_s_settings_is_passed_over():
    words = ClusterProperties(
        {
            "bootstrap.servers": "a:1",
            "request.timeout.ms": 1000,
            "consumer.request.timeout.ms": 2000,
            "group.id": "billing",
            "enable.auto.commit": False,
            "replication.policy.separator": "_",
        },
        "west",
    )
    assert words.client(Client.ADMIN).request_timeout_ms == 1000
    assert words.client(Client.CONSUMER).request_timeout_ms == 2000
    assert words.naming().separator == "_"


def test_renamed_copies_are_known_by_the_format_that_named_them():
    words = {"bootstrap.servers": "a:1", "topic.rename.format": "dc_${topic}.copy"}
    assert ClusterProperties(words, "west").naming().remote("east", "orders") == "dc_orders.copy"
    assert MirrorClient(words)._original("dc_orders.copy") == "orders"


def test_what_is_wrong_with_properties_is_named_without_secrets():
    with pytest.raises(SettingsInvalid, match=r"bootstrap\.servers: missing"):
        ClusterProperties({}, "west").client(Client.ADMIN)
    words = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.jaas.config": "hush"}
    with pytest.raises(SettingsInvalid) as wrong:
        ClusterProperties(words, "west").client(Client.ADMIN)
    assert "sasl.mechanism" in str(wrong.value)
    assert "hush" not in str(wrong.value)
    with pytest.raises(SettingsInvalid, match=r"ssl\.ca\.location"):
        ClusterProperties({"bootstrap.servers": "a:1", "ssl.ca.location": "/nowhere/ca.pem"}, "west")


# --- consumer timestamps ----------------------------------------------------------------------------------------------

NAMES = st.text(max_size=30)
I64 = st.integers(0, 2**62)


def test_the_bytes_of_a_consumer_timestamp():
    stamp = ConsumerTimestamp("g1", "t", 3, 1_700_000_000_000, 42, 2)
    assert stamp.key().hex() == "0002673100017400000003"
    assert stamp.value().hex() == "0000018bcfe56800"
    assert dict(stamp.headers()) == {"twinlog.offset": (42).to_bytes(8), "twinlog.equal": (2).to_bytes(8)}


@given(st.builds(ConsumerTimestamp, NAMES, NAMES, st.integers(0, 2**31 - 1), I64, st.none() | I64, st.none() | I64))
def test_every_consumer_timestamp_is_read_as_it_was_written(stamp):
    assert ConsumerTimestamp.read(stamp.key(), stamp.value(), stamp.headers()) == stamp


@given(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=12))
def test_foreign_bytes_are_no_consumer_timestamp(key, value):
    try:
        stamp = ConsumerTimestamp.read(key, value)
    except NotATimestamp:
        return
    # Replicator's records may carry more behind; what is taken for one says what the bytes say.
    assert (key or b"").startswith(stamp.key())
    assert (value or b"").startswith(stamp.value())


def test_the_later_word_of_a_group_counts_whichever_partition_it_lies_in():
    old, new = ConsumerTimestamp("g", "t", 0, 100, 5), ConsumerTimestamp("g", "t", 0, 200, 9)
    records = [
        record(new.key(), new.value(), 3, new.headers(), timestamp=20, partition=1),
        record(old.key(), old.value(), 8, old.headers(), timestamp=10, partition=4),
    ]
    assert newest_timestamps(records, "g", "A") == {TopicPartition("t", 0): new}
    assert newest_timestamps(records, "h", "A") == {}


@pytest.mark.parametrize("policy", ["default", "identity"])
def test_consumer_timestamps_are_never_mirrored(policy):
    naming = ReplicationNaming(policy, source_alias="A")
    assert not replicates(TIMESTAMPS_TOPIC, "A", "B", Selection((".*",)), naming)


@pytest.mark.proves("R5")
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=40),
    st.integers(0, 80),
)
def test_the_remembered_time_is_that_of_the_last_record_before_the_commit(steps, committed):
    """So the first record of that time or later in a copy lies at that record or before it, whatever the order."""
    times, log, offset = ReadTimes(), [], 0
    for distance, timestamp in steps:
        times.saw(offset, timestamp)
        log.append((offset, timestamp))
        offset += distance
    read = [entry for entry in log if entry[0] < committed]
    found = times.committed(committed)
    assert (found is None) == (not read)
    if found is None:
        return
    assert found[0] == read[-1][1]
    place = next(index for index, (_, timestamp) in enumerate(log) if timestamp >= found[0])
    assert place <= len(read) - 1
    in_order = all(a[1] <= b[1] for a, b in itertools.pairwise(log))
    if in_order:
        assert len(read) - place == found[1]  # what is read again is what was counted
    assert times.committed(committed) == found  # the same position may be committed again


def test_a_consumer_that_goes_back_begins_anew():
    times = ReadTimes()
    for offset in (5, 6, 7):
        times.saw(offset, offset)
    times.saw(2, 2)
    assert times.committed(3) == (2, 1)
    assert times.committed(2) is None
