"""How long an ordinary client waits for a cluster that is away, and for a leader that is on its way. No broker."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any, cast

import pytest

from twinlog.config.settings import ClientSettings
from twinlog.errors import BrokerRefused, ClusterUnreachable, LeaderMissing, TopicUnknown
from twinlog.kafka import admin as module
from twinlog.kafka.admin import ClusterAdmin
from twinlog.kafka.spans import read_topic
from twinlog.model.names import TopicPartition
from twinlog.model.topics.target_topics import TopicFacts

_NOBODY = ClientSettings(cluster="east", bootstrap_servers=("127.0.0.1:1",))


@pytest.mark.proves("R14")
def test_a_cluster_that_is_away_is_told_long_before_the_request_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AWAY_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    # The suite ends a test that waits this long.
    settings = ClientSettings(cluster="east", bootstrap_servers=(address,), request_timeout_ms=3_000_000)
    admin = ClusterAdmin(settings)
    for _ in range(2):  # the client says only once that all brokers are away
        with pytest.raises(ClusterUnreachable) as caught:
            admin.describe_topics(["orders"])
        assert str(caught.value) == f"east: no broker answers: {address}: connection refused"


class _PaperAdmin:
    """Answers as a cluster does whose partition has no leader for the first questions."""

    def __init__(self, *refusals: BrokerRefused, exists: bool = True) -> None:
        self._refusals = list(refusals)
        self._exists = exists

    def describe_topics(self, names: list[str]) -> dict[str, Any]:
        return {
            name: TopicFacts(name, "id", 1, 1, False) if self._exists else TopicUnknown("east", name) for name in names
        }

    def fetch_start_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Any]:
        return {one: self._refusals.pop(0) if self._refusals else 0 for one in partitions}

    def fetch_end_offsets(self, partitions: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, Any]:
        assert not committed
        return dict.fromkeys(partitions, 0)


def _read(admin: _PaperAdmin, within_s: float = 60.0) -> Any:
    return read_topic(cast("ClusterAdmin", admin), _NOBODY, "new", within_s=within_s)


@pytest.mark.parametrize("refusal", [LeaderMissing("east", "new-0"), TopicUnknown("east", "new-0")])
def test_a_topic_that_was_just_created_is_waited_for(refusal: BrokerRefused) -> None:
    assert _read(_PaperAdmin(refusal, refusal)) == {TopicPartition("new", 0): []}


def test_waiting_for_a_leader_ends_with_the_time_that_was_given() -> None:
    with pytest.raises(LeaderMissing):
        _read(_PaperAdmin(*[LeaderMissing("east", "new-0")] * 100), within_s=0.0)


def test_what_waiting_cannot_mend_is_told_at_once() -> None:
    with pytest.raises(TopicUnknown):
        _read(_PaperAdmin(exists=False))
    with pytest.raises(BrokerRefused, match="odd"):
        _read(_PaperAdmin(BrokerRefused("east", "odd")))


@pytest.mark.proves("R9")
def test_a_leader_that_just_changed_is_asked_again_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[TopicPartition]] = []
    moved, still = TopicPartition("t", 0), TopicPartition("t", 1)

    def answers(_: ClusterAdmin, partitions: list[TopicPartition], *__: Any, **___: Any) -> dict[TopicPartition, Any]:
        asked.append(list(partitions))
        fenced = LeaderMissing("east", "Leader epoch is older than broker epoch")
        return {where: fenced if where == moved and len(asked) == 1 else 7 for where in partitions}

    monkeypatch.setattr(ClusterAdmin, "_offsets_now", answers)
    admin = ClusterAdmin(_NOBODY)
    assert admin.fetch_end_offsets([moved, still]) == {moved: 7, still: 7}
    assert asked == [[moved, still], [moved]]


@pytest.mark.proves("R8", "R9")
def test_a_partition_that_stays_without_leader_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ELECTION_S", 0.2)
    gone, there = TopicPartition("t", 0), TopicPartition("t", 1)

    def answers(_: ClusterAdmin, partitions: list[TopicPartition], *__: Any, **___: Any) -> dict[TopicPartition, Any]:
        return {where: LeaderMissing("east", "no leader") if where == gone else 7 for where in partitions}

    monkeypatch.setattr(ClusterAdmin, "_offsets_now", answers)
    found = ClusterAdmin(_NOBODY).fetch_end_offsets([gone, there])
    assert found[there] == 7
    assert isinstance(found[gone], LeaderMissing)
