"""The schemas in a real browser: who leads, versions side by side, a pasted schema; clean for everybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.kit.browser import Tab, chromium, needs_browser, served, tab
from tests.kit.paper_backend import PaperBackend, everything
from tests.kit.paper_registry import add_registry, record_of

__all__ = ["chromium", "tab"]
pytestmark = needs_browser

AXE = Path(__file__).parent / "vendor" / "axe-4.10.3.min.js"
SHOTS = Path(__file__).parents[2] / "docs" / "screenshots"


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    backend = PaperBackend()
    app = everything(backend)
    add_registry(backend, app.state.app_state)
    with served(app) as address:
        yield address


def _clean(page: Page, tab: Tab) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"
    assert tab.wrong == []


def test_from_the_list_to_a_verdict(tab: Tab, site: str) -> None:
    page = tab.open(f"{site}/ui/")
    page.get_by_role("link", name="Schemas").click()
    registries = page.get_by_role("region", name="Registries")
    expect(registries.locator("tbody tr").nth(0)).to_contain_text("http://reg-1.east:8081")
    expect(registries.locator("tbody tr").nth(1)).to_contain_text("copy of east")
    _clean(page, tab)
    page.screenshot(path=SHOTS / "schemas.png", full_page=True)
    page.get_by_label("Subject contains").fill("ord")
    subjects = page.get_by_role("region", name="Subjects").locator("tbody tr")
    expect(subjects).to_have_count(1)
    expect(subjects).to_contain_text("1 missing in west")
    page.get_by_role("link", name="orders-value").click()
    sides = page.get_by_role("region", name="Versions side by side")
    expect(sides.locator("ins").filter(has_text="coupon")).to_have_count(1)
    page.get_by_label("Left").select_option("1")
    page.get_by_role("button", name="Compare").click()
    expect(sides.locator("ins").filter(has_text="note")).to_have_count(1)
    page.get_by_label("Schema", exact=True).fill(json.dumps(record_of("Order", ("id", "string"), ("new", "int"))))
    page.get_by_role("button", name="Check compatibility").click()
    expect(page.locator("#verdict")).to_contain_text("not compatible")
    expect(page.locator("#verdict")).to_contain_text("READER_FIELD_MISSING_DEFAULT_VALUE")
    _clean(page, tab)
    page.screenshot(path=SHOTS / "schema-versions.png", full_page=True)
    page.get_by_label("Schema", exact=True).fill(json.dumps(record_of("Order", ("id", "string"))))
    page.get_by_role("button", name="Check compatibility").click()
    expect(page.locator("#verdict")).to_contain_text("would take this schema")
    assert tab.asked == {site.split("/")[2]}


@pytest.mark.parametrize("path", ["/ui/schemas", "/ui/schemas/subject?name=orders-value"])
@pytest.mark.parametrize("look", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
def test_dark_and_narrow(chromium: Browser, site: str, path: str, look: dict[str, object]) -> None:
    one = Tab(chromium, **look)
    page = one.open(f"{site}{path}")
    expect(page.locator("#live-words")).to_have_text("live")
    _clean(page, one)
    one.context.close()


def test_versions_stay_beside_each_other_on_a_phone(chromium: Browser, site: str) -> None:
    one = Tab(chromium, viewport={"width": 390, "height": 800})
    page = one.open(f"{site}/ui/schemas/subject?name=orders-value")
    expect(page.locator("#live-words")).to_have_text("live")
    left, right = (page.locator(".sides tbody tr").nth(1).locator("pre").nth(side).bounding_box() for side in (0, 1))
    assert left is not None
    assert right is not None
    assert (left["y"], left["x"] + left["width"] <= right["x"]) == (right["y"], True)
    code = page.locator(".sides tbody tr pre")
    assert len({round(code.nth(n).bounding_box()["x"]) for n in range(code.count())}) == 2, "code begins in two columns"  # type: ignore[index]
    one.context.close()
