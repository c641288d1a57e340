"""Which tables and columns: Debezium's include and exclude lists. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from twinlog.pipelines.api import Finding, SettingsRefused


@dataclass(frozen=True)
class Lists:
    """Two comma-separated lists of regular expressions; each must match the whole name."""

    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]

    def take(self, name: str) -> bool:
        if self.include:
            return any(pattern.fullmatch(name) for pattern in self.include)
        return not any(pattern.fullmatch(name) for pattern in self.exclude)


def read_lists(key: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> Lists:
    """Raises SettingsRefused."""
    if include and exclude:
        raise SettingsRefused([Finding(f"{key}.include.list", f"excludes {key}.exclude.list; give one of both")])
    made = []
    for name, texts in ((f"{key}.include.list", include), (f"{key}.exclude.list", exclude)):
        try:
            made.append(tuple(re.compile(text, re.IGNORECASE) for text in texts))
        except re.error as error:
            raise SettingsRefused([Finding(name, f"no regular expression: {error}")]) from error
    return Lists(*made)
