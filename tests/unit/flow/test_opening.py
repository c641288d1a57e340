"""How a partition is opened again by the same owner, after a fault."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.kit.outbox_world import PRODUCER, ROSTER, WHERE
from tests.kit.paper_backend import PaperBackend

from twinlog.flow.outbox import Outbox
from twinlog.flow.ownership import Ownership
from twinlog.flow.shape import Shaper
from twinlog.flow.takeover import Begin, ShardOwner, fresh_state
from twinlog.ledger.view import LedgerView
from twinlog.wire.connection import Leader, TopicMetadata
from twinlog.wire.fence import Producer

COPIED = 20


def owner_who_copied(leaders: dict[int, Leader]) -> tuple[ShardOwner, Begin]:
    """An owner that has copied some records into the only partition of a topic."""
    topics = {ROSTER.remote: TopicMetadata(ROSTER.remote, ROSTER.target_id, 0, leaders)}
    target = SimpleNamespace(alias="west", topics=topics)
    ownership = Ownership(Producer("id", PRODUCER, 1))
    view = LedgerView({1: 0})
    owner = ShardOwner(
        PaperBackend().links()[0], 0, cast("Any", target), cast("Any", None), ownership, cast("Any", None), view
    )
    begin = Begin(WHERE, ROSTER, None, 0, 0, 1, 0)
    state = fresh_state(begin, target=COPIED)
    state.producer_id, state.phase = PRODUCER, "copying"
    view.states[WHERE] = state
    ownership.sequences[begin.remote] = COPIED
    return owner, begin


@pytest.mark.parametrize(
    ("leaders", "end"),
    [({0: Leader(-1, 0)}, "it has no leader"), ({}, COPIED), ({0: Leader(1, 0)}, COPIED - 1)],
    ids=["no leader", "deleted", "shrunk"],
)
@pytest.mark.proves("R9")
def test_an_opening_that_meets_a_fault_forgets_no_sequence_number(leaders: dict[int, Leader], end: int | str) -> None:
    """The broker remembers it. Begun with 0, the partition would be refused for as long as this owner lives."""
    owner, begin = owner_who_copied(leaders)
    opened = owner._look(begin, end)
    assert opened.fault is not None
    box = Outbox(owner.ownership, begin.remote, Shaper(WHERE, 1 << 20, 0), opened)
    box.fault(opened.fault)
    owner.target.topics[ROSTER.remote].leaders[0] = Leader(1, 0)
    again = owner._look(begin, COPIED)
    assert (again.fault, again.sequence, again.target_end) == (None, COPIED, COPIED)
