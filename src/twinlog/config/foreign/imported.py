"""Settings that were read from another tool's file, ready to be written as a links file. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_ALIAS = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass
class Imported:
    """Clusters and links of another tool in Twinlog's keys, and what has no counterpart."""

    tool: str
    clusters: dict[str, dict[str, str]] = field(default_factory=dict)
    links: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def cluster(self, alias: str, settings: Mapping[str, str]) -> str:
        """Add a cluster; return the alias as a links file can hold it."""
        good = alias_of(alias)
        self.clusters.setdefault(good, {}).update(settings)
        return good

    def link(self, source: str, target: str, settings: Mapping[str, str]) -> None:
        """Add a link between two clusters."""
        self.links.setdefault(f"{source}->{target}", {"enabled": "true"}).update(settings)

    def note(self, key: str, reason: str) -> None:
        """Say what has no counterpart, or changes."""
        self.notes.append(f"{key}: {reason}")

    def text(self) -> str:
        """Return the links file, commented."""
        lines = [f"# Made by `twinlog import` from a file of {self.tool}. Check it with `twinlog validate`."]
        if self.notes:
            lines += ["#", "# What has no counterpart or changes:"]
            lines += [f"#   {note}" for note in self.notes]
        lines += ["", f"clusters = {', '.join(self.clusters)}"]
        for alias, settings in self.clusters.items():
            lines += ["", *(f"{alias}.{key} = {_escaped(value)}" for key, value in settings.items())]
        for link, settings in self.links.items():
            lines += ["", *(f"{link}.{key} = {_escaped(value)}" for key, value in settings.items())]
        return "\n".join(lines) + "\n"


def alias_of(name: str) -> str:
    """Return a name as an alias of a cluster."""
    return _ALIAS.sub("-", name).strip("-") or "cluster"


def _escaped(value: str) -> str:
    """Return a value as properties files hold it."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
