"""One setting, explained: its value for each link and client, the line that decided, what lost against it, and why.

Runs in the command line, beside a file that may still be wrong: an operator asks most about a setting that does not do
what was hoped. Values are as they may be shown (R12).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from twinlog.config.resolve import examine, read_file
from twinlog.config.text import catalogue
from twinlog.config.text.keys import Key, Meaningless, Scope, Supported
from twinlog.config.text.lookup import Lookup, shown, spellings
from twinlog.config.text.precedence import Role
from twinlog.errors import Finding, SettingUnknown
from twinlog.model.names import LinkName

# What may stand before the name of a setting, behind `A->B.` or `A.`.
_BEFORE_NAMES = (
    "source.consumer.", "source.producer.", "source.admin.", "source.cluster.", "target.consumer.", "target.producer.",
    "target.admin.", "target.cluster.", "producer.override.", "consumer.", "producer.", "admin.",
)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """One line of the file about the setting; `why` says why it does not count, and is empty for the one that does."""

    key: str
    line: int
    value: str
    why: str = ""


@dataclass(frozen=True)
class Outcome:
    """What the setting came to for a link, or for some of its clients. `decided` is None for the default."""

    link: str
    clients: tuple[str, ...]
    value: str
    decided: Written | None
    overridden: tuple[Written, ...]
    order: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Everything about one setting of one file."""

    name: str
    meaning: str
    support: str
    allowed: str
    default: str
    mirrormaker: str
    places: str
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]


def explain(path: Path, clusters: Collection[str], name: str) -> Explanation:
    """Explain a setting by its plain name or as a file has it. Raises SettingUnknown, or SettingsInvalid."""
    data = read_file(path)
    examined = examine(data, str(path), clusters, os.environ)
    aliases = examined.lookup.read(catalogue.CLUSTERS, examined.lookup.find((catalogue.CLUSTERS.name,))) or ()
    key = _find(name, aliases)
    findings = tuple(
        finding for finding in examined.findings if finding.key and any(map(key.covers, _plain(finding.key, aliases)))
    )
    links = [LinkName(link.source, link.target) for link in examined.links]
    return Explanation(
        name=key.name,
        meaning=key.meaning,
        support=_support(key),
        allowed=key.kind.allowed,
        default=_default(key),
        mirrormaker=_mirrormaker(key),
        places=" or ".join(scope.value for scope in key.scopes),
        outcomes=tuple(_outcomes(key, examined.lookup, links)),
        findings=findings,
    )


def _find(name: str, aliases: tuple[str, ...]) -> Key[Any]:
    for plain in _plain(name, aliases):
        known = [key for key in catalogue.CATALOGUE if key.covers(plain)]
        if known:
            # `client.id` of a client is supported, that of a Connect worker is not: the former is what is asked for.
            return min(known, key=lambda key: not isinstance(key.support, Supported))
    plain = _plain(name, aliases)[-1]
    near = difflib.get_close_matches(plain, [key.name for key in catalogue.CATALOGUE], n=3, cutoff=0.6)
    raise SettingUnknown(name, ", ".join(near) or "nothing similar")


def _plain(name: str, aliases: tuple[str, ...]) -> list[str]:
    """Return what the name may be without its prefixes, the least shortened first."""
    names = [name]
    pairs = [f"{source}->{target}." for source in aliases for target in aliases]
    for prefix in (*pairs, *(f"{alias}." for alias in aliases)):
        if name.startswith(prefix):
            names.append(name[len(prefix) :])
            break
    names += [names[-1][len(prefix) :] for prefix in _BEFORE_NAMES if names[-1].startswith(prefix)][:1]
    return names


def _outcomes(key: Key[Any], lookup: Lookup, links: list[LinkName]) -> Iterator[Outcome]:
    if Scope.FILE in key.scopes:
        entry = lookup.entries.get(key.name)
        decided = None if entry is None else Written(entry.key, entry.line, shown(key, entry))
        yield Outcome("the file", (), decided.value if decided else _default(key), decided, (), (key.name,))
        return
    for link in dict.fromkeys(link for link, _, _ in lookup.reads):
        # A pair that only gets heartbeats repeats the clients of links; of interest is what it has of its own.
        roles = [role for of_link, role, read in lookup.reads if (of_link, read) == (link, key)]
        if link not in links:
            roles = [role for role in roles if role is None]
        yield from _merged([_outcome(key, lookup, link, role) for role in roles])


def _merged(outcomes: list[Outcome]) -> Iterator[Outcome]:
    """Tell clients together whose value was decided by the same line against the same others."""
    together: dict[tuple[Any, ...], list[Outcome]] = {}
    for outcome in outcomes:
        together.setdefault((outcome.value, outcome.decided, outcome.overridden), []).append(outcome)
    for same in together.values():
        clients = tuple(client for outcome in same for client in outcome.clients)
        first = same[0]
        yield Outcome(first.link, clients, first.value, first.decided, first.overridden, first.order)


def _outcome(key: Key[Any], lookup: Lookup, link: LinkName, role: Role | None) -> Outcome:
    order = spellings(key, link, role)
    present = [lookup.entries[spelling] for spelling in order if spelling in lookup.entries]
    decided = Written(present[0].key, present[0].line, shown(key, present[0])) if present else None
    overridden = tuple(
        Written(entry.key, entry.line, shown(key, entry), _why(key, link, role, entry.key, present[0].key))
        for entry in present[1:]
    )
    value = decided.value if decided else _default(key)
    return Outcome(str(link), () if role is None else (role.name,), value, decided, overridden, order)


def _why(key: Key[Any], link: LinkName, role: Role | None, loser: str, winner: str) -> str:
    """Say why one spelling lost against another."""
    if loser.endswith(key.old_names) and winner.endswith(key.name):
        return "an old name counts only where the new one is absent"
    if loser == key.name:
        return "the top of the file is weaker than a key of the cluster or the link"
    if loser.startswith(f"{link}."):
        weakest = f"{link}.* without `source.` or `target.` is" if "cluster." not in loser else "it is"
        return f"{weakest} weaker than keys of the cluster and of all clusters, in MirrorMaker 2 too"
    if role is not None and winner.startswith(f"{link}."):
        return f"the link's own key for its {role.name} is stronger"
    return "a key for one kind of client is stronger than one for all"


def _support(key: Key[Any]) -> str:
    match key.support:
        case Supported():
            return "supported"
        case Meaningless(reason):
            return f"no effect here: {reason}"
        case _ as never:
            assert_never(never)


def _default(key: Key[Any]) -> str:
    return "(none)" if key.default is None else key.default or "(empty)"


def _mirrormaker(key: Key[Any]) -> str:
    if key.own:
        return "Twinlog's own key; MirrorMaker 2 ignores it"
    old = f"; old name {', '.join(key.old_names)}" if key.old_names else ""
    default = "the same default" if key.mm2_default is None else f"default {key.mm2_default}"
    return f"the same name, {default}{old}" if isinstance(key.support, Supported) else f"the same name{old}"
