"""An engine is asked to end before it has begun: it ends at once, and says nothing of an end by force."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until

from twinlog.config.settings import LinkSettings
from twinlog.engine import engine as engine_module
from twinlog.engine.engine import LinkEngine
from twinlog.engine.roster_cycle import Topics
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics


class _StartingQuery:
    """A query whose tasks Spark has not started yet: no epoch comes to its end."""

    lastProgress = None  # noqa: N815  Spark's name
    isActive = True  # noqa: N815  Spark's name
    stopped = False

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self.stopped = True


def _engine(link: LinkSettings, folder: Path, query: _StartingQuery) -> LinkEngine:
    ends = LinkEnds.of(link)
    return LinkEngine(link, LinkTopics(link, ends.source, ends.target), lambda *_: query, folder, 2)


async def _stop_when_running(engine: LinkEngine) -> None:
    running = asyncio.create_task(engine.run())
    await asyncio.to_thread(
        wait_until, lambda: engine.phase, lambda phase: phase == "running", within_s=60, what="a running engine"
    )
    engine.stop()
    await running


@pytest.fixture(autouse=True)
def patience_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for an epoch to end waits until the suite gives the test up."""
    monkeypatch.setattr(engine_module, "STOP_SECONDS", 10_000.0)


def test_while_spark_starts_its_tasks(
    make_ends: Callable[..., Ends], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends, query = make_ends(), _StartingQuery()
    ends.create("orders", 2)
    engine = _engine(ends.link, tmp_path, query)
    asyncio.run(_stop_when_running(engine))
    assert query.stopped
    assert engine.phase == "stopped"
    assert "hard" not in caplog.text
    status = ends.status()
    assert status.engine is not None
    assert status.engine.phase == "stopped"


class _SilentTopics:
    """Clusters that take a question and do not answer."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def ensure_ledger(self) -> int:
        self.asked.set()
        self.released.wait()
        return 1


def test_while_a_cluster_does_not_answer(
    make_ends: Callable[..., Ends], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics = _SilentTopics()
    engine = LinkEngine(make_ends().link, cast("Topics", topics), lambda *_: None, tmp_path, 2)

    async def stop_while_it_asks() -> None:
        running = asyncio.create_task(engine.run())
        await asyncio.to_thread(topics.asked.wait)
        engine.stop()
        try:
            await running
        finally:
            topics.released.set()

    asyncio.run(stop_while_it_asks())
    assert engine.phase == "stopped"
    assert "hard" not in caplog.text
