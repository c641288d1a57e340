import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.settings_text import errors, findings, link, resolved

from twinlog.model.names import LinkName
from twinlog.model.topics.deletion import DeleteAfter, IgnoreDeletion, ReportDeletion, parse_deletion

THREE = """\
clusters = A, B, C
A.bootstrap.servers = a:9092
B.bootstrap.servers = b:9092
C.bootstrap.servers = c:9092
A->B.enabled = true
"""


def test_what_is_kept_in_step_unless_told_otherwise():
    it = link()
    assert it.groups.matches("payments")
    assert not it.groups.matches("console-consumer-17")
    assert (it.group_offsets.refresh_enabled, it.group_offsets.refresh_seconds) == (True, 5)
    assert (it.checkpoints.enabled, it.checkpoints.seconds, it.checkpoints.replication_factor) == (
        True,
        5,
        -1,
    )
    assert (it.group_offsets.enabled, it.group_offsets.seconds, it.group_offsets.rewinds) == (True, 5, "follow")
    assert (it.heartbeats.enabled, it.heartbeats.seconds, it.heartbeats.replication_factor) == (True, 1, -1)
    assert (it.acls.enabled, it.acls.seconds, it.acls.mode) == (True, 60, "mm2")
    assert (it.configs.enabled, it.configs.seconds, it.configs.conflict) == (True, 30, "report")
    assert (it.configs.use_defaults_from, it.copies.deletion) == ("target", ReportDeletion())
    assert (it.offset_syncs.enabled, it.offset_syncs.location, it.offset_syncs.lag_max) == (True, "source", 100)
    assert it.offset_syncs.replication_factor == -1


def test_each_of_them_can_be_told_otherwise():
    it = link(
        "A->B.groups = pay.*\ngroups.exclude = pay-test\nsync.group.offsets.enabled = FALSE\n"
        "A->B.use.defaults.from = source\nsync.topic.configs.conflict = revert\ntopic.deletion = delete-after 7d\n"
        "sync.topic.acls.mode = full\ngroup.rewinds = hold\noffset-syncs.topic.location = target\n"
        "offset-syncs.topic.replication.factor = 3\nA->B.emit.heartbeats.interval.seconds = 9\noffset.lag.max = 0\n"
    )
    assert [it.groups.matches(name) for name in ("pay-x", "pay-test", "other")] == [True, False, False]
    assert (it.group_offsets.enabled, it.configs.use_defaults_from, it.configs.conflict) == (False, "source", "revert")
    assert (it.copies.deletion, it.acls.mode, it.group_offsets.rewinds) == (DeleteAfter(604_800), "full", "hold")
    assert (it.offset_syncs.location, it.offset_syncs.replication_factor, it.offset_syncs.lag_max) == ("target", 3, 0)
    assert it.heartbeats.seconds == 9
    assert pickle.loads(pickle.dumps(it)) == it  # noqa: S301


@pytest.mark.parametrize("written", ["topic.deletion = delete-after", "topic.deletion = delete-after 7 weeks"])
def test_a_deletion_without_a_clear_delay_is_refused(written):
    (error,) = errors(written)
    assert "allowed is ignore, report, or delete-after with a duration" in error


@given(st.one_of(st.builds(DeleteAfter, st.integers(0, 10**9)), st.sampled_from([IgnoreDeletion(), ReportDeletion()])))
def test_what_a_deletion_prints_is_what_it_reads(deletion):
    assert parse_deletion(str(deletion)) == deletion


def test_offset_syncs_that_are_not_written_have_no_topic():
    told = [one.sentence for one in findings("emit.offset-syncs.enabled=false\noffset-syncs.topic.location=target")]
    assert any("so there are no offset-syncs" in sentence for sentence in told)


def test_the_lesser_clients_follow_their_own_precedence():
    it = link(
        "A->B.producer.client.id = weak\nA.producer.client.id = strong\nB.consumer.client.id = reader\n"
        "A->B.target.consumer.request.timeout.ms = 7000\nA->B.source.producer.request.timeout.ms = 8000\n"
    )
    assert (it.clients.source_producer.cluster, it.clients.source_producer.client_id) == ("A", "strong")
    assert (it.clients.target_consumer.cluster, it.clients.target_consumer.client_id) == ("B", "reader")
    assert (it.clients.source_producer.request_timeout_ms, it.clients.target_consumer.request_timeout_ms) == (
        8000,
        7000,
    )
    assert (it.clients.target_producer.client_id, it.clients.source_consumer.client_id) == (None, None)
    assert link("A->B.producer.client.id = weak").clients.source_producer.client_id == "weak"


def test_every_pair_that_is_no_link_gets_heartbeats():
    pairs = {LinkName(pair.source, pair.target) for pair in resolved(text=THREE).heartbeats}
    every = {LinkName(one, other) for one in "ABC" for other in "ABC" if one != other}
    assert pairs == every - {LinkName("A", "B")}
    only = resolved("C->B.emit.heartbeats.enabled = false", ("B",), THREE).heartbeats
    assert only == ()


def test_a_pair_has_settings_of_its_own():
    (pair,) = resolved("B->A.emit.heartbeats.interval.seconds = 3\nA.producer.client.id = beat").heartbeats
    assert (pair.name, pair.seconds, pair.replication_factor) == ("B->A", 3, -1)
    assert (pair.target_producer.cluster, pair.target_producer.client_id) == ("A", "beat")
    assert resolved("emit.heartbeats.enabled = false").heartbeats == ()


def test_a_cluster_without_addresses_gets_no_heartbeats_and_that_is_told():
    text = THREE.replace("C.bootstrap.servers = c:9092\n", "")
    it = resolved(text=text)
    assert {pair.target for pair in it.heartbeats} == {"A", "B"}
    assert ["C gets no heartbeats" in str(one) for one in it.findings] == [True]
