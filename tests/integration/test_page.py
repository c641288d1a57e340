"""The page in a real browser, in short; `make page` looks at every view."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.kit.browser import Tab, chromium, needs_browser, paper, site, tab

__all__ = ["chromium", "paper", "site", "tab"]


@needs_browser
def test_the_page_loads_lives_and_filters(tab: Tab, site: str) -> None:
    page = tab.open(f"{site}/ui/")
    expect(page.locator("#live-words")).to_have_text("live")
    expect(page.get_by_role("row", name=re.compile("east->west DEGRADED"))).to_be_visible()
    expect(page.locator("figure canvas")).to_have_count(4)
    lag = page.locator("[data-live=lag]")
    before = lag.inner_text()
    expect(lag).not_to_have_text(before)
    page.get_by_role("row").get_by_role("link", name="east->west").click()
    expect(page.locator("#rows tbody tr")).to_have_count(8)
    page.get_by_label("Name contains").fill("pay")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    expect(page.locator("#rows tbody tr")).to_contain_text("4100..4250")
    assert tab.wrong == []
    assert tab.asked == {site.split("/")[2]}
