"""The page over real clusters and a real engine: a whole failover and the way back, by clicking."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.kit.browser import Tab, chromium, needs_browser, tab
from tests.kit.ends import Ends
from tests.kit.engine import twinlog_run
from tests.kit.switches import IDENTITY, commit_at, log_numbers, produce
from tests.kit.waiting import wait_until

from twinlog.machine.local_token import token_for

__all__ = ["chromium", "tab"]
pytestmark = [needs_browser, pytest.mark.timeout(600)]

SOON = 60_000


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def copied(page: Page, topic: str) -> Locator:
    return page.locator("#rows tbody tr").filter(has_text=topic).locator("td[data-label=Copied]")


def switch(page: Page, address: str, choice: str, button: str, link: str) -> None:
    page.goto(f"{address}/switch")
    page.get_by_role("radio", name=re.compile(choice)).check()
    page.get_by_label(re.compile("^Type")).fill(link, timeout=SOON)
    page.get_by_role("button", name=button).click()
    expect(page).to_have_url(re.compile("/ui/operations/"))
    expect(page.locator("#progress .badge").first).not_to_have_text("running", timeout=240_000)
    expect(page.locator("#progress .badge").first).to_have_text("done")


@pytest.mark.proves("R1", "R2")
def test_fail_over_and_back_by_clicking(make_ends: Callable[..., Ends], tmp_path: Path, tab: Tab) -> None:
    quick = {"emit_checkpoints_interval_seconds": "1", "sync_group_offsets_interval_seconds": "1"}
    ends = make_ends(replication_policy_class=IDENTITY, switch_grace_seconds="3", **quick)
    topic = ends.create("orders")
    produce(ends.source_cluster.bootstrap_servers, topic, range(200))
    commit_at(ends.source_cluster.bootstrap_servers, f"g{ends.alias}", topic, 120)
    link, listen = f"{ends.alias}->T", f"127.0.0.1:{free_port()}"
    home = f"http://{listen}/ui"
    address = f"{home}/links/{ends.alias}-%3ET"
    with twinlog_run(ends, tmp_path, "--listen", listen):
        page = tab.open(f"{home}/?access={token_for(home)}")
        expect(page.get_by_role("row", name=re.compile(re.escape(link))).first).to_contain_text("RUNNING", timeout=SOON)
        page.goto(f"{address}?filter={topic}")
        expect(copied(page, topic)).to_have_text("200", timeout=SOON)
        page.goto(f"{address}/groups")
        expect(page.locator("#rows")).to_contain_text(f"g{ends.alias}", timeout=SOON)
        page.goto(f"{address}/checks")
        page.get_by_label("Topics").fill(re.escape(topic))
        page.get_by_role("button", name="Verify").click()
        expect(page.locator("#progress")).to_contain_text("equal: 200 records", timeout=120_000)
        switch(page, address, "Move to T, planned", "Begin the planned failover", link)
        expect(page.locator("#progress")).to_contain_text("T is active")
        produce(ends.target_cluster.bootstrap_servers, topic, range(200, 260))
        switch(page, address, "its data survived", "Begin the failback", link)
        expect(page.locator("#progress")).to_contain_text(f"{ends.alias} is active")
        produce(ends.source_cluster.bootstrap_servers, topic, range(260, 300))
        # The page shows the last look of the service: a lag of 0 may be from before these records.
        there = ends.target_cluster.bootstrap_servers
        wait_until(lambda: len(log_numbers(there, topic)), lambda copied: copied >= 300, within_s=60, what="300 copies")
        page.goto(f"{address}?filter={topic}")
        expect(page.locator("#rows tbody tr").filter(has_text=topic).locator("td[data-label=Lag]")).to_have_text(
            "0", timeout=SOON
        )
        assert tab.wrong == []
    assert log_numbers(ends.source_cluster.bootstrap_servers, topic) == list(range(300))
    assert log_numbers(ends.target_cluster.bootstrap_servers, topic) == list(range(300))
