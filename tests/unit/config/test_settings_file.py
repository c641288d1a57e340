import pickle

import pytest
from tests.kit.settings_text import MINIMAL, errors, findings, link, resolved

from twinlog.config.resolve import load_file
from twinlog.config.text.catalogue import CATALOGUE, SUPPORTED
from twinlog.config.text.keys import Key
from twinlog.errors import SettingsInvalid, UsageError
from twinlog.model.selection import Patterns
from twinlog.model.start import AtTime, Earliest, Latest


def test_a_minimal_file_gives_one_link_with_our_defaults():
    it = link()
    assert it.name == "A->B"
    assert it.clients.source_consumer.bootstrap_servers == ("a1:9092", "a2:9092")
    assert (it.clients.source_consumer.cluster, it.clients.target_producer.cluster) == ("A", "B")
    assert it.topics.matches("orders")
    assert not it.topics.matches("orders.replica")
    assert it.naming.remote("A", "orders") == "A.orders"
    assert (it.copies.replication_factor, it.reading.tasks_max, it.copies.refresh_seconds) == (-1, None, 5)
    assert it.reading.fetch.isolation == "read_committed"
    assert (it.writing.merge_target_bytes, it.writing.merge_linger_ms, it.reading.epoch_seconds) == (262144, 3, 600)
    assert (it.writing.ledger_shards, it.writing.max_bytes_in_flight, it.reading.fault_retry_seconds) == (
        32,
        33554432,
        15,
    )
    assert it.copies.start_from == Earliest()
    assert it.reading.on_gap == "fault"
    assert it.configs.exclude.matches("min.insync.replicas")
    assert not it.configs.exclude.matches("retention.ms")
    assert resolved().findings == ()


def test_settings_survive_pickling():
    it = link()
    assert pickle.loads(pickle.dumps(it)) == it  # noqa: S301 (our own bytes)


def test_the_start_is_auto_offset_reset_unless_start_from_says_otherwise():
    assert link("A.consumer.auto.offset.reset = latest").copies.start_from == Latest()
    assert link("A.consumer.auto.offset.reset = latest\nstart.from = earliest").copies.start_from == Earliest()
    both = "start.from = latest\nA->B.start.from = 2026-01-31T08:00:00Z"
    assert link(both).copies.start_from == AtTime(1769846400000)


@pytest.mark.parametrize(
    ("policy", "remote"),
    [
        ("org.apache.kafka.connect.mirror.DefaultReplicationPolicy", "A_t"),
        ("DefaultReplicationPolicy", "A_t"),
        ("IdentityReplicationPolicy", "t"),
        ("io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy", "t"),
        ("com.amazonaws.kafka.samples.CustomMM2ReplicationPolicy", "t"),
    ],
)
def test_replication_policies_are_known_by_their_class(policy, remote):
    naming = link(f"replication.policy.class = {policy}\nreplication.policy.separator = _").naming
    assert naming.remote("A", "t") == remote


def test_topic_lists_follow_java_and_comma_rules():
    it = link("topics = orders.* ,\\\n  pay\\u006dents , \nA->B.topics.exclude = .*[\\-\\.]internal")
    assert it.topics.include == ("orders.*", "payments")
    assert it.topics.exclude == (".*[-.]internal",)


def test_old_names_count_where_the_new_one_is_absent():
    assert link("topics.blacklist = a.*").topics.exclude == ("a.*",)
    assert link("A->B.topics.blacklist = a.*\ntopics.exclude = b.*").topics.exclude == ("b.*",)
    (loses,) = findings("A->B.topics.blacklist = a.*\ntopics.exclude = b.*")
    assert (loses.level, loses.line) == ("warning", 5)
    assert link("config.properties.blacklist = x").configs.exclude == Patterns(("x",))


