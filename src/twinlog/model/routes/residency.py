"""Residency rules: topics that may exist on some clusters only, so that data does not leave a region. Pure.

A link into any other cluster leaves these topics out, under their own name and under the names that copies have
(`east.eu.orders` with the default policy). A link that asks for such a topic by its name is refused. With fields to
mask the topics may leave, and the fields do not: the link masks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twinlog.model.names import LinkName
from twinlog.model.naming import TOPIC
from twinlog.model.routes.topology import Route, is_plain, unescaped
from twinlog.model.selection import Patterns


@dataclass(frozen=True)
class Residency:
    """One rule: topics whose whole name matches exist on these clusters only."""

    name: str
    topics: tuple[str, ...]
    clusters: tuple[str, ...]
    masked: tuple[str, ...] = ()  # the topics may leave, with these fields of their values masked

    def leads_out(self, link: LinkName) -> bool:
        """Whether the link leads out of the clusters of the rule."""
        return link.target not in self.clusters

    def forbids(self, link: LinkName) -> bool:
        """Whether the link must leave the topics out."""
        return self.leads_out(link) and not self.masked

    def excluded(self, aliases: Iterable[str], separator: str) -> tuple[str, ...]:
        """Return the patterns that a link out of the clusters leaves out: the topics and all names of copies."""
        names = "|".join(re.escape(alias) for alias in sorted(aliases))
        return tuple(f"(?:(?:{names}){re.escape(separator)})*(?:{pattern})" for pattern in self.topics)


def asked_for(rules: Sequence[Residency], link: LinkName, include: Iterable[str]) -> tuple[Residency, str] | None:
    """Return the rule that forbids a topic which a link names in its selection, and the topic."""
    for pattern in include:
        for rule in rules:
            if rule.forbids(link) and (pattern in rule.topics or _names(pattern, rule)):
                return rule, pattern
    return None


def _names(pattern: str, rule: Residency) -> bool:
    return is_plain(pattern) and Patterns(rule.topics).matches(unescaped(pattern))


def unrecognised(rules: Sequence[Residency], routes: Sequence[Route]) -> tuple[Residency, Route, Route] | None:
    """Return a rule, a link that renames its topics, and a link that would carry the renamed copies out."""
    for rule in rules:
        for route in routes:
            if rule.leads_out(route.link) or route.naming.rename_format == TOPIC:
                continue
            for further in routes:
                if further.link.source == route.link.target and rule.leads_out(further.link):
                    return rule, route, further
    return None
