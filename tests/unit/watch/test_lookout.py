from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

import pytest
from tests.kit.paper_rooms import PaperLooks, PaperRooms

from twinlog.config.settings import LinkSettings
from twinlog.model.health.movement import ENOUGH
from twinlog.model.health.readiness import reasons_against
from twinlog.model.health.states import LinkStatus
from twinlog.model.switch.log import StateEntry
from twinlog.recovery.switching import Standing
from twinlog.surface.http.application import Rooms
from twinlog.surface.page.needs import without_copy
from twinlog.surface.rest.v1.answers import state_of
from twinlog.watch.monitor import Eyes, Lookout, Sight


def lookout_over(rooms: Rooms) -> Lookout:
    eyes = Eyes(rooms.links, rooms.observer, rooms.groups, rooms.standing)
    return Lookout(eyes, look_seconds=0.02, slow_seconds=0.05)


async def until(lookout: Lookout, true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await lookout.next_change()


def test_links_come_go_and_change_while_one_looks() -> None:
    rooms = PaperRooms()
    links = list(rooms.links())

    async def watch() -> None:
        lookout = lookout_over(rooms)
        watching = asyncio.create_task(lookout.run())
        await until(lookout, lambda: all(len(s.samples) > 2 for s in lookout.sights.values()) and bool(lookout.sights))
        await until(lookout, lambda: lookout.sights["east->west"].groups is not None)
        seen = list(lookout.sights["east->west"].samples)
        changed = links[0].model_copy(update={"tasks_max": 3})
        rooms.resolved = dataclasses.replace(rooms.resolved, links=(changed, links[1]))
        await until(lookout, lambda: lookout.sights["east->west"].link.tasks_max == 3)
        assert list(lookout.sights["east->west"].samples)[: len(seen)] == seen
        assert len(lookout.sights["east->west"].last_looks) > 1  # a changed setting does not make a link unready
        assert set(lookout.sights) == {changed.name, links[1].name}
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(watch())


def test_a_look_that_fails_is_told_and_tried_again() -> None:
    rooms = PaperRooms()

    async def watch() -> None:
        lookout = lookout_over(rooms)
        watching = asyncio.create_task(lookout.run())
        await until(lookout, lambda: "east->west" in lookout.sights and lookout.sights["east->west"].status is not None)
        sight = lookout.sights["east->west"]
        rooms.looks["east->west"].away = True
        await until(lookout, lambda: sight.failures > 2)
        assert sight.trouble is not None
        assert "no broker answers" in sight.trouble
        assert sight.remedy
        assert lookout.sights["west->east"].trouble is None
        rooms.looks["east->west"].away = False
        await until(lookout, lambda: sight.trouble is None and sight.failures == 0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(watch())


def test_a_group_that_nobody_is_in_stops_and_one_with_members_stalls() -> None:
    rooms = PaperRooms()
    link = rooms.links()[0]

    async def watch() -> Sight:
        sight = Sight(link, rooms.observer(link))
        sight.take(await sight.looks.look())
        for _ in range(ENOUGH):
            sight.take_groups(await rooms.groups(link))
        return sight

    # On paper groups stand still with records left to read; only `warehouse` has no members.
    assert asyncio.run(watch()).group_movements == {
        "billing": "STALL",
        "search-indexer": "STALL",
        "fraud": "STALL",
        "warehouse": "STOP",
    }


def test_a_new_link_is_not_ready_because_it_knew_no_topic_when_it_began() -> None:
    rooms = PaperRooms()
    link = rooms.links()[0]

    async def reasons() -> list[list[str]]:
        sight = Sight(link, rooms.observer(link))
        copying = await sight.looks.look()
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
            sight.take(status)
            told.append(list(reasons_against(sight.status, None, tuple(sight.last_looks))))
        return told

    assert asyncio.run(reasons()) == [["the engine is starting"], ["records wait and no partition moves"], []]


@pytest.mark.proves("R7")
def test_a_link_that_was_switched_is_shown_with_the_side_that_is_active_at_once() -> None:
    """The slow watch may sleep for minutes behind a source that is away: nothing must look protected meanwhile."""
    rooms = PaperRooms()

    class Looks(PaperLooks):
        switched = False

        async def look(self) -> LinkStatus:
            found = await super().look()
            assert found.engine is not None
            phase = "switched" if self.switched else "running"
            return dataclasses.replace(found, engine=found.engine.model_copy(update={"phase": phase}))

    looks = Looks(rooms.links()[0], 1, 1)

    async def standing(link: LinkSettings) -> Standing:
        active = "west" if looks.switched else "east"
        pair = f"{link.source}<->{link.target}"
        return Standing(StateEntry(pair=pair, generation=1, active=active, links={}), None, ())

    async def watch() -> list[str]:
        eyes = Eyes(lambda: rooms.links()[:1], lambda _: looks, rooms.groups, standing)
        lookout = Lookout(eyes, look_seconds=0.02, slow_seconds=600)
        watching = asyncio.create_task(lookout.run())
        await until(lookout, lambda: any(sight.groups is not None for sight in lookout.sights.values()))
        looks.switched = True
        await until(lookout, lambda: state_of(lookout.sights["east->west"]) == "SWITCHED")
        lonely = without_copy(lookout.sights.values())
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return lonely

    assert asyncio.run(watch()) == ["west"]