def test_links_come_in_the_order_of_clusters_and_only_when_enabled():
    text = "clusters=A,B,C\n" + "".join(f"{one}.bootstrap.servers={one}:1\n" for one in "ABC")
    text += "C->A.enabled=true\nA->C.enabled=true\nA->B.enabled=false\nB->C.emit.heartbeats.enabled=true\n"
    assert [it.name for it in resolved(text=text).links] == ["A->C", "C->A"]
    assert [it.name for it in resolved(text=text, clusters=("A",)).links] == ["C->A"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("A->B.on.gap = ignore", "A->B.on.gap: ignore is not valid: allowed is one of fault, skip"),
        ("tasks.max = 0", "tasks.max: 0 is not valid: allowed is a whole number from 1"),
        ("tasks.max = 1_0", "tasks.max: 1_0 is not valid"),
        ("ledger.shards = 257", "from 1 to 256"),
        ("merge.target.bytes = 256KB", "allowed is a whole number"),
        ("replication.factor = 0", "or -1"),
        ("refresh.topics.enabled = yes", "allowed is true or false"),
        ("start.from = yesterday", "ISO-8601"),
        ("A.consumer.isolation.level = x", "one of read_committed, read_uncommitted"),
        ("A.consumer.auto.offset.reset = none", "one of earliest, latest"),
        ("A.security.protocol = TLS", "one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("replication.policy.class = com.acme.Mine", "com.acme.Mine is not valid: allowed is DefaultReplicationPolicy"),
        ("replication.policy.separator = /", "letters, digits"),
        ("topics = ok, a[b", "pattern 2 of 2 (`a[b`) has a character class that is never closed at position 2"),
        ("topics = a{2,3}", "a comma ends a pattern"),
        ("B.producer.bootstrap.servers = b", "allowed is host:port"),
        ("B.producer.bootstrap.servers = b:99999", "allowed is host:port"),
        ("A.admin.request.timeout.ms =", "(empty) is not valid"),
    ],
)
def test_a_wrong_value_is_told_with_line_key_value_and_what_is_allowed(line, told):
    (error,) = errors(line)
    assert error.startswith("links.properties:5: ")
    assert told in error


def test_all_errors_are_told_at_once_and_each_once():
    wrong = "tasks.max = x\non.gap = y\nsecurity.protocol = z\nB->A.enabled = true\n"
    with pytest.raises(SettingsInvalid) as invalid:
        resolved(wrong)
    assert isinstance(invalid.value, UsageError)
    lines = [one.line for one in invalid.value.findings if one.level == "error"]
    assert lines == [5, 6, 7]
    assert str(invalid.value).splitlines()[0] == "links.properties: 3 settings are wrong"
    assert len(str(invalid.value).splitlines()) == 4
    assert pickle.loads(pickle.dumps(invalid.value)).findings == invalid.value.findings  # noqa: S301 (our own bytes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "clusters: must list"),
        ("clusters = A", "clusters: must list"),
        ("clusters=A,B\n", "no link is enabled; enable one with `A->B.enabled = true`"),
        ("clusters=A,B\nA->B.enabled=true\nA.bootstrap.servers=a:1", "B.bootstrap.servers: missing; A->B needs it"),
        (MINIMAL + "A->B.enabled = yes", "allowed is true or false"),
    ],
)
def test_what_is_missing_is_told(text, told):
    assert any(told in error for error in errors("", text))


def test_asking_for_clusters_that_are_not_there_is_an_error():
    for wanted, told in (("X", "cluster X"), ("A", "no enabled link leads to A; enabled are A->B")):
        with pytest.raises(SettingsInvalid, match=told):
            resolved(clusters=(wanted,))


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        load_file(tmp_path / "none.properties")


