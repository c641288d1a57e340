"""Every setting that the README and the guides write down exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from twinlog.config.text.catalogue import CATALOGUE

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PREFIX = re.compile(
    r"^(?:\w+->\w+|[A-Z]|east|west|north|archive|LINK)\."
    r"(?:(?:source|target)\.(?:consumer|producer|admin|cluster)\.|(?:consumer|producer|admin)\.)?"
)
"""A link or a cluster, and a client of it."""
OF_OTHERS = {
    *("retention.ms", "retention.bytes", "cleanup.policy"),  # configs of topics
    *("topic.preserve.partitions", "topic.timestamp.type", "topic.auto.create"),  # Replicator's
    "offset.timestamps.commit",  # of the interceptor of consumers
}


def written_keys(text: str) -> Iterator[str]:
    """Yield the keys of code blocks with properties, and those in prose that stand with a value."""
    for block in re.findall(r"^```properties\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from re.findall(r"^([\w.>-]+)\s*=", re.sub(r"\\\n\s*", "", block), re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"`([\w>-]+(?:\.[\w>-]+)+) = [^`]*`", prose)


def unknown_keys(text: str) -> list[str]:
    names = {key: PREFIX.sub("", key) for key in written_keys(text)}
    known = OF_OTHERS | {name for name in names.values() if any(key.covers(name) for key in CATALOGUE)}
    return [key for key, name in names.items() if name not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_setting_that_is_written_down_exists(page: Path) -> None:
    assert unknown_keys(page.read_text()) == []


def test_settings_are_found_and_mistakes_in_them_are_too() -> None:
    assert sum(len(list(written_keys(page.read_text()))) for page in PAGES) > 60
    text = "```properties\neast->west.topisc = a\nwest.sasl.mechanism = b\n```\nand `switch.fense.mode = acl`"
    assert unknown_keys(text) == ["east->west.topisc", "switch.fense.mode"]
