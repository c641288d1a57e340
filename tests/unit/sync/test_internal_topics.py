"""The topics that MirrorMaker 2's clients read: read to their end, or an error; never a part taken for the whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.kit.batches import make_batch

from twinlog.errors import BrokerRefused
from twinlog.ledger.view import LedgerView
from twinlog.logs import read
from twinlog.model.switch.facts import PositionsKnown
from twinlog.model.topics.configs import TopicConfig
from twinlog.recovery.steps import positions
from twinlog.sync import internal_topics
from twinlog.sync.internal_topics import CONFIGS, InternalLog, compaction_finding
from twinlog.wire.batch import read_header
from twinlog.wire.codec import OpenRecord, PlainRecord

LIMIT_S = 0.3


class PaperCluster:
    """A cluster with one topic."""

    alias, timeout_s = "B", 60.0

    async def refresh(self, topics: list[str]) -> dict[str, Any]:
        return {topic: SimpleNamespace(error=0) for topic in topics}


def log_of(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> InternalLog:
    """One record after each pause; then silence."""

    class Reader:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.positions = {0: 0}

        async def batches(self) -> AsyncIterator[tuple[int, list[Any]]]:
            for offset, pause in enumerate(pauses):
                await asyncio.sleep(pause)
                made = make_batch([PlainRecord(offset, 1, b"k%d" % offset, b"v", [])])
                self.positions[0] = offset + 1
                yield 0, [(read_header(made.data), made.data)]
            await asyncio.Event().wait()

    async def ends(*_: Any) -> dict[int, int]:
        return {0: 4}

    monkeypatch.setattr(read, "LogReader", Reader)
    monkeypatch.setattr(read, "fetch_ends", ends)
    monkeypatch.setattr(internal_topics, "_SILENT_FOR_S", LIMIT_S)
    return InternalLog(cast("Any", PaperCluster()), "A.checkpoints.internal")


@pytest.mark.proves("R7")
def test_a_topic_that_takes_long_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(monkeypatch, [LIMIT_S / 2] * 4)
    assert [record.key for record in asyncio.run(log.read_all())] == [b"k0", b"k1", b"k2", b"k3"]


@pytest.mark.proves("R7", "R14")
def test_a_broker_that_falls_silent_is_an_error_that_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    log, found = log_of(monkeypatch, [0, 0]), list[OpenRecord]()
    with pytest.raises(BrokerRefused, match="stopped at offset 2 of 4"):
        asyncio.run(log.read_each(found.extend))
    assert len(found) == 2


@pytest.mark.proves("R5", "R7")
def test_checkpoints_that_cannot_be_read_are_never_told_as_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoGroups:
        def __init__(self, _: Any) -> None: ...
        async def list_groups(self) -> dict[str, Any]:
            return {}

        async def fetch_positions(self, groups: Any) -> dict[str, Any]:
            assert not groups
            return {}

        async def commit_positions(self, wanted: Any) -> dict[str, Any]:
            assert not wanted
            return {}

    class Teller:
        async def close(self) -> None: ...

    async def ledger(_: Any) -> LedgerView:
        return LedgerView({})

    async def copied(*_: Any) -> dict[Any, Any]:
        return {}

    log = log_of(monkeypatch, [0, 0])
    monkeypatch.setattr(positions, "InternalLog", lambda *_: log)
    monkeypatch.setattr(positions, "Cluster", lambda *_: Teller())
    monkeypatch.setattr(positions, "GroupCoordinators", NoGroups)
    monkeypatch.setattr(positions, "_copied", copied)
    monkeypatch.setattr(positions, "_READ_AGAIN_FOR_S", 0.0)
    naming = SimpleNamespace(checkpoints_topic=lambda source: f"{source}.checkpoints.internal")
    clients = SimpleNamespace(target_producer=None)
    link = SimpleNamespace(clients=clients, name="A->B", source="A", target="B", naming=naming, cut_sets=())
    result = asyncio.run(positions.positions_known(cast("Any", SimpleNamespace(link=link, ledger=ledger))))
    assert "NOT known" in result.says
    assert "0 groups" not in result.says
    assert isinstance(result.facts, PositionsKnown)
    assert "stopped at offset 2 of 4" in result.facts.findings[0]


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (CONFIGS, None),
        ({"cleanup.policy": "compact", "segment.bytes": "1073741824"}, "segment.bytes is 1073741824"),
        ({"cleanup.policy": "delete", "segment.bytes": "1024"}, "cleanup.policy is delete"),
    ],
)
def test_a_topic_that_somebody_else_created_is_judged_by_its_configs(configs: dict[str, str], said: str | None) -> None:
    class Admin:
        def fetch_topic_configs(self, names: list[str]) -> dict[str, Any]:
            answer = [SimpleNamespace(name=name, value=value) for name, value in configs.items()]
            return dict.fromkeys(names, cast("list[TopicConfig]", answer))

    found = compaction_finding(cast("Any", Admin()), "A.checkpoints.internal")
    assert (found is None) == (said is None)
    assert said is None or said in (found or "")
