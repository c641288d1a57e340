"""What a look at a link tells of its source."""

from __future__ import annotations

import pytest
from tests.kit.paper_backend import PaperBackend

from twinlog.errors import ClusterError, ClusterUnreachable
from twinlog.ledger.view import LedgerView
from twinlog.model.ledger.records import RosterTopic
from twinlog.model.names import TopicPartition
from twinlog.watch.observe import Observer

GONE = ClusterUnreachable("east", "no broker answers")
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.mark.proves("R14")
@pytest.mark.parametrize(
    ("ends", "trouble"),
    [
        ({FIRST: 10, SECOND: 10}, None),
        ({FIRST: 10, SECOND: GONE}, None),  # one broker of several
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
    assert observer._judge(view, 0).source_trouble == trouble
