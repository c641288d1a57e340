"""An old primary that returns is shut by the newest decision of both clusters, not by the first one that was read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from twinlog.config.pair import stand_in_pair
from twinlog.config.resolve import resolve
from twinlog.errors import AccessDenied, ClusterUnreachable, TwinlogError
from twinlog.model.names import LinkName
from twinlog.model.switch.log import StateEntry, pair_of
from twinlog.recovery import guard
from twinlog.recovery.journal import Journal

FILE = b"clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
(LINK,) = resolve(FILE, "test.properties", (), {}).links
NAME = LinkName(LINK.source, LINK.target)
EARLIER = StateEntry(
    pair=pair_of(NAME), generation=2, active=NAME.target, fence_on_return={NAME.source: "topic-config"}
)
LATER = StateEntry(pair=pair_of(NAME), generation=3, active=NAME.source, fence_on_return={NAME.target: "topic-config"})


@dataclass
class Log:
    """The switch log of one cluster; what it holds is known once it was read."""

    holds: StateEntry | None
    refuses: TwinlogError | None = None
    log: Any = field(default_factory=lambda: SimpleNamespace(state=None))

    async def catch_up(self) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.log.state = self.holds


def shut_by(monkeypatch: pytest.MonkeyPatch, source: Log, target: Log) -> tuple[bool, str | None]:
    """Whether the source, which is back, is shut by an engine that has read the target's decision; and its trouble."""
    journal = Journal(
        cast("Any", target), cast("Any", source), cast("Any", None), cast("Any", None), 1, Path(), "guard"
    )
    shut: list[bool] = []

    async def close() -> None:
        """Nothing is open."""

    async def is_back(_: guard.ReturnGuard) -> bool:
        return True

    async def shuts(*_: object) -> None:
        shut.append(True)

    context = SimpleNamespace(journal=journal, link=LINK, close=close)
    monkeypatch.setattr(guard, "SwitchContext", SimpleNamespace(of=lambda *_: context))
    monkeypatch.setattr(guard.ReturnGuard, "_is_back", is_back)
    monkeypatch.setattr(guard.ReturnGuard, "_shut", shuts)
    guarding = guard.ReturnGuard(stand_in_pair(LINK))
    asyncio.run(guarding(EARLIER))
    return bool(shut), guarding.trouble


@pytest.mark.proves("R10")
def test_a_cluster_that_returns_with_a_later_decision_is_not_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shut_by(monkeypatch, Log(LATER), Log(EARLIER)) == (False, None)


@pytest.mark.parametrize("known", [None, EARLIER], ids=["that it knows nothing of", "that it knows"])
@pytest.mark.proves("R10")
def test_a_cluster_that_returns_is_shut_by_the_decision(
    monkeypatch: pytest.MonkeyPatch, known: StateEntry | None
) -> None:
    assert shut_by(monkeypatch, Log(known), Log(EARLIER)) == (True, None)


def test_a_log_that_cannot_be_read_yet_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shut, trouble = shut_by(monkeypatch, Log(LATER, ClusterUnreachable("A", "no leader")), Log(EARLIER))
    assert not shut
    assert "could not be shut yet" in str(trouble)


def test_who_may_not_read_the_source_s_log_shuts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shut_by(monkeypatch, Log(None, AccessDenied("A", "Read")), Log(EARLIER)) == (True, None)
