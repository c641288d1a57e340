"""What became of a key that nothing read: without meaning, misplaced, or unknown. Pure.

MirrorMaker 2 drops such keys without a word, which is how links run for months with half of their settings. Values are
not quoted here: of a key that is unknown nobody can say whether it is a secret (R12).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, assert_never

from twinlog.config.text.catalogue import CATALOGUE
from twinlog.config.text.keys import Key, Meaningless, Scope, Supported
from twinlog.config.text.properties import Entry
from twinlog.errors import Finding
from twinlog.model.names import LinkName

_CLIENTS = {"consumer": Scope.CONSUMER, "producer": Scope.PRODUCER, "admin": Scope.ADMIN}
# What may stand between `A->B.` and the name of a client setting; None: nothing of ours listens there.
_LINK_CLIENTS = {
    "source.consumer.": Scope.CONSUMER,
    "consumer.": Scope.CONSUMER,
    "source.admin.": Scope.ADMIN,
    "target.admin.": Scope.ADMIN,
    "admin.": Scope.ADMIN,
    "producer.override.": Scope.PRODUCER,
    "source.cluster.": Scope.SHARED,
    "target.cluster.": Scope.SHARED,
}
_SYNC_CLIENTS = ("producer.", "source.producer.", "target.producer.", "target.consumer.")


@dataclass(frozen=True)
class _Remark:
    level: str
    sentence: str


def review(entries: Iterable[Entry], asked: Collection[str], clusters: tuple[str, ...], file: str) -> list[Finding]:
    """Return one finding for each key that no setting came from, unless it is in order where it stands."""
    findings: list[Finding] = []
    for entry in entries:
        remark = None if entry.key in asked else _remark(entry, clusters)
        match remark:
            case None:
                continue
            case _Remark("info", sentence):
                findings.append(Finding("info", file, entry.line, entry.key, sentence))
            case _Remark(_, sentence):
                findings.append(Finding("warning", file, entry.line, entry.key, sentence))
    return findings


def _remark(entry: Entry, clusters: tuple[str, ...]) -> _Remark | None:
    if "->" in entry.key:
        source, _, rest = entry.key.partition("->")
        target = _alias(rest, clusters)
        if source not in clusters or target is None or source == target:
            known = ", ".join(clusters) or "none"
            return _Remark("warning", f"ignored: it names no pair of clusters; `clusters` has {known}")
        return _of_link(LinkName(source, target), rest[len(target) + 1 :])
    alias = _alias(entry.key, clusters)
    if alias is not None:
        return _of_cluster(alias, entry.key[len(alias) + 1 :])
    return _of_file(entry, clusters)


def _alias(text: str, clusters: tuple[str, ...]) -> str | None:
    return max((alias for alias in clusters if text.startswith(f"{alias}.")), key=len, default=None)


def _of_file(entry: Entry, clusters: tuple[str, ...]) -> _Remark | None:
    name = entry.key
    setting = _known(name, Scope.FILE, Scope.LINK, Scope.SHARED)
    if setting is not None:
        return _by_support(setting)
    client, dot, rest = name.partition(".")
    if dot and client in _CLIENTS:
        example = clusters[0] if clusters else "A"
        return _Remark("warning", f"ignored, by MirrorMaker 2 too: write {example}.{client}.{rest} for each cluster")
    elsewhere = _known(name)
    if elsewhere is not None:
        places = " or ".join(scope.value for scope in elsewhere.scopes)
        return _Remark("warning", f"ignored: MirrorMaker 2 too reads this key only with a prefix: {places}")
    for known in _names(*Scope):
        # `C.bootstrap.servers` where C is not among the clusters.
        if name.endswith(f".{known}") and "." not in name[: -len(known) - 1]:
            alias = name[: -len(known) - 1]
            return _Remark("warning", f"ignored: there is no key {name}, and {alias} is not listed in `clusters`")
    return _unknown(name, "", Scope.FILE, Scope.LINK, Scope.SHARED)


def _of_cluster(alias: str, name: str) -> _Remark | None:
    setting = _known(name, Scope.SHARED, Scope.WORKER)
    if setting is not None:
        return _by_support(setting)
    client, dot, rest = name.partition(".")
    if dot and client in _CLIENTS:
        return _of_client(f"{alias}.{client}.", rest, _CLIENTS[client])
    elsewhere = _known(name)
    if elsewhere is None:
        return _unknown(name, f"{alias}.", Scope.SHARED)
    if Scope.LINK in elsewhere.scopes or Scope.LINK_ONLY in elsewhere.scopes:
        return _Remark("warning", f"ignored, by MirrorMaker 2 too: {name} belongs to a link or the top of the file")
    owner = next((word for word, scope in _CLIENTS.items() if scope in elsewhere.scopes), None)
    hint = "it belongs to the top of the file" if owner is None else f"write {alias}.{owner}.{name}"
    return _Remark("warning", f"ignored, by MirrorMaker 2 too: {hint}")


def _of_link(link: LinkName, name: str) -> _Remark | None:
    setting = _known(name, Scope.LINK, Scope.LINK_ONLY)
    if setting is not None:
        return _by_support(setting)
    for prefix, scope in _LINK_CLIENTS.items():
        if name.startswith(prefix):
            return _of_client(f"{link}.{prefix}", name[len(prefix) :], scope)
    for prefix in _SYNC_CLIENTS:
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            other = f"{link}.source.consumer.{rest}" if "consumer" in prefix else f"{link}.producer.override.{rest}"
            return _Remark("warning", f"concerns MirrorMaker 2's own topics only; for the records write {other}")
    elsewhere = _known(name)
    if elsewhere is None:
        return _unknown(name, f"{link}.", Scope.LINK, Scope.LINK_ONLY)
    if elsewhere.shared:
        return _Remark("warning", f"ignored, by MirrorMaker 2 too: write {link.source}.{name} or {link.target}.{name}")
    places = " or ".join(scope.value for scope in elsewhere.scopes)
    return _Remark("warning", f"ignored: MirrorMaker 2 too reads this key only with a prefix: {places}")


def _of_client(prefix: str, name: str, scope: Scope) -> _Remark | None:
    setting = _known(name, scope, Scope.SHARED)
    if setting is not None:
        return _by_support(setting)
    elsewhere = _known(name)
    if elsewhere is not None:
        places = " or ".join(place.value for place in elsewhere.scopes)
        return _Remark("warning", f"ignored: MirrorMaker 2 reads {name} only with a prefix: {places}")
    return _unknown(name, prefix, scope, Scope.SHARED)


def _known(name: str, *scopes: Scope) -> Key[Any] | None:
    return next((key for key in CATALOGUE if key.covers(name) and (not scopes or set(scopes) & set(key.scopes))), None)


def _names(*scopes: Scope) -> list[str]:
    return [key.name for key in CATALOGUE if not key.name.endswith("*") and set(scopes) & set(key.scopes)]


def _by_support(key: Key[Any]) -> _Remark | None:
    match key.support:
        case Supported():
            return None
        case Meaningless(reason):
            return _Remark("info", f"no effect: {reason}")
        case _ as never:
            assert_never(never)


def _unknown(name: str, prefix: str, *scopes: Scope) -> _Remark:
    near = difflib.get_close_matches(name, _names(*scopes), n=1, cutoff=0.75)
    hint = f"; did you mean {prefix}{near[0]}?" if near else ""
    return _Remark("warning", f"unknown and ignored{hint}")
