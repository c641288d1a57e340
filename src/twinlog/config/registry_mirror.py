"""How a link treats the schema registry of its clusters: which topics it mirrors for it, and which way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from twinlog.config.text import registry_keys as keys
from twinlog.config.text.lookup import LinkLookup
from twinlog.model.names import LinkName
from twinlog.model.routes.one_way import one_way_links

BESIDE: Final = ("_dek_registry_keys", "_schema_encoders")
"""Topics that other registries keep beside their schemas. Without them encrypted fields and metadata are unreadable."""


class RegistryMirror(BaseModel):
    """The schema registry, as one link sees it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    mirrored: bool = False
    topic: str = "_schemas"
    group_id: str = "schema-registry"
    gate_ms: int = 300_000
    id_gap: int = 100_000

    @property
    def topics(self) -> tuple[str, ...]:
        """Every topic that belongs to the registry."""
        return (self.topic, *BESIDE)

    @property
    def transactional_id(self) -> str:
        """Whoever takes it over fences the leader of the registry."""
        return f"{self.group_id}-{self.topic}"


def registry_links(links: Sequence[LinkLookup]) -> frozenset[LinkName]:
    """Along which links the registry is mirrored; what contradicts itself is noted as an error."""
    wishes = {at.link: at.value(keys.MIRROR) for at in links}
    wanted = [link for link, wish in wishes.items() if wish == "on"]
    chosen = one_way_links(wanted, [link for link, wish in wishes.items() if wish == "auto"])
    for at in links:
        if at.link in wanted and at.link not in chosen:
            told = f"{at.link.target} gets the schemas of another cluster already, or leads to {at.link.source}"
            at.lookup.note("error", at.entry(keys.MIRROR), f"{told}; set it for one link")
    return chosen


def resolve_registry_mirror(at: LinkLookup, *, mirrored: bool) -> RegistryMirror:
    """Read the keys of one link."""
    return RegistryMirror(
        mirrored=mirrored,
        topic=at.value(keys.TOPIC),
        group_id=at.value(keys.GROUP_ID),
        gate_ms=at.value(keys.GATE_MS),
        id_gap=at.value(keys.ID_GAP),
    )
