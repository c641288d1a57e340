"""The links of a service: those of its file and those that connectors describe, read together.

Runs in the service whenever either changes. A connector that cannot be read any more stops nothing but itself (R8).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from twinlog.config.foreign.mirror_connector import pair_of
from twinlog.config.foreign.replicator import link_of
from twinlog.config.resolve import Draft, Examined, Resolved, draft, examine_together
from twinlog.config.settings import HeartbeatPair, LinkSettings
from twinlog.config.text.providers import NAMES, refers
from twinlog.control.grounds import Grounds, entries_of
from twinlog.control.kind import Part
from twinlog.errors import Finding
from twinlog.model.connectors import STARTED, Connector, TargetState
from twinlog.model.link_connectors import CLASSES, COPYING, Sort, file_connector, sort_of

log = logging.getLogger("twinlog.connectors")

_CHECKPOINT_KEYS: Final = (
    "groups", "groups.exclude", "groups.blacklist", "refresh.groups.enabled", "refresh.groups.interval.seconds",
    "emit.checkpoints.enabled", "emit.checkpoints.interval.seconds", "checkpoints.topic.replication.factor",
    "sync.group.offsets.enabled", "sync.group.offsets.interval.seconds", "group.rewinds",
)  # fmt: skip
_HEARTBEAT_KEYS: Final = (
    "emit.heartbeats.enabled",
    "emit.heartbeats.interval.seconds",
    "heartbeats.topic.replication.factor",
)
_CHORE_KEYS: Final[dict[Sort, tuple[str, ...]]] = {"checkpoint": _CHECKPOINT_KEYS, "heartbeat": _HEARTBEAT_KEYS}
_ON: Final[dict[Sort, dict[str, str]]] = {
    "checkpoint": {"emit.checkpoints.enabled": "true", "sync.group.offsets.enabled": "true"},
    "heartbeat": {"emit.heartbeats.enabled": "true"},
}
_OFF: Final[dict[Sort, dict[str, dict[str, object]]]] = {
    "checkpoint": {"checkpoints": {"enabled": False}, "group_offsets": {"enabled": False}},
    "heartbeat": {"heartbeats": {"enabled": False}},
}


def _sort(connector: Connector) -> Sort:
    """Which class of links a connector has; one of another family is not asked about."""
    return sort_of(connector.class_name) or "source"


def link_name(connector: Connector) -> str:
    """Name the link that a connector is, or whose sync job it is."""
    if _sort(connector) == "replicator":
        return str(link_of(entries_of(connector.config)))
    return str(pair_of(connector.config))


def check_connector(connector: Connector, grounds: Grounds) -> tuple[Finding, ...]:
    """Find all that is wrong with one connector by itself."""
    (examined,) = examine_together([_alone(connector, grounds)])
    findings = (*examined.findings, *_transform_findings(examined))
    if grounds.looks_inside:
        return findings
    # Nobody looked where these lead, so whether they are right is not known.
    unseen = {key for key, value in connector.config.items() if refers(value) and key not in NAMES}
    return tuple(finding for finding in findings if finding.key not in unseen)


def _transform_findings(examined: Examined) -> Iterator[Finding]:
    """What is wrong with transforms, in the keys of a connector."""
    for link in examined.links:
        if link.transforms:
            from twinlog.pipelines.link_rules import link_findings  # noqa: PLC0415  it loads Spark's library

            said = [
                Finding("error", examined.lookup.file, None, finding.key, finding.message)
                for finding in link_findings(link.transforms)
            ]
            yield from examined.draft.provided.findings(said)


def connectors_of(file: Resolved) -> list[Connector]:
    """Show the links of a file as connectors: each link, and its sync jobs that are on. Nothing in it is secret."""
    connectors = []
    for link in file.links:
        shown = {
            name: origin.value for name, origin in file.origins.get(link.name, {}).items() if origin.key is not None
        }
        own = {name: value for name, value in shown.items() if ": " not in name and name != "enabled"}
        kinds: list[Sort] = ["source"]
        kinds += ["checkpoint"] if link.checkpoints.enabled or link.group_offsets.enabled else []
        kinds += ["heartbeat"] if link.heartbeats.enabled else []
        for kind in kinds:
            config = {
                "connector.class": CLASSES[kind],
                "name": file_connector(link.name, kind),
                "source.cluster.alias": link.source,
                "target.cluster.alias": link.target,
                "source.cluster.bootstrap.servers": ",".join(link.clients.source_admin.bootstrap_servers),
                "target.cluster.bootstrap.servers": ",".join(link.clients.target_admin.bootstrap_servers),
                **own,
            }
            connectors.append(Connector(config["name"], config, in_file=True))
    return connectors


def plan_links(
    file: Resolved | None, stored: Sequence[Connector], state_of: Callable[[str], TargetState], grounds: Grounds
) -> Part:
    """Plan all links together: the names and provenance of one depend on the others."""
    troubles: dict[str, str] = {}
    copying, chores = _sorted_out(file, stored, troubles)
    read = _read(file, copying, chores, grounds, troubles)
    links: list[LinkSettings] = []
    settings: dict[str, LinkSettings] = {}
    for examined, connector in read:
        for link in examined.links:
            settings[link.name] = link
            states = {kind: state_of(file_connector(link.name, kind)) for kind in ("source", *_OFF)}
            if connector is not None:
                if connector.state == STARTED:
                    links.append(link)
            elif states["source"] == STARTED:
                updates = [off for kind, off in _OFF.items() if states[kind] != STARTED]
                links.append(link.updated(**{k: v for off in updates for k, v in off.items()}))
    pairs = [pair for examined, connector in read if connector is None for pair in examined.heartbeats]
    pairs += _lone_heartbeats(chores, settings, grounds, troubles)
    return Part(tuple(links), settings, troubles, tuple(pairs))


def _sorted_out(
    file: Resolved | None, stored: Sequence[Connector], troubles: dict[str, str]
) -> tuple[list[Connector], dict[tuple[str, Sort], Connector]]:
    """Tell links from sync jobs; of two that claim the same, the first has it."""
    taken = {link.name: f"the settings file {file.draft.lookup.file}" for link in file.links} if file else {}
    in_file = set(taken)
    copying: list[Connector] = []
    chores: dict[tuple[str, Sort], Connector] = {}
    for connector in stored:
        link = link_name(connector)
        if _sort(connector) in COPYING:
            if link in taken:
                troubles[connector.name] = f"{link} is copied by {taken[link]} already"
                continue
            taken[link] = f"connector {connector.name}"
            copying.append(connector)
        elif link in in_file:
            troubles[connector.name] = f"{link} and all its sync jobs are a matter of {taken[link]}"
        elif (link, _sort(connector)) in chores:
            troubles[connector.name] = f"connector {chores[link, _sort(connector)].name} does this for {link} already"
        else:
            chores[link, _sort(connector)] = connector
    copied = {link_name(connector) for connector in copying}
    for (link, kind), connector in chores.items():
        if kind == "checkpoint" and link not in copied:
            troubles[connector.name] = f"no MirrorSourceConnector copies {link}, so there is nothing to translate by"
    return copying, chores


def _read(
    file: Resolved | None,
    copying: Iterable[Connector],
    chores: Mapping[tuple[str, Sort], Connector],
    grounds: Grounds,
    troubles: dict[str, str],
) -> list[tuple[Examined, Connector | None]]:
    good: list[tuple[Draft, Connector | None]] = [] if file is None else [(file.draft, None)]
    for connector in copying:
        try:
            (alone,) = examine_together([_together(connector, chores, grounds)])
        except Exception:  # whoever wrote this record must not stop the links of all others (R8)
            log.exception("connector %s cannot be read", connector.name)
            troubles[connector.name] = "it cannot be read; the log of the service says why"
            continue
        if errors := _errors((*alone.findings, *_transform_findings(alone))):
            troubles[connector.name] = "; ".join(errors)
        else:
            good.append((_together(connector, chores, grounds), connector))
    all_examined = examine_together([draft for draft, _ in good])
    errors = [text for examined in all_examined for text in _errors(examined.findings)]
    if errors and any(connector for _, connector in good):
        # Each of them is in order, all of them are not: the links form a loop. The file's come first.
        troubles.update((connector.name, "; ".join(errors)) for _, connector in good if connector)
        good = [(_fresh(draft), connector) for draft, connector in good if connector is None]
        all_examined = examine_together([draft for draft, _ in good])
    return list(zip(all_examined, (connector for _, connector in good), strict=True))


def _fresh(draft: Draft) -> Draft:
    """The same text without what was said about it."""
    draft.lookup.findings.clear()
    return draft


def _errors(findings: Iterable[Finding]) -> list[str]:
    return [str(finding) for finding in findings if finding.level == "error"]


def _lone_heartbeats(
    chores: Mapping[tuple[str, Sort], Connector],
    settings: Mapping[str, LinkSettings],
    grounds: Grounds,
    troubles: dict[str, str],
) -> Iterable[HeartbeatPair]:
    for (name, kind), connector in chores.items():
        if kind != "heartbeat" or name in settings or connector.state != STARTED:
            continue
        (examined,) = examine_together([_alone(connector, grounds)])
        if errors := _errors(examined.findings):
            troubles[connector.name] = "; ".join(errors)
            continue
        yield from (HeartbeatPair.of(link) for link in examined.links if link.heartbeats.enabled)


def _together(connector: Connector, chores: Mapping[tuple[str, Sort], Connector], grounds: Grounds) -> Draft:
    """A link's connector with the sync jobs that other connectors switch on for it."""
    if _sort(connector) == "replicator":
        return _draft(connector, connector.config, grounds)
    others = {key for keys in _CHORE_KEYS.values() for key in keys}
    config = {key: value for key, value in connector.config.items() if key not in others}
    for kind, keys in _CHORE_KEYS.items():
        chore = chores.get((link_name(connector), kind))
        if chore is not None and chore.state == STARTED:
            config |= _ON[kind] | {key: chore.config[key] for key in keys if key in chore.config}
    return _draft(connector, config, grounds)


def _alone(connector: Connector, grounds: Grounds) -> Draft:
    config = {**_ON.get(_sort(connector), {}), **connector.config}
    target = config.get("target.cluster.bootstrap.servers")
    if _sort(connector) == "heartbeat" and target is not None:
        # It is written to the target alone; an address of the source is often left out.
        config.setdefault("source.cluster.bootstrap.servers", target)
    return _draft(connector, config, grounds)


def _draft(connector: Connector, config: Mapping[str, str], grounds: Grounds) -> Draft:
    return draft(entries_of(config), (), f"connector {connector.name}", (), grounds.references(), rules=grounds.rules)
