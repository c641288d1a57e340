"""The identity of a schema: the MD5 of its text, references, metadata and rules, equal to Confluent's."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from twinlog.registry.schemas.schema import Metadata, Reference, RuleSet

_PRESENT = b"\x01"
"""Separates metadata or rules that are present but empty from absent ones."""


def md5(
    text: str, references: Sequence[Reference] = (), metadata: Metadata | None = None, rule_set: RuleSet | None = None
) -> bytes:
    """16 bytes. The kind of the schema and its subject are not part of the identity; metadata and rules are."""
    digest = hashlib.md5(_utf8(text), usedforsecurity=False)
    for reference in references:
        digest.update(_utf8(reference.name) + _utf8(reference.subject))
        digest.update((reference.version & 0xFFFFFFFF).to_bytes(4, "big"))
    if metadata is not None:
        digest.update(_PRESENT + b"".join(_metadata(metadata)))
    if rule_set is not None:
        digest.update(_PRESENT + b"".join(_rules(rule_set)))
    return digest.digest()


def guid(
    text: str, references: Sequence[Reference] = (), metadata: Metadata | None = None, rule_set: RuleSet | None = None
) -> str:
    """The identity printed as a UUID. No version bits are set."""
    digits = md5(text, references, metadata, rule_set).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # Java writes `?` for half a surrogate pair, and so does this


def _java_order(text: str) -> bytes:
    """Java compares strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _metadata(metadata: Metadata) -> Iterator[bytes]:
    for key in sorted(metadata.tags or {}, key=_java_order):
        yield _utf8(key)
        yield from (_utf8(tag) for tag in sorted(set((metadata.tags or {})[key]), key=_java_order))
    for key in sorted(metadata.properties or {}, key=_java_order):
        yield _utf8(key) + _utf8((metadata.properties or {})[key])
    yield from (_utf8(name) for name in sorted(set(metadata.sensitive or ()), key=_java_order))


def _rules(rule_set: RuleSet) -> Iterator[bytes]:
    for rules in (rule_set.migration_rules, rule_set.domain_rules, rule_set.encoding_rules):
        for rule in rules or ():
            yield from _rule(rule)
    if rule_set.enable_at is not None:
        yield _utf8(rule_set.enable_at)


def _rule(rule: Mapping[str, Any]) -> Iterator[bytes]:
    for key in ("name", "doc", "kind", "mode", "type"):
        if rule.get(key) is not None:
            yield _utf8(str(rule[key]))
    yield from (_utf8(str(tag)) for tag in sorted({str(tag) for tag in rule.get("tags") or ()}, key=_java_order))
    params = rule.get("params") or {}
    for key in sorted(params, key=_java_order):
        yield _utf8(key) + _utf8(str(params[key]))
    for key in ("expr", "onSuccess", "onFailure"):
        if rule.get(key) is not None:
            yield _utf8(str(rule[key]))
    if rule.get("disabled"):
        yield _PRESENT
