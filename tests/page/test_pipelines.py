"""The pages of pipelines in a real browser: light, dark and narrow, and everything that can be done in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect
from tests.kit.browser import LOOKS, Tab, chromium, needs_browser, served, tab
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.paper_pipelines import PaperPipelines, paper_desk
from tests.kit.waiting import wait_until

__all__ = ["chromium", "tab"]
pytestmark = needs_browser

AXE = Path(__file__).parent / "vendor" / "axe-4.10.3.min.js"
SHOTS = Path(__file__).parents[2] / "docs" / "screenshots"
ORDERS = "/ui/pipelines/orders-to-search"
VIEWS = {
    "pipelines": "/ui/pipelines",
    "pipeline": "/ui/pipelines/payments-to-table",
    "pipeline-parked": f"{ORDERS}/parked",
    "pipeline-offsets": f"{ORDERS}/offsets",
    "pipeline-preview": f"{ORDERS}/preview",
    "pipeline-settings": f"{ORDERS}/settings",
}
KEPT = {("pipelines", "light"), ("pipeline", "light"), ("pipeline", "dark"), ("pipeline", "phone"),
        ("pipeline-parked", "light"), ("pipeline-preview", "light")}  # fmt: skip


@pytest.fixture
def paper() -> PaperPipelines:
    return paper_desk()


@pytest.fixture
def site(paper: PaperPipelines) -> Iterator[str]:
    app = everything(PaperBackend(pipelines=paper, step_seconds=0.1))
    with served(app) as address:
        watch = app.state.app_state.pipeline_watch
        orders = wait_until(
            lambda: watch.meter("orders-to-search"),
            lambda seen: bool(seen._samples),
            within_s=30,
            what="a first look",
        )
        orders.records_per_second, orders.lag_records, orders.lag_seconds = 812.0, 41, 0.6
        orders.lag_by_partition = {"orders-0": 41, "orders-1": 0}
        yield address


def complaints(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


def _shoot(page: Page, name: str) -> None:
    wide, high = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    clip: FloatRect = {"x": 0, "y": 0, "width": wide, "height": min(high, 1560 if wide > 600 else 2600)}
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True, clip=clip)


@pytest.mark.parametrize("look", LOOKS)
def test_every_view_is_clean_for_everybody(chromium: Browser, site: str, look: str) -> None:
    tab = Tab(chromium, **LOOKS[look])
    for view, path in VIEWS.items():
        page = tab.open(f"{site}{path}")
        expect(page.locator("#live-words")).to_have_text("live")
        if view == "pipeline-preview":
            page.get_by_role("button", name="Show samples").click()
            expect(page.locator("#preview")).to_contain_text("INSERT INTO")
        if view == "pipeline-parked":
            page.get_by_text("Record 0:9").click()
        assert complaints(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is wider than the screen"
        if (view, look) in KEPT:
            _shoot(page, f"{view}{'' if look == 'light' else '-' + look}")
    assert tab.wrong == []
    assert tab.asked == {site.split("/")[2]}
    tab.context.close()


def test_the_list_says_what_is_wrong_first_and_unknown_as_unknown(tab: Tab, site: str) -> None:
    page = tab.open(f"{site}/ui/")
    page.get_by_role("link", name="Pipelines", exact=True).click()
    rows = page.get_by_role("region", name="Pipelines").locator("tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.nth(0)).to_contain_text("payments-to-table")
    expect(rows.nth(0)).to_contain_text("DEGRADED")
    expect(rows.nth(0)).to_contain_text("connection refused")
    expect(rows.nth(0)).to_contain_text("unknown")  # nobody could ask how far behind it is
    expect(rows.filter(has_text="orders-to-search")).to_contain_text("812/s")
    expect(rows.filter(has_text="old-export")).to_contain_text("PAUSED")
    expect(rows.filter(has_text="old-export")).not_to_contain_text("0/s")
    rows.nth(0).get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("It tries again by itself")
    expect(page.locator("main")).to_contain_text("the JVM ended")
    page.keyboard.press("2")
    expect(page).to_have_url(re.compile("/parked$"))
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("/ui/pipelines$"))


def test_what_changes_is_shown_without_a_reload(tab: Tab, site: str, paper: PaperPipelines) -> None:
    page = tab.open(f"{site}{VIEWS['pipeline']}")
    expect(page.locator("main")).to_contain_text("connection refused")
    paper.running[1].progress.take({"task": 1, "end_of": "writer", "counts": {"put": 5}})
    expect(page.locator(".title .badge")).to_have_text("RUNNING", timeout=20_000)
    expect(page.get_by_role("region", name="Tasks")).not_to_contain_text("connection refused")


def test_a_parked_record_is_repaired_and_replayed_by_clicking(tab: Tab, site: str, paper: PaperPipelines) -> None:
    page = tab.open(f"{site}{VIEWS['pipeline-parked']}")
    page.get_by_text("Record 0:9").click()
    page.get_by_label("Value").filter(visible=True).fill('{"id": 9}')
    page.get_by_role("button", name="Replay 0:9").click()
    expect(page.locator("#parked")).to_contain_text("2 open, 1 replayed or dropped")
    assert paper.ordered == [("replayed", "orders-to-search", ["0:9"], {"0:9": b'{"id": 9}'})]
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_text("Record 0:7").click()
    page.get_by_role("button", name="Drop 0:7").click()
    expect(page.locator("#parked")).to_contain_text("1 open, 2 replayed or dropped")
    page.get_by_role("button", name="Replay all open records").click()
    expect(page.locator("#parked")).to_contain_text("0 open, 3 replayed or dropped")
    assert [one[:3] for one in paper.ordered[1:]] == [
        ("dropped", "orders-to-search", ["0:7"]),
        ("replayed", "orders-to-search", []),
    ]
    assert complaints(page) == []


def test_a_refusal_is_said_beside_the_button(tab: Tab, site: str, paper: PaperPipelines) -> None:
    page = tab.open(f"{site}{VIEWS['pipeline-parked']}")
    page.get_by_text("Record 0:8").click()
    paper.letters = [one for one in paper.letters if str(one.place) != "0:8"]  # retention took it meanwhile
    page.get_by_role("button", name="Replay 0:8").click()
    expect(page.locator("details[open] .said").first).to_contain_text("there is no such dead letter")


def test_a_pipeline_is_paused_and_resumed_by_clicking(tab: Tab, site: str) -> None:
    page = tab.open(f"{site}{VIEWS['pipeline']}")
    actions = page.get_by_role("region", name="Pipeline actions")
    expect(actions.locator("tbody tr")).to_have_count(1)
    page.on("dialog", lambda dialog: dialog.accept())
    actions.get_by_role("button", name="Pause payments-to-table").click()
    expect(actions).to_contain_text("pause was ordered")
    expect(actions.locator("tbody")).to_contain_text("PAUSED")
    actions.get_by_role("button", name="Resume payments-to-table").click()
    expect(actions.locator("tbody")).to_contain_text("RUNNING")
    page.goto(f"{site}/ui/links/east-%3Ewest")
    links = page.get_by_role("region", name="Link actions")
    expect(links.locator("tbody tr")).to_have_count(1)
    expect(links).not_to_contain_text("payments")
