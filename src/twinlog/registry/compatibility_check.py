"""Whether a new version fits the earlier ones of its subject, at the level that applies. Pure; may take long."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from twinlog.registry.schemas.compatibility import OTHER_KIND, both_ways
from twinlog.registry.schemas.schema import Metadata, ParsedSchema, TooComplex

_RESERVED: Final = "confluent:reserved"
_MOST_SHOWN: Final = 10 * 1024


class Version:
    """A version as the check sees it."""

    __slots__ = ("metadata", "number", "schema")

    def __init__(self, schema: ParsedSchema, metadata: Metadata | None, number: int = 0) -> None:
        self.schema = schema
        self.metadata = metadata
        self.number = number


def problems(config: Mapping[str, Any], new: Version, earlier: Sequence[Version]) -> list[str]:
    """Confluent's messages; none means compatible. `earlier` are the live versions, oldest first."""
    reasons: list[str] = []
    fields = bool(config.get("validateFields"))
    if fields:
        reasons += _reserved_problems(new, earlier[-1] if earlier else None)
    group = config.get("compatibilityGroup")
    if group is not None:
        mine = _property(new.metadata, group)
        earlier = [version for version in earlier if _property(version.metadata, group) == mine]
    level = str(config["compatibilityLevel"])
    reasons += _level_problems(level, str(config.get("compatibilityPolicy") or "STRICT"), new, earlier)
    if reasons:
        reasons.append(f"{{validateFields: '{str(fields).lower()}', compatibility: '{level}'}}")
    return reasons


def checked_versions(level: str, earlier: Sequence[Version]) -> Sequence[Version]:
    """Those that a level looks at, newest first."""
    if level == "NONE":
        return ()
    newest_first = earlier[::-1]
    return newest_first if level.endswith("_TRANSITIVE") else newest_first[:1]


def _level_problems(level: str, policy: str, new: Version, earlier: Sequence[Version]) -> list[str]:
    for version in checked_versions(level, earlier):
        if new.schema.kind != version.schema.kind:
            return [OTHER_KIND]
        try:
            forward, backward = both_ways(level, new.schema, version.schema, policy=policy)
        except TooComplex as wrong:
            forward, backward = [], [wrong.message]
        reasons = [*forward, *backward]
        if reasons and not backward and level.startswith("FULL"):
            return reasons  # the old schema is told with the reasons why it cannot be read
        if reasons:
            text = version.schema.text
            shown = f"'{text}'" if len(text) <= _MOST_SHOWN else f"<truncated> '{text[:_MOST_SHOWN]}...'"
            return [*reasons, f"{{oldSchemaVersion: {version.number}}}", f"{{oldSchema: {shown}}}"]
    return []


def _reserved_problems(new: Version, previous: Version | None) -> list[str]:
    reserved = _reserved(new.metadata)
    gone = sorted(_reserved(previous.metadata) - reserved) if previous is not None else []
    reasons = [
        f"The new schema has reserved field {name} removed from its metadata which is present in the old schema's "
        "metadata."
        for name in gone
    ]
    reasons += [
        f"The new schema has field that conflicts with the reserved field {name}."
        for name in sorted(reserved)
        if new.schema.has_field(name)
    ]
    return reasons


def _reserved(metadata: Metadata | None) -> set[str]:
    listed = _property(metadata, _RESERVED) or ""
    return {name.strip() for name in listed.split(",") if name.strip()}


def _property(metadata: Metadata | None, name: str) -> str | None:
    return None if metadata is None or metadata.properties is None else metadata.properties.get(name)
