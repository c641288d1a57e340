"""Where leaders' logs end, asked while a leader moves: an answer that is missing proves nothing."""

from __future__ import annotations

import asyncio
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from twinlog.errors import BrokerAway, SwitchStopped
from twinlog.model.names import TopicPartition
from twinlog.recovery import proof
from twinlog.recovery.proof import Deadline, await_replicas
from twinlog.wire import protocol_errors as codes
from twinlog.wire.connection import Cluster
from twinlog.wire.frames import FrameReader, string
from twinlog.wire.log_ends import fetch_log_ends

WHERE = TopicPartition("orders", 0)
DENIED = codes.TOPIC_AUTHORIZATION_FAILED


class Leader:
    """One leader that answers OffsetForLeaderEpoch with one error and end after the other; None: it does not answer."""

    def __init__(self, *answers: tuple[int, int] | None) -> None:
        self.answers = list(answers)
        self.topics = {"orders": SimpleNamespace(error=0)}

    async def refresh(self, _: object) -> None: ...

    def leader(self, *_: object) -> Any:
        return SimpleNamespace(node=1, epoch=4)

    async def connection(self, _: int) -> Any:
        return self

    async def exchange(self, *_: object, **__: object) -> FrameReader:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            raise BrokerAway.at("A", "broker 1", "it does not answer")
        error, end = answer
        told = [struct.pack(">ii", 0, 1), string("orders"), struct.pack(">ihiiq", 1, error, 0, 4, end)]
        return FrameReader(b"".join(told))

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ((0, 10), {WHERE: 10}),
        ((codes.NOT_LEADER, -1), {WHERE: None}),
        ((75, -1), {WHERE: None}),
        (None, {WHERE: None}),
        ((DENIED, -1), {}),
    ],
)
def test_an_end_is_told_or_asked_for_again_or_never_known(answer: tuple[int, int] | None, found: dict[Any, Any]):
    assert asyncio.run(fetch_log_ends(cast("Cluster", Leader(answer)), [WHERE], 1)) == found


@pytest.mark.proves("R1")
def test_a_leader_that_moves_is_asked_again_before_the_cut(monkeypatch: pytest.MonkeyPatch):
    """The new leader has two records that readers do not see yet; a cut at 8 would leave them behind."""
    leader = Leader((codes.NOT_LEADER, -1), None, (0, 10), (0, 10), (0, 10))
    seen = iter([8, 8, 10])

    async def fetch_offsets(*_: object, **__: object) -> dict[TopicPartition, int]:
        return {WHERE: next(seen)}

    monkeypatch.setattr(proof, "Cluster", lambda *_: leader)
    monkeypatch.setattr(proof, "fetch_offsets", fetch_offsets)
    asyncio.run(await_replicas(cast("Any", None), [WHERE], Deadline("A->B", "fence-source", 30)))
    assert next(seen, None) is None, "until readers see everything"
    leader.answers = [None]
    with pytest.raises(SwitchStopped, match="orders-0 has no leader that tells where its log ends"):
        asyncio.run(await_replicas(cast("Any", None), [WHERE], Deadline("A->B", "fence-source", 0.1)))
