"""Names, selections and provenance of all links of a file, which depend on each other. Runs while it is resolved.

A link's way back decides what its names mean, and the whole topology decides which records are copied on: so all
enabled links are read here, also those that another process runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from twinlog.config.registry_mirror import registry_links, resolve_registry_mirror
from twinlog.config.residency import resolve_residency
from twinlog.config.text import catalogue as keys
from twinlog.config.text import registry_keys
from twinlog.config.text.lookup import LinkLookup, Lookup
from twinlog.model.javaregex import RegexError
from twinlog.model.names import LinkName
from twinlog.model.naming import ReplicationNaming
from twinlog.model.routes.provenance import Mode, Provenance, Relay
from twinlog.model.routes.residency import Residency, asked_for, unrecognised
from twinlog.model.routes.topology import Route, settle
from twinlog.model.selection import Patterns, Selection
from twinlog.model.transforms import FieldMask


def resolve_routes(links: Iterable[LinkLookup], texts: Iterable[Lookup]) -> dict[LinkName, Route]:
    """Read every enabled link; a topology that would bring records back or twice is noted as an error."""
    lookups = list(links)
    namings = _namings(lookups)
    mirrored = registry_links(lookups)
    routes = [
        Route(at.link, namings[at.link], _with_registry(at, at.link in mirrored), *_provenance(at, namings))
        for at in lookups
    ]
    rules = resolve_residency(texts)
    routes = [_resident(at, route, rules, lookups) for at, route in zip(lookups, routes, strict=True)]
    carried = unrecognised(rules, routes)
    if carried is not None:
        rule, renamed, further = carried
        sentence = (
            f"residency {rule.name}: {renamed.link} renames topics, so {further.link} would not recognise them; remove "
            f"topic.rename.format, or the link {further.link}"
        )
        lookups[0].lookup.note("error", None, sentence)
    settled = settle(routes)
    if settled.fault is not None and lookups:
        lookups[0].lookup.note("error", None, f"the links form a loop: {settled.fault}; {settled.remedy}")
    if any(route.auto and route.provenance.relay == "none" for route in settled.routes):
        links_of = ", ".join(str(route.link) for route in settled.routes if route.provenance.relay == "none")
        sentence = f"a full mesh with the same names: each link copies only what was born at its source ({links_of})"
        lookups[0].lookup.note("info", None, sentence)
    return {route.link: route for route in settled.routes}


def _namings(lookups: list[LinkLookup]) -> dict[LinkName, ReplicationNaming]:
    namings = {at.link: _naming(at) for at in lookups}
    for link, naming in namings.items():
        back = namings.get(LinkName(link.target, link.source))
        if back is not None and back.policy == "identity":
            namings[link] = replace(naming, opposite_format=back.rename_format)
    return namings


def _naming(at: LinkLookup) -> ReplicationNaming:
    policy, renames = at.value(keys.POLICY_CLASS), at.entry(keys.RENAME_FORMAT)
    chosen = at.entry(keys.POLICY_CLASS)
    if renames is not None and chosen is not None and policy != "identity":
        at.lookup.note(
            "warning", chosen, f"no effect: {renames.key} in line {renames.line} says what copies are called"
        )
    return ReplicationNaming(
        policy="identity" if renames is not None or policy == "identity" else "default",
        separator=at.value(keys.SEPARATOR),
        source_alias=at.link.source,
        separator_in_internal_topics=at.value(keys.SEPARATOR_INTERNAL),
        rename_format=at.value(keys.RENAME_FORMAT),
        kept=() if at.value(registry_keys.MIRROR) == "off" else resolve_registry_mirror(at, mirrored=False).topics,
    )


def _selection(at: LinkLookup) -> Selection:
    """MirrorMaker 2's patterns, or Replicator's words: then its rule holds, that what nothing names is not copied."""
    include, exclude = at.value(keys.TOPICS), at.value(keys.TOPICS_EXCLUDE)
    named, pattern = at.value(keys.TOPIC_WHITELIST), at.optional(keys.TOPIC_REGEX)
    if any(at.entry(key) is not None for key in (keys.TOPIC_WHITELIST, keys.TOPIC_REGEX)):
        include = (
            *map(_quoted, named),
            *((pattern,) if pattern else ()),
            *(include if at.entry(keys.TOPICS) is not None else ()),
        )
        exclude = exclude if at.entry(keys.TOPICS_EXCLUDE) is not None else ()
    banned = at.value(keys.TOPIC_BLACKLIST)
    exclude = (*exclude, *map(_quoted, banned))
    for key, patterns in ((keys.TOPICS, include), (keys.TOPICS_EXCLUDE, exclude)):
        try:
            Patterns(patterns).check()
        except RegexError as error:
            # Each key alone was in order; joined they are not (two groups of one name).
            entry = at.entry(key) or at.entry(keys.TOPIC_REGEX)
            at.lookup.note("error", entry, f"together with the other patterns of the link it has {error}", key.name)
            return Selection(())
    return Selection(include, exclude, heartbeats=at.value(keys.HEARTBEATS_REPLICATION))


def _resident(at: LinkLookup, route: Route, rules: Sequence[Residency], every: Sequence[LinkLookup]) -> Route:
    """Leave out what must not leave its clusters; a link that asks for it by name is refused."""
    named = asked_for(rules, at.link, route.selection.include)
    if named is not None:
        rule, pattern = named
        entry = at.entry(keys.TOPICS) or at.entry(keys.TOPIC_WHITELIST) or at.entry(keys.TOPIC_REGEX)
        sentence = f"{pattern} must not reach {at.link.target}: residency {rule.name} keeps it on {_list(rule)}"
        at.lookup.note("error", entry, sentence, keys.TOPICS.name)
    aliases = {alias for lookup in every for alias in lookup.link}
    left_out: list[str] = []
    for rule in rules:
        if rule.forbids(at.link):
            left_out += rule.excluded(aliases, route.naming.separator)
            sentence = (
                f"residency {rule.name}: {', '.join(rule.topics)} stays on {_list(rule)}; {at.link} leaves it out"
            )
            at.lookup.note("info", None, sentence)
        elif rule.leads_out(at.link):
            copies = Patterns(rule.excluded(aliases, route.naming.separator))
            route = replace(route, masks=(*route.masks, FieldMask(rule.name, copies, rule.masked)))
            fields = ", ".join(rule.masked)
            sentence = f"residency {rule.name}: {at.link} masks {fields} in values of {', '.join(rule.topics)}"
            at.lookup.note("info", None, sentence)
    if not left_out:
        return route
    bound = Patterns(tuple(left_out))
    registry = tuple(topic for topic in route.selection.registry if not bound.matches(topic))
    selection = replace(route.selection, exclude=(*route.selection.exclude, *left_out), registry=registry)
    return replace(route, selection=selection)


def _list(rule: Residency) -> str:
    return ", ".join(rule.clusters)


def _with_registry(at: LinkLookup, mirrored: bool) -> Selection:
    """The selection, and what becomes of the topics of the schema registry: they go one way, or not at all."""
    topics = resolve_registry_mirror(at, mirrored=mirrored).topics
    if mirrored:
        return replace(_selection(at), registry=topics)
    # Where nobody said anything about the registry, `off` leaves its topic to the patterns, as it ever was.
    return _selection(at) if at.value(registry_keys.MIRROR) == "off" else replace(_selection(at), not_this_way=topics)


def _quoted(name: str) -> str:
    return name.replace(".", r"\.")


def _provenance(at: LinkLookup, namings: Mapping[LinkName, ReplicationNaming]) -> tuple[Provenance, bool]:
    """The link's provenance, and whether its relay rule is to be chosen by the topology."""
    mode, relay = _mode(at, namings), at.value(keys.PROVENANCE_RELAY)
    overrides = at.value(keys.PROVENANCE_OVERRIDES)
    if mode == "batch" and any(not override.is_for_ever for override in overrides):
        needs = f"a time needs {keys.PROVENANCE_HEADERS.name} = true: a batch does not tell when it was copied"
        at.lookup.note("error", at.entry(keys.PROVENANCE_OVERRIDES), needs)
    chosen = cast("Relay", "all" if relay == "auto" else relay)
    return Provenance(mode, chosen, overrides), relay == "auto"


def _mode(at: LinkLookup, namings: Mapping[LinkName, ReplicationNaming]) -> Mode:
    told, headers = at.optional(keys.PROVENANCE_MODE), at.value(keys.PROVENANCE_HEADERS)
    if headers and told not in {None, "header"}:
        clash = f"contradicts {keys.PROVENANCE_HEADERS.name} = true; remove one of the two"
        at.lookup.note("error", at.entry(keys.PROVENANCE_MODE), clash)
    if told is not None:
        return cast("Mode", told)
    if headers:
        return "header"
    back = namings.get(LinkName(at.link.target, at.link.source))
    same_names = namings[at.link].policy == "identity" or (back is not None and back.policy == "identity")
    # With prefixes on both ways the names alone tell, and nobody needs the right to read the writers' notes.
    return "batch" if same_names else "off"
