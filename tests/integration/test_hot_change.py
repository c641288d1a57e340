"""New settings for a running link, with real brokers and without Spark."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.ends import Ends
from tests.kit.threads import ThreadedQuery

from twinlog.config.settings import LinkSettings
from twinlog.engine.engine import LinkEngine
from twinlog.engine.fleet import Fleet
from twinlog.flow.source import LinkRun
from twinlog.sync.ends import LinkEnds
from twinlog.sync.link_topics import LinkTopics


@pytest.mark.proves("R1", "R2", "R8")
def test_a_changed_link_goes_on_with_its_new_settings_and_the_other_is_not_touched(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    changing, other = make_ends(), make_ends()
    for ends in (changing, other):
        ends.load(ends.create("orders"), 1).produce(50)
    late = changing.create("late")
    changing.load(late, 1).produce(50)
    changing.set(topics=changing.name("orders"))

    def engine(link: LinkSettings) -> LinkEngine:
        ends = LinkEnds.of(link)
        topics = LinkTopics(link, ends.source, ends.target)
        return LinkEngine(link, topics, lambda run, _: ThreadedQuery(run), tmp_path, 2)

    async def story() -> None:
        fleet = Fleet(engine)
        running = asyncio.create_task(fleet.run([engine(changing.link), engine(other.link)]))
        await asyncio.to_thread(changing.await_copied, changing.name("orders"))
        await asyncio.to_thread(other.await_copied)
        untouched = fleet.jobs[1]
        changing.set(topics=f"{changing.prefix}.*")
        (change,) = await fleet.apply([changing.link, other.link])
        assert str(change) == f"{changing.link.name}: changed in topics"
        await asyncio.to_thread(changing.await_copied)
        assert untouched in fleet.jobs
        assert [one.phase for one in fleet.jobs] == ["running", "running"]
        fleet.stop()
        await running

    asyncio.run(story())
    assert changing.check().target_records == 100
    assert other.check().target_records == 50


@pytest.mark.proves("R8", "R9", "R14")
def test_a_link_whose_engine_breaks_says_why_and_goes_on_by_itself(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    breaking = make_ends()
    breaking.load(breaking.create("orders"), 1).produce(50)
    let_go = asyncio.Event()
    broken: list[str] = []

    def start(run: LinkRun, _: Path) -> ThreadedQuery:
        if not broken:
            broken.append(run.link.name)
            raise ValueError("a mistake of ours")
        return ThreadedQuery(run)

    def engine(link: LinkSettings) -> LinkEngine:
        if broken and not let_go.is_set():
            raise OSError("not yet")
        ends = LinkEnds.of(link)
        return LinkEngine(link, LinkTopics(link, ends.source, ends.target), start, tmp_path, 2)

    async def story() -> None:
        fleet = Fleet(engine, stays=True, pause=lambda _: 0.1)
        running = asyncio.create_task(fleet.run([engine(breaking.link)]))
        found = await asyncio.to_thread(
            breaking.await_status, lambda seen: seen.engine is not None and bool(seen.engine.trouble), "the reason"
        )
        assert found.engine is not None
        assert (found.state, found.engine.trouble) == ("STALLED", "a mistake of ours")
        let_go.set()
        await asyncio.to_thread(breaking.await_copied)
        fleet.stop()
        await running

    asyncio.run(story())
    assert breaking.check().target_records == 50
