"""The records of the topic `_schemas`, byte for byte as Confluent's registry writes them. Pure.

Kafka compacts by the bytes of a key, the registry thinks by its meaning: old topics hold the same key in other bytes
(`{"subject":…,"version":1,"magic":0,"keytype":"SCHEMA"}`). `LogicalKey` is the meaning, `encode_key` its bytes today.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from twinlog.registry.content import Content, metadata_json, metadata_of
from twinlog.registry.json_out import encode
from twinlog.registry.rule_sets import rule_set_json, rule_set_of
from twinlog.registry.schemas.schema import Reference

SCHEMA: Final = "SCHEMA"
CONFIG: Final = "CONFIG"
MODE: Final = "MODE"
NOOP: Final = "NOOP"
DELETE_SUBJECT: Final = "DELETE_SUBJECT"
CLEAR_SUBJECT: Final = "CLEAR_SUBJECT"
CONTEXT: Final = "CONTEXT"
TENANT: Final = "default"

CONFIG_FIELDS: Final = (
    "alias",
    "normalize",
    "validateFields",
    "validateNames",
    "validateNewSchemas",
    "validateRules",
    "compatibilityLevel",
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
)
"""In the order in which they are written."""

_DIGEST_BYTES: Final = 16
_OF_SUBJECTS: Final = frozenset({CONFIG, MODE, DELETE_SUBJECT, CLEAR_SUBJECT})


_PLAIN_KEY: Final = re.compile(
    rb'\{"keytype":"SCHEMA","subject":"([ !#-\[\]-~]*)","version":(0|[1-9][0-9]{0,9}),"magic":1\}'
).fullmatch


class BadRecord(Exception):
    """A record that cannot be understood; the text says why."""


class LogicalKey(NamedTuple):
    """What a key means. `subject` is the context's name for CONTEXT."""

    kind: str
    subject: str | None = None
    version: int = 0


class Record(NamedTuple):
    """One record to be written."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class SchemaValue:
    """The value of a SCHEMA record."""

    subject: str
    version: int
    id: int
    content: Content
    deleted: bool


# --- keys ----------------------------------------------------------------------------------------------------------


def encode_key(key: LogicalKey) -> bytes:
    """The bytes that Confluent 7.0 and later write."""
    document: dict[str, Any] = {"keytype": key.kind}
    if key.kind == SCHEMA:
        document |= {"subject": key.subject, "version": key.version, "magic": 1}
    elif key.kind == CONTEXT:
        document |= {"tenant": TENANT, "context": key.subject, "magic": 0}
    else:
        if key.kind in _OF_SUBJECTS and key.subject:
            document["subject"] = key.subject
        document["magic"] = 0
    return encode(document)


def plain_schema_key(data: bytes | None) -> LogicalKey | None:
    """The meaning of a SCHEMA key in today's bytes without anything escaped: nearly all keys of a topic are such."""
    matched = None if data is None else _PLAIN_KEY(data)
    return None if matched is None else LogicalKey(SCHEMA, matched[1].decode("ascii"), int(matched[2]))


def decode_key(data: bytes | None) -> LogicalKey:
    """The meaning of a key, in whatever order its fields are. Raises BadRecord."""
    document = _object(data, "key")
    kind = document.get("keytype")
    if kind == SCHEMA:
        return LogicalKey(SCHEMA, _text(document, "subject"), _number(document, "version"))
    if kind == CONTEXT:
        return LogicalKey(CONTEXT, _text(document, "context"))
    if kind in _OF_SUBJECTS:
        subject = document.get("subject")
        if subject is not None and not isinstance(subject, str):
            raise BadRecord("the subject of the key is no text")
        return LogicalKey(kind, subject or None)
    if kind == NOOP:
        return LogicalKey(NOOP)
    raise BadRecord(f"unknown keytype {kind!r}")


# --- values --------------------------------------------------------------------------------------------------------


