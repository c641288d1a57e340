"""What a connector's settings are once they stand in the keys of this room. Runs while a text is resolved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from twinlog.config.lookup import Origin
from twinlog.config.properties import Entry
from twinlog.errors import Finding
from twinlog.model.names import LinkName


class Translated(Protocol):
    """A connector in our keys, and the way back to its own."""

    link: LinkName
    entries: dict[str, Entry]
    findings: list[Finding]

    def retold(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings in the connector's own words."""

    def origins(self, origins: dict[str, dict[str, Origin]]) -> None:
        """Let the origins of settings name the connector's own keys."""
