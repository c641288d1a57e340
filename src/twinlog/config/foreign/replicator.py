"""Confluent Replicator's connector file, JSON or properties, read as one link. Runs while a file is resolved.

    src.kafka.*  dest.kafka.*  src.consumer.*  topic.*  ──▶  the keys of this room for one link source->target  ──▶  …

The keys are translated, then everything goes the way of a MirrorMaker 2 file: the same values, findings and origins.
What is said about them is told back in Replicator's words. Keys of a link that are ours may stand in such a file too.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twinlog.config.foreign.replicator_keys import IMPLIED, MEANINGLESS, MUST_BE, RENAMED, Rename
from twinlog.config.foreign.translated import Translated
from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Scope
from twinlog.config.text.properties import Entry, parse_properties
from twinlog.errors import Finding
from twinlog.model.names import LinkName

_TO = re.compile(r"(?:replicat(?:or|e)[-_.])?(.+?)[-_]to[-_](.+)")
_NOT_IN_ALIASES = re.compile(r"[^A-Za-z0-9_-]+")


def parse_settings(data: bytes, file: str) -> tuple[dict[str, Entry], list[Finding]]:
    """Read a file of either kind: a JSON object of Connect, or properties."""
    if not data.lstrip().startswith(b"{"):
        return parse_properties(data, file)
    try:
        document = json.loads(data)
    except ValueError as error:
        return {}, [Finding("error", file, getattr(error, "lineno", None), None, f"not valid JSON: {error}")]
    config = document.get("config", document)
    if not isinstance(config, dict):
        return {}, [Finding("error", file, None, "config", "must be an object with the connector's settings")]
    config = {**({"name": document["name"]} if isinstance(document.get("name"), str) else {}), **config}
    entries: dict[str, Entry] = {}
    findings: list[Finding] = []
    for key, value in config.items():
        line = _line_of(data, key)
        if isinstance(value, dict | list) or value is None:
            findings.append(Finding("error", file, line, key, "must be a text, a number, true or false"))
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        entries[key] = Entry(key, line, text, text)
    return entries, findings


def _line_of(data: bytes, key: str) -> int:
    matched = re.search(rb'"' + re.escape(key.encode()) + rb'"\s*:', data)
    return data.count(b"\n", 0, matched.start()) + 1 if matched else 1


def is_connector(entries: Mapping[str, Entry]) -> bool:
    """Tell whether this is a file of Replicator's."""
    if "clusters" in entries:
        return False
    chosen = entries.get("connector.class")
    if chosen is not None:
        return chosen.value.strip().rpartition(".")[2].startswith("Replicator")
    return any(key.startswith(("src.kafka.", "dest.kafka.")) for key in entries)


@dataclass
class Connector(Translated):
    """A connector file in the keys of this room, and the way back to its own."""

    def _phrases(self) -> Iterable[tuple[str, str]]:
        source, target = self.link
        return (
            (f"{self.link}.source.consumer.", "src.consumer."),
            (f"{self.link}.producer.override.", "producer.override."),
            (f"{self.link}.", ""),
            (f"{source}.consumer.", "src.kafka."),
            (f"{target}.producer.", "dest.kafka."),
            (f"{source}.bootstrap.servers", "src.kafka.bootstrap.servers"),
            (f"{target}.bootstrap.servers", "dest.kafka.bootstrap.servers"),
            (", by MirrorMaker 2 too", ""),
        )

    # --- translating --------------------------------------------------------------------------------------------------

    def take(self, entry: Entry) -> None:
        """Translate one key of the file."""
        name = entry.key
        if name in MUST_BE:
            allowed, why = MUST_BE[name]
            word = entry.value.strip().rpartition(".")[2]
            if word.lower() != allowed.lower():
                self._note("error", entry, f"only {allowed} is possible here: {why}")
        elif name in RENAMED:
            self._rename(entry, RENAMED[name])
        elif (reason := _meaningless(name)) is not None:
            self._note("info", entry, f"no effect: {reason}")
        elif name.startswith("src.kafka."):
            self._client(entry, name.removeprefix("src.kafka."), self.link.source, ("consumer", "admin"))
        elif name.startswith("dest.kafka."):
            self._client(entry, name.removeprefix("dest.kafka."), self.link.target, ("producer", "admin"))
        elif name.startswith("src.consumer."):
            self._put(f"{self.link}.source.consumer.{name.removeprefix('src.consumer.')}", entry)
        elif name.startswith("admin.override."):
            self._put(f"{self.link}.target.admin.{name.removeprefix('admin.override.')}", entry)
        else:
            self._put(f"{self.link}.{name}", entry)

    def imply(self) -> None:
        """Replicator's own defaults where they differ from MirrorMaker 2's."""
        if not any(f"{self.link}.{name}" in self.entries for name in ("topic.whitelist", "topic.regex", "topics")):
            self._note("warning", None, "neither topic.whitelist nor topic.regex is set, so no topic is mirrored")
        implied = {
            "clusters": f"{self.link.source}, {self.link.target}",
            f"{self.link}.enabled": "true",
            **{f"{self.link}.{name}": value for name, value in IMPLIED.items()},
            "emit.heartbeats.enabled": "false",  # at the top: the pair that leads back gets none either
        }
        for key, value in implied.items():
            self.entries.setdefault(key, Entry(key, 1, value, value))

    def _client(self, entry: Entry, name: str, cluster: str, clients: tuple[str, ...]) -> None:
        if _known(name, {Scope.SHARED}):
            self._put(f"{cluster}.{name}", entry)
            return
        scopes = {"consumer": Scope.CONSUMER, "producer": Scope.PRODUCER, "admin": Scope.ADMIN}
        knowing = [client for client in clients if _known(name, {scopes[client]})]
        for client in knowing or clients[:1]:
            self._put(f"{cluster}.{client}.{name}", entry)

    def _rename(self, entry: Entry, rename: Rename) -> None:
        value = rename.convert(entry.value.strip())
        if value is None:
            self._note("error", entry, f"is not valid: allowed is {rename.allowed}")
            return
        written = entry.written if entry.provided else value
        self._put(f"{self.link}.{rename.name}", dataclasses.replace(entry, value=value, written=written))


def translate(entries: Mapping[str, Entry], file: str) -> Connector:
    """Read a connector file as one link."""
    connector = Connector(link_of(entries), file)
    for entry in entries.values():
        if entry.key not in {"name", "connector.class", "source.cluster.alias", "target.cluster.alias"}:
            connector.take(entry)
    connector.imply()
    return connector


def link_of(entries: Mapping[str, Entry]) -> LinkName:
    """Name the link: by the aliases in the file, by a name like `dc1-to-dc2`, or by the connector's name.

    The ledger and the writers' identities carry the source's name: two connectors into one cluster must not share it.
    """

    def alias(key: str) -> str:
        text = entries[key].value if key in entries else ""
        return _NOT_IN_ALIASES.sub("-", text.strip()).strip("-")

    name = alias("name") or "replicator"
    matched = _TO.fullmatch(name)
    source, target = (matched.group(1), matched.group(2)) if matched else (name, "dest")
    source, target = alias("source.cluster.alias") or source, alias("target.cluster.alias") or target
    return LinkName(source, target if target != source else f"{target}-dest")


def _known(name: str, scopes: set[Scope]) -> bool:
    return any(key.covers(name) and scopes & set(key.scopes) for key in CATALOGUE)


def _meaningless(name: str) -> str | None:
    for pattern, reason in MEANINGLESS.items():
        if name == pattern or (pattern.endswith(".*") and name.startswith(pattern[:-1])):
            return reason
    return None
