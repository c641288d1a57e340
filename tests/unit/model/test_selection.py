import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.model.javaregex import RegexError
from twinlog.model.names import LinkName, TopicPartition
from twinlog.model.naming import ReplicationNaming
from twinlog.model.selection import (
    Cycle,
    Excluded,
    Heartbeats,
    Included,
    Internal,
    NotIncluded,
    Patterns,
    Selection,
    replicates,
    verdict,
)

EVERYTHING = Selection((".*",), (r"mm2.*\.internal", r".*\.replica", "__.*"))
SIMPLE_PATTERNS = st.lists(st.from_regex(r"[ab]{1,3}(\.\*)?", fullmatch=True), max_size=4).map(tuple)


def test_exclude_wins_and_the_deciding_pattern_is_named():
    selection = Selection(("orders.*", "pay.*"), (".*-old",))
    assert selection.why("orders-1") == Included("orders.*")
    assert selection.why("payments") == Included("pay.*")
    assert selection.why("orders-old") == Excluded(".*-old")
    assert selection.why("other") == NotIncluded()
    assert "orders.*" in str(selection.why("orders-1"))


def test_patterns_match_the_whole_name():
    assert not Selection(("orders",)).matches("orders-eu")
    assert not Selection(("orders",)).matches("my-orders")


def test_an_empty_list_matches_nothing():
    assert not Selection(()).matches("orders")
    assert Selection((".*",), ()).matches("orders")


def test_a_group_cut_by_its_comma_still_works_because_the_list_is_joined():
    halves = Patterns(("(orders", "payments)-eu"))
    assert halves.matches("payments-eu")
    assert not halves.matches("payments")
    assert halves.deciding("orders-eu") == "(orders|payments)-eu"


def test_a_list_that_does_not_compile_is_refused():
    with pytest.raises(RegexError):
        Patterns(("a{2", "3}")).check()


@given(SIMPLE_PATTERNS, SIMPLE_PATTERNS, st.text(alphabet="ab", min_size=1, max_size=4))
def test_selection_is_any_include_and_no_exclude(include, exclude, name):
    expected = any(re.fullmatch(p, name) for p in include) and not any(re.fullmatch(p, name) for p in exclude)
    selection = Selection(include, exclude)
    assert selection.matches(name) is expected
    assert isinstance(selection.why(name), Included) is expected


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("orders", Included(".*")),
        ("C.orders", Included(".*")),
        ("A.orders", Cycle()),
        ("B.orders", Cycle()),
        ("C.B.orders", Cycle()),
        ("orders.replica", Excluded(r".*\.replica")),
        ("__consumer_offsets", Internal("Kafka")),
        ("mm2-offsets.B.internal", Internal("MirrorMaker 2")),
        ("C.checkpoints.internal", Internal("MirrorMaker 2")),
        ("__twinlog-ledger.B", Internal("Twinlog")),
    ],
)
def test_the_verdict_names_the_rule_that_decides(topic, expected):
    naming = ReplicationNaming(source_alias="A")
    assert verdict(topic, "A", "B", EVERYTHING, naming) == expected
    assert replicates(topic, "A", "B", EVERYTHING, naming) is isinstance(expected, Included)


def test_heartbeats_travel_past_the_patterns_unless_switched_off():
    naming = ReplicationNaming(source_alias="A")
    assert verdict("heartbeats", "A", "B", Selection(("orders",)), naming) == Heartbeats()
    assert replicates("C.heartbeats", "A", "B", Selection(("orders",)), naming)
    assert not replicates("B.heartbeats", "A", "B", Selection(("orders",)), naming)
    assert not replicates("heartbeats", "A", "B", Selection(("orders",), heartbeats=False), naming)


@given(st.sampled_from(["default", "identity"]), st.text(alphabet="abc.", min_size=1, max_size=8))
def test_no_pattern_can_select_a_ledger(policy, middle):
    naming = ReplicationNaming(policy, source_alias="A")
    topic = f"__twinlog-ledger.{middle}"
    assert not replicates(topic, "A", "B", Selection((".*", re.escape(topic))), naming)


def test_selections_and_names_survive_pickling():
    selection = pickle.loads(pickle.dumps(EVERYTHING))  # noqa: S301 (our own bytes)
    assert selection == EVERYTHING
    assert selection.matches("orders")


def test_names_read_back_what_they_write():
    assert TopicPartition.parse(str(TopicPartition("orders-eu", 3))) == TopicPartition("orders-eu", 3)
    assert LinkName.parse("A->B") == LinkName("A", "B")
    assert str(LinkName("A", "B")) == "A->B"
    for wrong in ("orders", "orders-x", "-3"):
        with pytest.raises(ValueError, match="topic-partition"):
            TopicPartition.parse(wrong)
    for wrong in ("A", "A->", "->B"):
        with pytest.raises(ValueError, match="link name"):
            LinkName.parse(wrong)
