"""From a settings file to links: the entry point of this room. Runs once per start or validation.

    bytes -> entries (properties) -> values filled in (providers) -> links (here, routes, clients) -> remarks (review)
             └─ a connector is translated (replicator, mirror_connector) ─┘

All errors of a file are found in one pass; then nothing is returned and nothing was started. What the links of a file
mean depends on all links that run beside them, so texts are drafted one by one and examined together.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from twinlog.config.clients import resolve_client
from twinlog.config.foreign.mirror_connector import is_mirror_connector, translate_mirror
from twinlog.config.foreign.replicator import is_connector, parse_settings, translate
from twinlog.config.foreign.translated import Translated
from twinlog.config.link_resolution import resolve_link
from twinlog.config.routes import resolve_routes
from twinlog.config.security.connector_rules import ConnectorRules, broken_rules
from twinlog.config.service_settings import ServiceSettings, has_store, resolve_service
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.config.telling.review import review
from twinlog.config.text import catalogue as keys
from twinlog.config.text.file_kind import foreign_kind
from twinlog.config.text.lookup import LinkLookup, Lookup, Origin
from twinlog.config.text.precedence import (
    TARGET_ADMIN,
    TARGET_PRODUCER,
)
from twinlog.config.text.properties import Entry
from twinlog.config.text.provided import Provided
from twinlog.config.text.providers import References, expand, references_of_file
from twinlog.errors import Finding, SettingsInvalid
from twinlog.model.names import LinkName
from twinlog.model.routes.topology import Route


@dataclass(frozen=True)
class Resolved:
    """What a file came to. `origins` says per link and setting which key and line decided; safe to show (R12).

    `heartbeats` are the pairs that are no links but get heartbeats; a link's own are among its settings.
    """

    links: tuple[LinkSettings, ...]
    heartbeats: tuple[HeartbeatPair, ...]
    findings: tuple[Finding, ...]
    origins: Mapping[str, Mapping[str, Origin]] = field(repr=False)
    service: ServiceSettings
    # The text itself, to be read again together with links that were made while the service runs.
    draft: Draft = field(repr=False)


class Draft(NamedTuple):
    """A text as far as it can be read alone."""

    lookup: Lookup
    clusters: tuple[str, ...]
    connector: Translated | None
    findings: tuple[Finding, ...]
    # What config providers filled in; no finding shows it (R12).
    provided: Provided


class Examined(NamedTuple):
    """A text with everything that is wrong with it; the links are usable only when nothing is."""

    draft: Draft
    lookup: Lookup
    links: tuple[LinkSettings, ...]
    heartbeats: tuple[HeartbeatPair, ...]
    findings: tuple[Finding, ...]
    service: ServiceSettings


def load_file(path: Path, clusters: Collection[str] = ()) -> Resolved:
    """Read a settings file; with `clusters`, only links into one of these targets. Raises SettingsInvalid."""
    return resolve(read_file(path), str(path), clusters, os.environ)


def read_file(path: Path) -> bytes:
    """Read the bytes of a settings file. Raises SettingsInvalid."""
    try:
        return path.read_bytes()
    except OSError as error:
        finding = Finding(
            "error", str(path), None, None, f"the file cannot be read ({error.strerror}); `twinlog init` writes one"
        )
        raise _invalid(str(path), (finding,)) from None


def resolve(data: bytes, file: str, clusters: Collection[str], environment: Mapping[str, str]) -> Resolved:
    """Resolve the text of a file; `file` is its name in messages. Raises SettingsInvalid."""
    return conclude(examine(data, file, clusters, environment))


def conclude(examined: Examined) -> Resolved:
    """Return the links of a file that was examined. Raises SettingsInvalid when anything is wrong with it."""
    if any(finding.level == "error" for finding in examined.findings):
        raise _invalid(examined.lookup.file, examined.findings)
    return Resolved(
        examined.links,
        examined.heartbeats,
        examined.findings,
        examined.lookup.origins,
        examined.service,
        examined.draft,
    )


def examine(data: bytes, file: str, clusters: Collection[str], environment: Mapping[str, str]) -> Examined:
    """Read the text of a file as far as it can be read. Raises SettingsInvalid when it is another kind of file."""
    other = foreign_kind(data, file)
    if other is not None:
        raise _invalid(file, (Finding("error", file, None, None, other),))
    entries, findings = parse_settings(data, file)
    references = references_of_file(entries, file, environment)
    (examined,) = examine_together([draft(entries, findings, file, clusters, references)])
    return examined


def draft(
    entries: Mapping[str, Entry],
    findings: Iterable[Finding],
    file: str,
    clusters: Collection[str],
    references: References,
    *,
    rules: ConnectorRules | None = None,
) -> Draft:
    """Fill in what lies outside of a text and bring it into the keys of this room; `rules` hold for connectors."""
    expanded, unresolved, files, provided = expand(entries, file, references)
    if rules is not None:
        unresolved += broken_rules(expanded, file, rules)
        expanded.pop("clusters", None)  # refused; with it the text would be read as a file
    connector: Translated | None = None
    if is_connector(expanded):
        connector = translate(expanded, file)
    elif is_mirror_connector(expanded):
        connector = translate_mirror(expanded, file)
    lookup = Lookup(file, expanded if connector is None else connector.entries, opens_files=references.follows)
    lookup.files |= files
    lookup.token_urls = None if rules is None else rules.token_urls
    told = [*findings, *unresolved, *(connector.findings if connector is not None else ())]
    return Draft(lookup, tuple(clusters), connector, tuple(told), provided)


def examine_together(drafts: Sequence[Draft]) -> list[Examined]:
    """Read texts whose links run beside each other."""
    aliases = [_aliases(each.lookup) for each in drafts]
    chosen = [_enabled(each.lookup, names, each.clusters) for each, names in zip(drafts, aliases, strict=True)]
    every = [
        LinkLookup(each.lookup, link, runs=link in runs)
        for each, names, runs in zip(drafts, aliases, chosen, strict=True)
        for link in _enabled(each.lookup, names, ())
    ]
    routes = resolve_routes(every, [each.lookup for each in drafts])
    return [_examined(each, names, runs, routes) for each, names, runs in zip(drafts, aliases, chosen, strict=True)]


def _examined(
    drafted: Draft, aliases: tuple[str, ...], chosen: list[LinkName], routes: Mapping[LinkName, Route]
) -> Examined:
    lookup, connector = drafted.lookup, drafted.connector
    links = tuple(resolve_link(LinkLookup(lookup, link), routes[link]) for link in chosen)
    heartbeats = tuple(_heartbeats(lookup, aliases, drafted.clusters))
    service = ServiceSettings() if connector is not None else resolve_service(lookup)
    remarks = review(lookup.entries.values(), lookup.asked, aliases, lookup.file) if aliases else []
    complaints = [*lookup.findings, *remarks]
    if connector is not None:
        complaints = connector.retold(complaints)
        connector.origins(lookup.origins)
    told = drafted.provided.findings([*drafted.findings, *complaints])
    everything = sorted(told, key=lambda finding: finding.line or 0)
    return Examined(drafted, lookup, links, heartbeats, tuple(everything), service)


def _invalid(file: str, findings: tuple[Finding, ...]) -> SettingsInvalid:
    errors = [str(finding) for finding in findings if finding.level == "error"]
    title = f"{file}: {len(errors)} setting{'s are' if len(errors) > 1 else ' is'} wrong"
    return SettingsInvalid("\n  ".join([title, *errors]), findings)


def _aliases(lookup: Lookup) -> tuple[str, ...]:
    entry = lookup.find((keys.CLUSTERS.name,))
    aliases = lookup.read(keys.CLUSTERS, entry) or ()
    if entry is None and has_store(lookup):
        return ()  # links come over HTTP
    if len(set(aliases)) < 2:
        lookup.note("error", entry, "must list the aliases of at least two clusters", keys.CLUSTERS.name)
    return tuple(dict.fromkeys(aliases))


def _enabled(lookup: Lookup, aliases: tuple[str, ...], wanted: Collection[str]) -> list[LinkName]:
    """List the enabled links, in the order of `clusters`; pairs that MirrorMaker 2 runs for heartbeats are none."""
    for unknown in sorted(set(wanted) - set(aliases)):
        lookup.note("error", None, f"the command asks for cluster {unknown}, which `clusters` does not list")
    links = [LinkName(source, target) for source in aliases for target in aliases if source != target]
    enabled = [link for link in links if _is_enabled(lookup, link)]
    chosen = [link for link in enabled if not wanted or link.target in wanted]
    if len(aliases) > 1 and not enabled:
        lookup.note("error", None, f"no link is enabled; enable one with `{links[0]}.enabled = true`")
    elif enabled and not chosen:
        lookup.note("error", None, f"no enabled link leads to {' or '.join(wanted)}; enabled are {_listed(enabled)}")
    return chosen


def _listed(links: list[LinkName]) -> str:
    return ", ".join(str(link) for link in links)


def _is_enabled(lookup: Lookup, link: LinkName) -> bool:
    return LinkLookup(lookup, link, runs=False).value(keys.ENABLED)


def _heartbeats(lookup: Lookup, aliases: tuple[str, ...], wanted: Collection[str]) -> Iterator[HeartbeatPair]:
    """Find the pairs that are not mirrored but get heartbeats, by MirrorMaker 2's rule."""
    pairs = [LinkName(source, target) for source in aliases for target in aliases if source != target]
    for pair in pairs:
        if _is_enabled(lookup, pair) or (wanted and pair.target not in wanted):
            continue
        at = LinkLookup(lookup, pair, runs=False)
        if not at.value(keys.EMIT_HEARTBEATS):
            continue
        if at.entry(keys.BOOTSTRAP_SERVERS, TARGET_PRODUCER) is None:
            missing = f"{pair.target}.{keys.BOOTSTRAP_SERVERS.name}"
            lookup.note("warning", None, f"missing; {pair.target} gets no heartbeats", missing)
            continue
        yield HeartbeatPair(
            source=pair.source,
            target=pair.target,
            target_producer=resolve_client(at, TARGET_PRODUCER),
            target_admin=resolve_client(at, TARGET_ADMIN),
            seconds=at.value(keys.EMIT_HEARTBEATS_SECONDS),
            replication_factor=at.value(keys.HEARTBEATS_REPLICAS),
            admin_timeout_ms=at.value(keys.ADMIN_TIMEOUT_MS),
        )
