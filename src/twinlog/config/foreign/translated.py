"""A connector's config in Twinlog's keys, and the reverse mapping for messages. Runs while a text is resolved."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from twinlog.config.text.lookup import Origin
from twinlog.config.text.properties import Entry
from twinlog.errors import Finding
from twinlog.model.names import LinkName


@dataclass
class Translated(ABC):
    """A connector in our keys; what is said about it names its own."""

    link: LinkName
    file: str
    entries: dict[str, Entry] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _written: dict[str, str] = field(default_factory=dict)  # our key -> the connector's

    @abstractmethod
    def _phrases(self) -> Iterable[tuple[str, str]]:
        """Words of ours and the connector's for them, the longest first."""

    def retold(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings in the words of the connector; what we implied ourselves is nobody's fault."""
        told: dict[Finding, None] = {}
        for finding in findings:
            if finding.key in self.entries and finding.key not in self._written:
                continue
            key = finding.key if finding.key is None else self._written.get(finding.key, self._words(finding.key))
            told[finding._replace(key=key, sentence=self._words(finding.sentence))] = None
        return list(told)

    def origins(self, origins: dict[str, dict[str, Origin]]) -> None:
        """Let the origins of settings name the keys of the connector."""
        for table in origins.values():
            for name, origin in table.items():
                if origin.key is not None:
                    written = self._written.get(origin.key)
                    table[name] = Origin(origin.value, written, origin.line if written else None)

    def _words(self, sentence: str) -> str:
        for own, foreign in self._phrases():
            sentence = sentence.replace(own, foreign)
        return sentence

    def _put(self, key: str, entry: Entry, *, weak: bool = False) -> None:
        if weak and key in self.entries:
            return
        self.entries[key] = dataclasses.replace(entry, key=key)
        self._written[key] = entry.key

    def _note(self, level: Any, entry: Entry | None, sentence: str, key: str | None = None) -> None:
        line, name = (None, key) if entry is None else (entry.line, entry.key)
        self.findings.append(Finding(level, self.file, line, name, sentence))
