from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

import pytest
from tests.kit.paper_backend import PaperBackend, PaperLooks

from twinlog.config.settings import LinkSettings
from twinlog.model.health.movement import ENOUGH, Movement
from twinlog.model.health.readiness import reasons_against
from twinlog.model.health.states import LinkStatus
from twinlog.model.switch.log import Claim, Command, End, StateEntry, Switch
from twinlog.recovery.switching import Standing
from twinlog.surface.answers.links import state_of, without_copy
from twinlog.surface.answers.rows import topics_of
from twinlog.surface.http.backend import Backend
from twinlog.watch.monitor import LinkSnapshot, Monitor, Observers


def lookout_over(backend: Backend) -> Monitor:
    observers = Observers(backend.links, backend.observer, backend.groups, backend.standing)
    return Monitor(observers, look_seconds=0.02, slow_seconds=0.05)


async def until(monitor: Monitor, true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await monitor.next_change()


def test_links_come_go_and_change_while_one_looks() -> None:
    backend = PaperBackend()
    links = list(backend.links())

    async def watch() -> None:
        monitor = lookout_over(backend)
        watching = asyncio.create_task(monitor.run())
        await until(
            monitor, lambda: all(len(s.samples) > 2 for s in monitor.snapshots.values()) and bool(monitor.snapshots)
        )
        await until(monitor, lambda: monitor.snapshots["east->west"].groups is not None)
        seen = list(monitor.snapshots["east->west"].samples)
        changed = links[0].updated(reading={"tasks_max": 3})
        backend.resolved = dataclasses.replace(backend.resolved, links=(changed, links[1]))
        await until(monitor, lambda: monitor.snapshots["east->west"].link.reading.tasks_max == 3)
        assert list(monitor.snapshots["east->west"].samples)[: len(seen)] == seen
        assert len(monitor.snapshots["east->west"].last_looks) > 1  # a changed setting does not make a link unready
        assert set(monitor.snapshots) == {changed.name, links[1].name}
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(watch())


def test_a_look_that_fails_is_told_and_tried_again() -> None:
    backend = PaperBackend()

    async def watch() -> None:
        monitor = lookout_over(backend)
        watching = asyncio.create_task(monitor.run())
        await until(
            monitor, lambda: "east->west" in monitor.snapshots and monitor.snapshots["east->west"].status is not None
        )
        snapshot = monitor.snapshots["east->west"]
        backend.looks["east->west"].away = True
        await until(monitor, lambda: snapshot.failures > 2)
        assert snapshot.trouble is not None
        assert "no broker answers" in snapshot.trouble
        assert snapshot.remedy
        assert monitor.snapshots["west->east"].trouble is None
        backend.looks["east->west"].away = False
        await until(monitor, lambda: snapshot.trouble is None and snapshot.failures == 0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())


def test_a_group_that_nobody_is_in_stops_and_one_with_members_stalls() -> None:
    backend = PaperBackend()
    link = backend.links()[0]

    async def watch() -> LinkSnapshot:
        snapshot = LinkSnapshot(link, backend.observer(link))
        snapshot.take(await snapshot.looks.look())
        for _ in range(ENOUGH):
            snapshot.take_groups(await backend.groups(link))
        return snapshot

    # On paper groups stand still with records left to read; only `warehouse` has no members.
    assert asyncio.run(watch()).group_movements == {
        "billing": "STALL",
        "search-indexer": "STALL",
        "fraud": "STALL",
        "warehouse": "STOP",
    }


def test_a_new_link_is_not_ready_because_it_knew_no_topic_when_it_began() -> None:
    backend = PaperBackend()
    link = backend.links()[0]

    async def reasons() -> list[list[str]]:
        snapshot = LinkSnapshot(link, backend.observer(link))
        copying = await snapshot.looks.look()
        assert copying.engine is not None
        waiting = dataclasses.replace(copying, problems=())
        blank = dataclasses.replace(
            waiting, partitions=(), engine=copying.engine.model_copy(update={"phase": "starting"})
        )
        first, *others = waiting.partitions
        moving = dataclasses.replace(
            waiting, partitions=(dataclasses.replace(first, source_next=first.source_next + 1), *others)
        )
        told = []
        for status in (blank, waiting, moving):
            snapshot.take(status)
            told.append(list(reasons_against(snapshot.status, None, tuple(snapshot.last_looks))))
        return told

    assert asyncio.run(reasons()) == [["the engine is starting"], ["records wait and no partition moves"], []]


@pytest.mark.proves("R7")
def test_a_link_that_was_switched_is_shown_with_the_side_that_is_active_at_once() -> None:
    """The slow watch may sleep for minutes behind a source that is away: nothing must look protected meanwhile."""
    backend = PaperBackend()

    class LinkObserver(PaperLooks):
        switched = False

        async def look(self) -> LinkStatus:
            found = await super().look()
            assert found.engine is not None
            phase = "switched" if self.switched else "running"
            return dataclasses.replace(found, engine=found.engine.model_copy(update={"phase": phase}))

    looks = LinkObserver(backend.links()[0], 1, 1)

    async def standing(link: LinkSettings) -> Standing:
        active = "west" if looks.switched else "east"
        pair = f"{link.source}<->{link.target}"
        return Standing(StateEntry(pair=pair, generation=1, active=active, links={}), None, ())

    async def watch() -> list[str]:
        observers = Observers(lambda: backend.links()[:1], lambda _: looks, backend.groups, standing)
        monitor = Monitor(observers, look_seconds=0.02, slow_seconds=600)
        watching = asyncio.create_task(monitor.run())
        await until(monitor, lambda: any(snapshot.groups is not None for snapshot in monitor.snapshots.values()))
        looks.switched = True
        await until(monitor, lambda: state_of(monitor.snapshots["east->west"]) == "SWITCHED")
        lonely = [*without_copy(monitor.snapshots.values()).values()]
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return lonely

    assert asyncio.run(watch()) == ["west"]


def test_a_topic_with_nothing_left_does_not_stall_though_it_did_a_moment_ago() -> None:
    backend = PaperBackend()
    snapshot = LinkSnapshot(backend.links()[0], backend.observer(backend.links()[0]))
    status = asyncio.run(backend.observer(backend.links()[0]).look())
    (first, *_) = status.partitions

    def state(movement: Movement, lag: int) -> str:
        part = dataclasses.replace(first, fault=None, source_end=first.source_next + lag)
        snapshot.status = dataclasses.replace(status, partitions=(part,), problems=())
        snapshot.movements = {part.partition: movement}
        (row,) = topics_of(snapshot)
        return row.state

    assert (state("STALL", 0), state("STALL", 1), state("REWIND", 0)) == ("OK", "STALL", "REWIND")


def switch_of(name: str, command: Command, active: str, *, ended: bool) -> Switch:
    claim = Claim(pair="east<->west", switch=name, runner="r", command=command, link="east->west", operator="ada")
    state = StateEntry(pair="east<->west", generation=1, active=active)
    end = End(pair="east<->west", switch=name, runner="r", outcome="done") if ended else None
    return Switch(name, claim, "r", 1, 1, end=end, ended_ms=2 if ended else 0, state=state)


@pytest.mark.proves("R7")
def test_the_end_of_a_switch_is_seen_at_once_and_says_who_was_active_then() -> None:
    """The slow watch may sleep for minutes; meanwhile the page would show the side that was left as the active one."""
    backend = PaperBackend()
    looks = backend.observer(backend.links()[0])
    now = [Standing(None, switch_of("1", "failover-unplanned", "east", ended=False), ())]

    async def standing(_: LinkSettings) -> Standing:
        return now[0]

    async def watch() -> list[str]:
        observers = Observers(lambda: backend.links()[:1], lambda _: looks, backend.groups, standing)
        monitor = Monitor(observers, look_seconds=0.02, slow_seconds=600)
        watching = asyncio.create_task(monitor.run())
        await until(monitor, lambda: any(snapshot.groups is not None for snapshot in monitor.snapshots.values()))
        over = switch_of("1", "failover-unplanned", "west", ended=True)
        # A failback followed before anybody looked.
        now[0] = Standing(None, None, (over, switch_of("2", "failback-delta", "east", ended=True)))
        await until(monitor, lambda: any("done" in event.says for event in monitor.events))
        said = [event.says for event in monitor.events if event.kind == "switch"]
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return said

    assert asyncio.run(watch()) == [
        "unplanned failover started by ada",
        "unplanned failover done; west is active",
        "delta failback started by ada",
        "delta failback done; east is active",
    ]


@pytest.mark.proves("R14")
def test_a_source_that_keeps_every_look_waiting_is_looked_at_as_often_as_others() -> None:
    """Waiting costs nothing. The state of a link whose source died must not be that of half a minute ago."""
    backend = PaperBackend()
    paper = backend.observer(backend.links()[0])

    class Away(PaperLooks):
        async def look(self) -> LinkStatus:
            await asyncio.sleep(0.5)
            return dataclasses.replace(
                await super().look(), source_trouble="no broker answers", source_unreachable=True
            )

    away = Away(paper.link, paper.topics, paper.partitions)

    async def watch() -> None:
        eyes = Observers(lambda: backend.links()[:1], lambda _: away, backend.groups, backend.standing)
        watching = asyncio.create_task(Monitor(eyes, look_seconds=0.02, slow_seconds=9).run())
        async with asyncio.timeout(8):  # before the pause of a slow source
            while away.looks < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())
    assert away.looks >= 3
