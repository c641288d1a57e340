"""Which topics are mirrored: the rules when something changed on either side behind our back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from twinlog.errors import TakeOverRefused
from twinlog.model.ledger.records import PartitionState, RosterTopic
from twinlog.model.ledger.roster import RosterChanges, may_create, roster_changes, wanted_origins
from twinlog.model.names import TopicPartition
from twinlog.model.topics.findings import CreateRefused, TargetOverwritesTimes
from twinlog.model.topics.target_topics import MirroredTopic

REFUSED = {"orders": TakeOverRefused("orders", 1, 9, "the records differ")}
ORIGINS = {TopicPartition("orders", number): 1_000 + number for number in range(6)}
OBSERVED = MirroredTopic("orders", "source-1", 3, "east.orders", "target-1", 3, "CreateTime", 2_000)
KNOWN = RosterTopic(
    topic="orders",
    source_id="source-1",
    remote="east.orders",
    target_id="target-1",
    origins=[10, 11, 12],
    max_message_bytes=2_000,
)
REACHED = PartitionState(
    topic="orders",
    partition=0,
    incarnation=KNOWN.incarnation,
    phase="copying",
    source_first=10,
    target_first=0,
    source_next=77,
    target_next=67,
    producer_id=1,
)


def changes(
    observed: MirroredTopic | None,
    known: RosterTopic | None = KNOWN,
    origins: dict[TopicPartition, int] | None = None,
    selected: Callable[[str], bool] = lambda _: True,
) -> RosterChanges:
    return roster_changes(
        {observed.name: observed} if observed else {},
        {known.topic: known} if known else {},
        ORIGINS if origins is None else origins,
        {TopicPartition("orders", 0): REACHED},
        selected,
    )


def only(found: RosterChanges) -> RosterTopic:
    assert found.removed == []
    (entry,) = found.entries
    return entry


def problem_of(found: RosterChanges) -> tuple[str, dict[str, object]]:
    entry = only(found)
    assert entry.problem is not None
    return entry.problem.code, entry.problem.facts


def test_nothing_new_writes_nothing() -> None:
    assert changes(OBSERVED) == RosterChanges()
    assert wanted_origins([OBSERVED], {"orders": KNOWN}) == []


def test_a_new_topic_begins_where_the_source_says() -> None:
    assert wanted_origins([OBSERVED], {}) == [TopicPartition("orders", number) for number in range(3)]
    entry = only(changes(OBSERVED, None))
    assert entry == KNOWN.model_copy(update={"origins": [1_000, 1_001, 1_002]})


def test_a_new_topic_waits_for_its_target_and_for_every_origin() -> None:
    coming = replace(OBSERVED, remote_topic_id=None, remote_partitions=0)
    assert changes(coming, None) == RosterChanges()
    some = {partition: offset for partition, offset in ORIGINS.items() if partition.partition != 1}
    assert changes(OBSERVED, None, some) == RosterChanges()


@pytest.mark.proves("R7")
def test_a_recreated_source_stops_the_topic() -> None:
    again = replace(OBSERVED, topic_id="source-2")
    code, facts = problem_of(changes(again))
    assert code == "SOURCE_TOPIC_RECREATED"
    assert (facts["old_id"], facts["new_id"]) == ("source-1", "source-2")
    assert only(changes(again)).incarnation == KNOWN.incarnation
    stopped = only(changes(again))
    assert changes(again, stopped) == RosterChanges()  # said once


@pytest.mark.proves("R7")
def test_a_deleted_target_stops_the_topic_and_is_not_created_again() -> None:
    code, facts = problem_of(changes(replace(OBSERVED, remote_topic_id=None, remote_partitions=0)))
    assert (code, facts["copied_to"]) == ("TARGET_TOPIC_MISSING", 77)
    assert not may_create({"orders": KNOWN}, "orders", "source-1")
    recreated = replace(OBSERVED, remote_topic_id="target-2")
    assert problem_of(changes(recreated))[0] == "TARGET_TOPIC_MISSING"


def test_both_new_begins_anew() -> None:
    assert may_create({"orders": KNOWN}, "orders", "source-2")
    both = replace(OBSERVED, topic_id="source-2", remote_topic_id="target-2")
    assert len(wanted_origins([both], {"orders": KNOWN})) == 3
    entry = only(changes(both))
    assert (entry.source_id, entry.target_id, entry.problem) == ("source-2", "target-2", None)
    assert entry.origins == [1_000, 1_001, 1_002]
    assert entry.incarnation != KNOWN.incarnation


@pytest.mark.proves("R1")
def test_a_grown_topic_keeps_its_old_origins() -> None:
    grown = replace(OBSERVED, partitions=5, remote_partitions=5)
    assert wanted_origins([grown], {"orders": KNOWN}) == [TopicPartition("orders", 3), TopicPartition("orders", 4)]
    assert only(changes(grown)).origins == [10, 11, 12, 1_003, 1_004]


def test_a_grown_topic_waits_for_its_target() -> None:
    ahead = replace(OBSERVED, partitions=5, remote_partitions=4)
    assert only(changes(ahead)).origins == [10, 11, 12, 1_003]


@pytest.mark.proves("R1")
def test_no_partition_gets_the_origin_of_another() -> None:
    """Partition 3 has no leader just now: partition 4 must wait for it, not take its place."""
    grown = replace(OBSERVED, partitions=5, remote_partitions=5)
    some = {partition: offset for partition, offset in ORIGINS.items() if partition.partition != 3}
    assert changes(grown, origins=some) == RosterChanges()


def test_another_limit_on_the_target_is_noted() -> None:
    assert only(changes(replace(OBSERVED, remote_max_message_bytes=9_000))).max_message_bytes == 9_000
    assert changes(replace(OBSERVED, remote_max_message_bytes=None)) == RosterChanges()


def test_a_deselected_topic_is_removed() -> None:
    found = changes(None, selected=lambda _: False)
    assert (found.entries, found.removed) == ([], ["orders"])


@pytest.mark.proves("R7")
def test_a_deleted_source_is_named_once_and_keeps_its_history() -> None:
    code, facts = problem_of(changes(None))
    assert (code, facts["copied_to"]) == ("SOURCE_TOPIC_MISSING", 77)
    gone = only(changes(None))
    assert gone.origins == KNOWN.origins
    assert changes(None, gone) == RosterChanges()


def test_a_problem_ends_when_its_cause_does() -> None:
    overwriting = replace(OBSERVED, findings=(TargetOverwritesTimes("orders", "east.orders"),))
    assert problem_of(changes(overwriting))[0] == "TARGET_KEEPS_NO_TIMES"
    stopped = only(changes(overwriting))
    assert only(changes(OBSERVED, stopped)).problem is None


@pytest.mark.proves("R14")
def test_a_refused_target_stays_refused_until_it_is_there() -> None:
    refused = replace(
        OBSERVED,
        remote_topic_id=None,
        remote_partitions=0,
        findings=(CreateRefused("orders", "east.orders", "no right to create"),),
    )
    entry = only(changes(refused, None))
    assert problem_of(changes(refused, None))[0] == "TARGET_TOPIC_REFUSED"
    assert changes(refused, entry) == RosterChanges()
    assert may_create({"orders": entry}, "orders", "source-1")
    another = only(changes(replace(refused, topic_id="source-2"), entry))  # nothing was mirrored of the first one
    assert (another.source_id, another.problem) == ("source-2", entry.problem)
    created = only(changes(OBSERVED, entry))
    assert (created.target_id, created.problem, created.origins) == ("target-1", None, [1_000, 1_001, 1_002])


@pytest.mark.proves("R14")
def test_a_source_that_cannot_be_seen_is_not_taken_for_deleted() -> None:
    found = roster_changes({}, {"orders": KNOWN}, {}, {}, lambda _: True, unseen={"orders": "access denied"})
    assert found == RosterChanges()


def test_a_topic_that_is_gone_on_both_ends_is_forgotten() -> None:
    gone = only(changes(None))
    found = roster_changes({}, {"orders": gone}, {}, {}, lambda _: True, vanished={"orders"})
    assert (found.entries, found.removed) == ([], ["orders"])


def test_the_configs_of_a_new_target_topic_are_remembered_as_ours() -> None:
    made = replace(OBSERVED, created_with={"retention.ms": "5"})
    entry = only(changes(made, None))
    assert entry.created_with == {"retention.ms": "5"}
    assert changes(OBSERVED, entry) == RosterChanges()  # a later engine does not know it any more, the ledger does


@pytest.mark.proves("R7", "R8")
def test_a_refused_topic_is_listed_with_its_problem_and_asked_about_again():
    found = roster_changes({"orders": OBSERVED}, {}, ORIGINS, {}, lambda _: True, refused=REFUSED)
    entry = only(found)
    assert entry.problem is not None
    assert entry.problem.code == "TAKE_OVER_REFUSED"
    assert entry.partitions == 0
    assert len(wanted_origins([OBSERVED], {"orders": entry})) == 3
    again = roster_changes({"orders": OBSERVED}, {"orders": entry}, ORIGINS, {}, lambda _: True, refused=REFUSED)
    assert again == RosterChanges()
    settled = only(roster_changes({"orders": OBSERVED}, {"orders": entry}, ORIGINS, {}, lambda _: True))
    assert settled.problem is None
    assert settled.origins == [1_000, 1_001, 1_002]


def test_a_topic_that_is_mirrored_already_cannot_be_refused():
    found = roster_changes({"orders": OBSERVED}, {"orders": KNOWN}, ORIGINS, {}, lambda _: True, refused=REFUSED)
    assert found == RosterChanges()
