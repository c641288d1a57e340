"""The settings of one of MirrorMaker 2's connectors, as Connect takes them, read as one link. Runs while they resolve.

    source.cluster.*  target.cluster.*  topics  consumer.*  ──▶  A->B.source.cluster.*  A->B.topics  A->B.consumer.*

A connector knows one pair of clusters and nothing of others, so every key becomes the link's own. What is said about
them is told back in the connector's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from twinlog.config.foreign.replicator_keys import MUST_BE
from twinlog.config.foreign.translated import Translated
from twinlog.config.text.properties import Entry
from twinlog.model.link_connectors import sort_of
from twinlog.model.names import LinkName

_ALIASES: Final = ("source.cluster.alias", "target.cluster.alias")
_NAMES: Final = frozenset({"name", "connector.class", *_ALIASES})
_CONVERTERS: Final = frozenset({"header.converter"})
_ALIAS: Final = re.compile(r"[A-Za-z0-9_.-]+")
_OF_CONNECT: Final = (
    "config.action.reload", "connector.plugin.version", "tasks.max.enforce", "exactly.once.support",
    "transaction.boundary", "transaction.boundary.interval.ms", "offsets.storage.topic", "internal.",
    "header.converter.", "topic.creation.", "errors.",
)  # fmt: skip
_NO_WORKER: Final = "no effect: there are no Connect workers here"


def is_mirror_connector(entries: Mapping[str, Entry]) -> bool:
    """Tell whether these are the settings of one of MirrorMaker 2's connectors."""
    chosen = entries.get("connector.class")
    return "clusters" not in entries and chosen is not None and sort_of(chosen.value) not in {None, "replicator"}


@dataclass
class MirrorConnector(Translated):
    """A connector's config in Twinlog's keys, and the reverse mapping for messages."""

    def _phrases(self) -> Iterable[tuple[str, str]]:
        source, target = self.link
        return (
            (f"{self.link}.", ""),
            (f"{source}.bootstrap.servers", "source.cluster.bootstrap.servers"),
            (f"{target}.bootstrap.servers", "target.cluster.bootstrap.servers"),
            (", by MirrorMaker 2 too", ""),
        )

    # --- translating --------------------------------------------------------------------------------------------------

    def take(self, entry: Entry) -> None:
        """Translate one key."""
        name = entry.key
        if name in _CONVERTERS:
            allowed, why = MUST_BE[name]
            if entry.value.strip().rpartition(".")[2] != allowed:
                self._note("error", entry, f"only {allowed} is possible here: {why}")
        elif any(name == known or (known.endswith(".") and name.startswith(known)) for known in _OF_CONNECT):
            # This one has a meaning here, and says so itself.
            if name == "errors.tolerance":
                self._put(f"{self.link}.{name}", entry)
            else:
                self._note("info", entry, _NO_WORKER)
        elif name.startswith("target.cluster."):
            self._put(f"{self.link}.{name}", entry)
            # A connector's records are written by its worker's producer, into the worker's cluster: the target.
            self._put(f"{self.link}.producer.override.{name.removeprefix('target.cluster.')}", entry, weak=True)
        else:
            self._put(f"{self.link}.{name}", entry)

    def imply(self) -> None:
        """What a connector is by being there; what other connectors are for is off unless somebody switched it on."""
        implied = {
            "clusters": f"{self.link.source}, {self.link.target}",
            f"{self.link}.enabled": "true",
            f"{self.link}.emit.checkpoints.enabled": "false",
            f"{self.link}.sync.group.offsets.enabled": "false",
            "emit.heartbeats.enabled": "false",
        }
        for key, value in implied.items():
            self.entries.setdefault(key, Entry(key, 1, value, value))

    def check_aliases(self, entries: Mapping[str, Entry]) -> None:
        """Both must be there and differ; a ledger is named by them."""
        for key in _ALIASES:
            value = entries[key].value.strip() if key in entries else ""
            if not value:
                self._note("error", entries.get(key), "missing; it names the cluster", key)
            elif not _ALIAS.fullmatch(value):
                self._note("error", entries.get(key), "allowed are letters, digits, `.`, `_` and `-`")
        if self.link.source == self.link.target:
            self._note("error", entries.get(_ALIASES[1]), "both clusters have the same alias", _ALIASES[1])


def translate_mirror(entries: Mapping[str, Entry], file: str) -> MirrorConnector:
    """Read a connector's settings as one link."""
    pair = pair_of({key: entry.value for key, entry in entries.items()})
    connector = MirrorConnector(pair, file)
    connector.check_aliases(entries)
    # Overrides first: they win over what the worker's producer has from its cluster.
    for entry in sorted(entries.values(), key=lambda entry: entry.key.startswith("target.cluster.")):
        if entry.key not in _NAMES:
            connector.take(entry)
    connector.imply()
    return connector


def pair_of(config: Mapping[str, str]) -> LinkName:
    """Name the pair of clusters of one of MirrorMaker 2's connectors; MirrorMaker 2's defaults where it does not."""
    source, target = (config.get(key, "").strip() for key in _ALIASES)
    return LinkName(source or "source", target or "target")
