"""What one schema id stands for: text, references, metadata and rules. Equal contents are kept once."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from twinlog.registry.schemas.identity import md5
from twinlog.registry.schemas.schema import Metadata, Reference, RuleSet

VERSION_PROPERTY: Final = "confluent:version"
"""A property in which a client that was given a version keeps it."""
ENCRYPTED_PROPERTY: Final = "__enc__"
"""A property that Confluent adds to metadata that it encrypts."""


class Content:
    """Immutable. `digest` is its identity; the kind is not part of that.

    Where Confluent encrypted metadata, the record says the identity (`stored_digest`): it is that of the plain text.
    """

    __slots__ = ("digest", "kind", "metadata", "references", "rule_set", "stored_digest", "text")

    def __init__(
        self,
        kind: str,
        text: str,
        references: Sequence[Reference] = (),
        metadata: Metadata | None = None,
        rule_set: RuleSet | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.references = tuple(references)
        self.metadata = metadata
        self.rule_set = rule_set
        self.stored_digest: bytes | None = None
        self.digest = md5(text, self.references, metadata, rule_set)

    def identified(self, digest: bytes) -> "Content":
        """The same with the identity that its record says."""
        content = Content(self.kind, self.text, self.references, self.metadata, self.rule_set)
        content.stored_digest = content.digest = digest
        return content

    @property
    def guid(self) -> str:
        return guid_of(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and other.digest == self.digest and other.kind == self.kind

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Content({self.kind}, {self.text[:60]!r})"


@lru_cache(maxsize=4096)
def guid_of(digest: bytes) -> str:
    """The identity printed as a UUID."""
    digits = digest.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def digest_of(guid: str) -> bytes | None:
    """The identity that a GUID prints; None for a text that is no GUID."""
    parts = guid.split("-")
    try:
        return bytes.fromhex("".join(parts)) if [len(part) for part in parts] == [8, 4, 4, 4, 12] else None
    except ValueError:
        return None


# --- metadata as JSON ------------------------------------------------------------------------------------------------


def metadata_of(document: Mapping[str, Any] | None) -> Metadata | None:
    """Metadata as a request or record has it; names in order, each once."""
    if document is None:
        return None
    tags, properties, sensitive = document.get("tags"), document.get("properties"), document.get("sensitive")
    return Metadata(
        None if tags is None else {key: tuple(sorted(set(tags[key] or ()))) for key in sorted(tags)},
        None if properties is None else {key: properties[key] for key in sorted(properties)},
        None if sensitive is None else tuple(sorted(set(sensitive))),
    )


def metadata_json(metadata: Metadata) -> dict[str, Any]:
    """As Confluent writes it: parts that are absent or empty are left out."""
    document: dict[str, Any] = {}
    if metadata.tags:
        document["tags"] = {key: list(tags) for key, tags in metadata.tags.items()}
    if metadata.properties:
        document["properties"] = dict(metadata.properties)
    if metadata.sensitive:
        document["sensitive"] = list(metadata.sensitive)
    return document


def merged_metadata(old: Metadata | None, new: Metadata | None) -> Metadata | None:
    """Both; where both have a name, the new one counts."""
    if old is None or new is None:
        return new if old is None else old
    return metadata_of(
        {
            "tags": None if old.tags is None and new.tags is None else {**(old.tags or {}), **(new.tags or {})},
            "properties": (
                None
                if old.properties is None and new.properties is None
                else {**(old.properties or {}), **(new.properties or {})}
            ),
            "sensitive": (
                None
                if old.sensitive is None and new.sensitive is None
                else [*(old.sensitive or ()), *(new.sensitive or ())]
            ),
        }
    )


def with_version(metadata: Metadata | None, version: int) -> Metadata:
    """The metadata with a version in its properties."""
    properties = {**((metadata.properties if metadata else None) or {}), VERSION_PROPERTY: str(version)}
    read = metadata_of({"properties": properties})
    return Metadata(
        metadata.tags if metadata else None,
        read.properties if read else None,
        metadata.sensitive if metadata else None,
    )


def without_version(metadata: Metadata | None) -> Metadata | None:
    """The metadata without the version in its properties."""
    if metadata is None or not metadata.properties or VERSION_PROPERTY not in metadata.properties:
        return metadata
    properties = {key: value for key, value in metadata.properties.items() if key != VERSION_PROPERTY}
    return Metadata(metadata.tags, properties, metadata.sensitive)
