"""What a look at a link tells of its source."""

from __future__ import annotations

import pytest
from tests.kit.paper_backend import PaperBackend

from twinlog.errors import ClusterError, ClusterUnreachable, LeaderMissing
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.watch.observe import Observer

GONE = ClusterUnreachable("east", "no broker answers")
LEADERLESS = LeaderMissing("east", "orders-1")
PARTLY = "east: no broker answers as leader of 1 of 2 partitions (orders-1)"
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("ends", "trouble"),
    [
        ({FIRST: 10, SECOND: 10}, None),
        ({FIRST: 10, SECOND: GONE}, PARTLY),  # one broker of several
        ({FIRST: 10, SECOND: LEADERLESS}, PARTLY),
        ({FIRST: GONE, SECOND: GONE}, str(GONE)),
    ],
)
def test_a_source_that_is_silent_on_every_partition_is_gone(
    ends: dict[TopicPartition, int | ClusterError], trouble: str | None
) -> None:
    view = LedgerView({})
    view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="east.orders", target_id="t", origins=[0, 0]
    )
    observer = Observer(PaperBackend().links()[0], lambda _: ends)
    found = observer._judge(view, 0)
    assert found.source_trouble == trouble
    assert found.source_partly is (trouble == PARTLY)


@pytest.mark.proves("R14")
def test_a_leader_that_does_not_answer_is_asked_once() -> None:
    asked: list[list[TopicPartition]] = []

    def committed(wanted: list[TopicPartition]) -> dict[TopicPartition, int | ClusterError]:
        asked.append(wanted)
        return dict.fromkeys(wanted, 10)

    view = LedgerView({})
    view.roster["orders"] = RosterTopic(
        topic="orders", source_id="s", remote="east.orders", target_id="t", origins=[0, 0]
    )
    observer = Observer(PaperBackend().links()[0], committed, lambda _: {FIRST: 10, SECOND: GONE})
    assert observer._judge(view, 0).source_trouble == PARTLY
    assert asked == [[FIRST]]
