"""A service that is frozen while another one leads and leaves, on a real broker: it leads again when it wakes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from tests.kit.ends import Ends
from tests.kit.waiting import wait_until

from twinlog.config.settings import ClientSettings
from twinlog.control.links_topic import LinksTopic, shared_place
from twinlog.model.connectors import Leader

_NEWS_LATE_S = 8
"""The service hears so late of what others write, so that it is elected before it hears that another one led."""

_OTHER, _AGAIN = "hears that second leads", "hears that first leads"

SERVICE = """
import asyncio, sys
from threading import Timer
from twinlog.config.settings import ClientSettings
from twinlog.control.connector_service import ConnectorService
from twinlog.control.group_trust import GroupTrust
from twinlog.control.links_topic import LinksTopic, shared_place

servers, group, late_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
store = ClientSettings(cluster="store", bootstrap_servers=(servers,))

class NoLinks:
    async def become(self, specs, heartbeats):
        return ()

    def check(self, spec):
        pass

def make_store(prove, on_news, on_elected, on_members):
    def elected():
        print("elected", flush=True)
        on_elected()

    def news(state):
        def tell():
            print("hears that", state.leader and state.leader.instance, "leads", flush=True)
            on_news(state)
        Timer(late_s, tell).start()

    return LinksTopic(store, shared_place(group, 1), prove, on_news=news, on_elected=elected)

async def main():
    service = ConnectorService(NoLinks(), make_store, group=group, instance="first", url="http://first:1",
                               environment={}, trust=GroupTrust(group, None))
    running = asyncio.create_task(service.run())
    before = False
    while not running.done():
        if service.leadership.active != before:
            before = service.leadership.active
            print("leads" if before else "stands by", flush=True)
        await asyncio.sleep(0.05)
    await running

asyncio.run(main())
"""


@pytest.mark.chaos
@pytest.mark.proves("R9", "R10")
def test_a_service_that_is_elected_before_it_hears_that_another_one_led_leads_again(
    make_ends: Callable[..., Ends], tmp_path: Path
) -> None:
    store, group = make_ends().link.clients.target_admin, f"g{uuid.uuid4().hex[:6]}"
    said = tmp_path / "said"
    command = [sys.executable, "-c", SERVICE, ",".join(store.bootstrap_servers), group, str(_NEWS_LATE_S)]
    with said.open("wb") as out, subprocess.Popen(command, stdout=out) as first:
        try:
            _await(said, lambda words: "leads" in words, "the first leader")
            os.kill(first.pid, signal.SIGSTOP)
            _lead_and_leave(store, group)
            os.kill(first.pid, signal.SIGCONT)
            words = _await(said, lambda words: _OTHER in words and words[-1] == _AGAIN, "the news of both leaders")
            assert words[: words.index(_OTHER)].count("elected") == 2, "it heard first that the other one led"
            assert "stands by" not in words
            assert _leader(store, group) == Leader("first", "http://first:1")
        finally:
            first.kill()


def _await(said: Path, accept: Callable[[list[str]], bool], what: str) -> list[str]:
    return wait_until(lambda: said.read_text().splitlines(), accept, within_s=60, what=what)


def _lead_and_leave(store: ClientSettings, group: str) -> None:
    """Another service of the group: it waits for its turn, leads, and ends."""
    elected = Event()
    topic = LinksTopic(store, shared_place(group, 1), on_news=lambda _: None, on_elected=elected.set)
    try:
        known = topic.open()
        assert elected.wait(40), "the frozen service is still waited for"
        topic.lead([known.leader_record(Leader("second", "http://second:1"))])
    finally:
        topic.close()


def _leader(store: ClientSettings, group: str) -> Leader | None:
    """Who leads, as a service reads it that comes now."""
    topic = LinksTopic(store, shared_place(group, 1), on_news=lambda _: None, on_elected=lambda: None)
    try:
        return topic.open().leader
    finally:
        topic.close()
