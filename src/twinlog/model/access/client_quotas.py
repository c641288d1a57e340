"""Client quotas as named values: whom one binds, in one line of text. Pure.

`user=anna,client-id=<default>` is how kafka-configs prints an entity too. Quotas of `ip` stay with their cluster:
addresses of clients differ from datacenter to datacenter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, TypeAlias

from twinlog.model.health.inspection import QuotaFacts

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
_COPIED: Final = frozenset({"user", "client-id"})


def quota_values(quotas: Iterable[QuotaFacts]) -> dict[str, dict[str, str]]:
    """The quotas of users and client ids, by entity and key."""
    return {
        entity_text(quota.entity): {key: number_text(limit) for key, limit in quota.limits}
        for quota in quotas
        if {kind for kind, _ in quota.entity} <= _COPIED
    }


def entity_text(entity: Entity) -> str:
    """An entity in one line; names are quoted as in JSON, so that none can be taken for two."""
    return ",".join(f"{kind}={'<default>' if name is None else json.dumps(name)}" for kind, name in sorted(entity))


def entity_of(text: str) -> Entity:
    """Read an entity's line back."""
    entity: list[tuple[str, str | None]] = []
    decoder = json.JSONDecoder()
    rest = text
    while rest:
        kind, _, rest = rest.partition("=")
        if rest.startswith("<default>"):
            name, end = None, len("<default>")
        else:
            name, end = decoder.raw_decode(rest)
        entity.append((kind, name))
        rest = rest[end:].removeprefix(",")
    return tuple(entity)


def number_text(value: float) -> str:
    """A limit as text: whole numbers without a fraction."""
    return str(int(value)) if value == int(value) else repr(value)