def schema_record(value: SchemaValue) -> Record:
    """A version, live or soft-deleted."""
    content = value.content
    document: dict[str, Any] = {
        "subject": value.subject,
        "version": value.version,
        "id": value.id,
    }
    if content.stored_digest is not None:
        document["md5"] = base64.b64encode(content.stored_digest).decode()
    document["schemaType"] = content.kind
    if content.references:
        document["references"] = [reference_json(reference) for reference in content.references]
    if content.metadata is not None:
        document["metadata"] = metadata_json(content.metadata)
    if content.rule_set is not None:
        document["ruleSet"] = rule_set_json(content.rule_set)
    document |= {"schema": content.text, "deleted": value.deleted}
    return Record(encode_key(LogicalKey(SCHEMA, value.subject, value.version)), encode(document))


def config_record(subject: str | None, config: Mapping[str, Any]) -> Record:
    """Settings of a subject or context."""
    document: dict[str, Any] = {} if subject is None else {"subject": subject}
    document |= {name: config[name] for name in CONFIG_FIELDS if config.get(name) is not None}
    return Record(encode_key(LogicalKey(CONFIG, subject)), encode(document))


def mode_record(subject: str | None, mode: str) -> Record:
    """The mode of a subject or context."""
    document: dict[str, Any] = {} if subject is None else {"subject": subject}
    return Record(encode_key(LogicalKey(MODE, subject)), encode(document | {"mode": mode}))


def delete_subject_record(subject: str, version: int) -> Record:
    """The soft delete of all versions up to one."""
    value = encode({"subject": subject, "version": version})
    return Record(encode_key(LogicalKey(DELETE_SUBJECT, subject)), value)


def clear_subject_record(subject: str | None) -> Record:
    """The end of deleted versions before an import."""
    value = encode({} if subject is None else {"subject": subject})
    return Record(encode_key(LogicalKey(CLEAR_SUBJECT, subject)), value)


def context_record(context: str) -> Record:
    """The existence of a context."""
    value = encode({"tenant": TENANT, "context": context})
    return Record(encode_key(LogicalKey(CONTEXT, context)), value)


NOOP_RECORD: Final = Record(b'{"keytype":"NOOP","magic":0}', None)


def decode_schema(data: bytes) -> SchemaValue:
    """A version. Raises BadRecord."""
    document = _object(data, "value")
    references = document.get("references") or ()
    try:
        content = Content(
            document.get("schemaType") or "AVRO",
            _text(document, "schema"),
            [Reference(given["name"], given["subject"], given["version"]) for given in references],
            metadata_of(document.get("metadata")),
            rule_set_of(document.get("ruleSet")),
        )
        if (digest := document.get("md5")) is not None:
            content = content.identified(_digest(digest))
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise BadRecord(f"references, metadata, rules or md5 are malformed ({wrong})") from None
    subject, version, number = _text(document, "subject"), _number(document, "version"), _number(document, "id")
    return SchemaValue(subject, version, number, content, bool(document.get("deleted", False)))


def decode_config(data: bytes) -> dict[str, Any]:
    """Settings; fields that are not known are left out."""
    document = _object(data, "value")
    return {name: document[name] for name in CONFIG_FIELDS if document.get(name) is not None}


def decode_mode(data: bytes) -> str:
    """A mode."""
    return _text(_object(data, "value"), "mode")


def decode_delete(data: bytes) -> int:
    """Up to which version the subject was deleted."""
    return _number(_object(data, "value"), "version")


def reference_json(reference: Reference) -> dict[str, Any]:
    """A reference as it is written."""
    return {"name": reference.name, "subject": reference.subject, "version": reference.version}


# --- JSON ----------------------------------------------------------------------------------------------------------


def _object(data: bytes | None, part: str) -> dict[str, Any]:
    if data is None:
        raise BadRecord(f"it has no {part}")
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass") if data[:1] == b"{" else data)
    except (ValueError, RecursionError) as wrong:
        raise BadRecord(f"the {part} is not JSON ({wrong})") from None
    if not isinstance(document, dict):
        raise BadRecord(f"the {part} is no JSON object")
    return document


def _digest(text: str) -> bytes:
    digest = base64.b64decode(text, validate=True)
    if len(digest) != _DIGEST_BYTES:
        raise ValueError(f"md5 has {len(digest)} bytes")
    return digest


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise BadRecord(f"{name} is missing or no text")
    return value


def _number(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecord(f"{name} is missing or no number")
    return value