@pytest.mark.parametrize(
    ("line", "level", "told"),
    [
        ("A->B.transforms.x.type = y", "info", "has no transforms"),
        ("heartbeats.topic.name = beats", "info", "always called heartbeats"),
        ("A.consumer.client.rack = r1", "info", "from the leader"),
        ("producer.linger.ms = 5", "warning", "by MirrorMaker 2 too: write A.producer.linger.ms"),
        ("consumer.fetch.max.bytes = 5", "warning", "by MirrorMaker 2 too: write A.consumer.fetch.max.bytes"),
        ("fetch.max.bytes = 5", "warning", "MirrorMaker 2 too reads this key only with a prefix: A.consumer."),
        ("offset.flush.interval.ms = 5", "warning", "MirrorMaker 2 too"),
        ("use.defaults.from = source", "warning", "MirrorMaker 2 ignores it and reads only A->B.use.defaults.from"),
        ("errors.tolerance = all", "warning", "the link has no transforms"),
        ("emit.checkpoints.enabled = false", "info", "MirrorMaker 2 refuses this"),
        ("emit.offset-syncs.enabled = false", "info", "checkpoints come from the ledger"),
        ("groups = ", "warning", "selects no group at all"),
        ("groups.blacklist = x", "info", "write groups.exclude"),
        ("enabled = true", "info", "every direction"),
        ("A.topics = x", "warning", "belongs to a link"),
        ("A.fetch.max.bytes = 5", "warning", "write A.consumer.fetch.max.bytes"),
        ("A->B.security.protocol = SSL", "warning", "write A.security.protocol or B.security.protocol"),
        ("A->B.producer.max.request.size = 5", "warning", "write A->B.producer.override.max.request.size"),
        ("A->X.enabled = true", "warning", "names no pair of clusters"),
        (
            "C.bootstrap.servers = c:1",
            "warning",
            "there is no key C.bootstrap.servers, and C is not listed",
        ),
        ("B.offset.flush.interval.ms = 5", "info", "no Connect workers"),
        ("key.converter = x", "info", "has no transforms"),
        ("offset.storage.replication.factor = 1", "info", "no Connect workers"),
        ("B.producer.compression.type = lz4", "info", "compression is never changed"),
        ("A->B.producer.override.acks = 1", "info", "acknowledged by all replicas"),
        ("A.consumer.max.poll.records = 5", "info", "ledger"),
        ("A->B.enable = true", "info", "does nothing"),
        ("dedicated.mode.enable.internal.rest = true", "info", "REST"),
        ("A->B.tsks.max = 3", "warning", "did you mean A->B.tasks.max?"),
        ("on.gpa = skip", "warning", "did you mean on.gap?"),
        ("A.consumer.fetch.max.byte = 3", "warning", "did you mean A.consumer.fetch.max.bytes?"),
        ("B.sasl.mechanisms = PLAIN", "warning", "did you mean B.sasl.mechanism?"),
        ("completely.different = 1", "warning", "unknown and ignored"),
    ],
)
def test_a_key_without_effect_is_told_with_the_reason(line, level, told):
    (finding,) = findings(line)
    assert (finding.level, finding.line, finding.file) == (level, 5, "links.properties")
    assert told in finding.sentence


def test_settings_of_links_that_do_not_run_are_in_order():
    assert findings("B->A.enabled = false\nB->A.topics = x\nB->A.source.consumer.fetch.max.bytes = 7") == []


def test_origins_tell_the_line_that_decided():
    origins = resolved("topics = a.*\nA->B.topics = b.*").origins["A->B"]
    assert origins["topics"] == ("b.*", "A->B.topics", 6)
    assert origins["on.gap"] == ("fault", None, None)
    assert origins["source consumer: bootstrap.servers"] == ("a1:9092, a2:9092", "A.bootstrap.servers", 2)


def test_the_catalogue_is_whole_and_its_defaults_are_valid():
    from twinlog.config.text import catalogue, registry_keys, service_keys, switch_keys, transform_keys

    named = [
        one
        for module in (catalogue, registry_keys, service_keys, switch_keys, transform_keys)
        for one in vars(module).values()
        if isinstance(one, Key)
    ]
    assert set(map(id, named)) == set(map(id, SUPPORTED))
    for key in CATALOGUE:
        assert key.meaning
        if key.default is not None:
            key.kind.read(key.default)
    for scope in {scope for key in CATALOGUE for scope in key.scopes}:
        names = [key.name for key in CATALOGUE if scope in key.scopes]
        assert len(names) == len(set(names)), scope
