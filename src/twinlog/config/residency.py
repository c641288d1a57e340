r"""`residency`: topics that must not leave some clusters. Runs while the links of a file are resolved.

    residency = eu-data
    residency.eu-data.topics = eu\\..*, customers
    residency.eu-data.clusters = east, north
    residency.eu-data.masked = email, phone          with this line the topics leave, and these fields are masked

The rules of a file hold for all links of the service, also for those that were created over HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from twinlog.config.text.keys import Key, Scope
from twinlog.config.text.lookup import Lookup
from twinlog.config.text.service_keys import RESIDENCY
from twinlog.config.text.values import Kind, Regexes, Words
from twinlog.model.routes.residency import Residency

_PARTS: Final = ("topics", "clusters", "masked")


def resolve_residency(lookups: Iterable[Lookup]) -> tuple[Residency, ...]:
    """Read the rules of all texts; what is wrong is noted in the lookup."""
    return tuple(rule for lookup in lookups for rule in _of(lookup))


def _of(lookup: Lookup) -> Iterable[Residency]:
    listed = lookup.find((RESIDENCY.name,))
    words: tuple[str, ...] = lookup.read(RESIDENCY, listed) or ()
    names = tuple(dict.fromkeys(words))
    for key, entry in lookup.entries.items():
        if key.startswith(f"{RESIDENCY.name}."):
            name, _, part = key.removeprefix(f"{RESIDENCY.name}.").rpartition(".")
            lookup.asked.add(key)
            if part not in _PARTS:
                # A rule that is misread would let data out: not a warning.
                lookup.note("error", entry, f"unknown; after the name comes {' or '.join(_PARTS)}")
            elif name not in names:
                lookup.note("error", entry, f"`residency` does not list {name}, so the rule would not hold")
    for name in names:
        topics = _read(lookup, name, "topics", Regexes()) or ()
        clusters = _read(lookup, name, "clusters", Words()) or ()
        known = lookup.entries.get("clusters")
        strange = [cluster for cluster in clusters if known is not None and cluster not in Words().read(known.value)]
        if strange:
            lookup.note("error", listed, f"{name}: {', '.join(strange)} is not listed in `clusters`")
        masked = _read(lookup, name, "masked", Words()) or ()
        written = lookup.find((f"{RESIDENCY.name}.{name}.masked",))
        if written is not None and not masked:
            lookup.note("error", written, "names no field; without this key the topics do not leave at all")
        if topics and clusters:
            yield Residency(name, topics, clusters, masked)
            continue
        missing = "topics" if not topics else "clusters"
        lookup.note("error", listed, f"{name} has no {missing}; write residency.{name}.{missing}")


def _read(lookup: Lookup, name: str, part: str, kind: Kind[tuple[str, ...]]) -> tuple[str, ...] | None:
    key: Key[Any] = Key(f"{RESIDENCY.name}.{name}.{part}", (Scope.FILE,), kind, None, "", own=True)
    return lookup.read(key, lookup.find((key.name,)))
