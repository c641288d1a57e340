"""Redirect hooks: how clients learn which cluster is active. Pure: what is sent where, and what must be read back.

A text may name what the switch knows; everything else in it stays as it is:

    {active}      alias of the cluster that is active now       {former}      alias of the other one
    {bootstrap}   bootstrap servers of the active cluster       {generation}  number of the decision
    {link}        the link that is switched
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

HookKind: TypeAlias = Literal["command", "webhook", "dns", "etcd", "consul"]


@dataclass(frozen=True)
class Direction:
    """Where clients are to go."""

    active: str
    former: str
    bootstrap: str
    generation: int
    link: str

    def fill(self, text: str) -> str:
        """The text with what is known filled in. Braces of anything else, JSON for one, are left alone."""
        for name, value in self.words().items():
            text = text.replace("{" + name + "}", value)
        return text

    def words(self) -> dict[str, str]:
        """What may be named, by its name."""
        return {
            "active": self.active,
            "former": self.former,
            "bootstrap": self.bootstrap,
            "generation": str(self.generation),
            "link": self.link,
        }

    def value(self, general: str | None, by_cluster: Mapping[str, str]) -> str:
        """The value for the active cluster: its own if it has one, else the general one, else its bootstrap servers."""
        return self.fill(by_cluster.get(self.active, general if general is not None else "{bootstrap}"))
