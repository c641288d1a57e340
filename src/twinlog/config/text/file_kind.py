"""Recognises files that are no properties file: YAML, Kubernetes resources, JSON of other tools, binary data. Pure.

Java's rules read nearly every text as properties: a YAML file becomes keys named `-` and `kind`. The messages about
those keys would send the operator to the wrong place, so the kind of the file is judged first.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_YAML_START: Final = re.compile(rb"^(---\s*$|apiVersion\s*:|kind\s*:)", re.MULTILINE)
_YAML_BLOCK: Final = re.compile(rb"^(\s*-\s+[\w.-]+:(\s|$)|\s+[\w.-]+:\s*$)", re.MULTILINE)
_KIND: Final = re.compile(rb"^kind\s*:\s*[\"']?([A-Za-z0-9]+)", re.MULTILINE)
_MAGIC: Final = (
    (b"PK\x03\x04", "a ZIP or JAR archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\xfe\xed\xfe\xed", "a Java keystore"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "a text in UTF-16; save it as UTF-8 or Latin-1"),
    (b"\xfe\xff", "a text in UTF-16; save it as UTF-8 or Latin-1"),
)
_PEM: Final = b"-----BEGIN "
_EXPECTED: Final = "expected is a properties file (`key = value`), or the JSON of a connector"
_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")
_TOO_MANY: Final = 0.02
_LOOKED_AT: Final = 8192


def foreign_kind(data: bytes, file: str) -> str | None:
    """Return a sentence about a file that is no settings file, with the way out; None for a file that may be one."""
    head = data[:_LOOKED_AT]
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return f"this is {what}; {_EXPECTED}"
    if head.startswith(_PEM):
        return f"this is a certificate or a key (PEM); {_EXPECTED}"
    if head and sum(byte in _CONTROL for byte in head) / len(head) > _TOO_MANY:
        return f"this is binary data; {_EXPECTED}"
    if head.lstrip().startswith((b"{", b"[")):
        return _json_kind(data, file)
    return _yaml_kind(data, file)


def _json_kind(data: bytes, file: str) -> str | None:
    try:
        document = json.loads(data)
    except ValueError:
        return None  # the reader of JSON says where it is wrong
    if not isinstance(document, dict):
        return f"this is a JSON list; {_EXPECTED}"
    if "kind" in document and "apiVersion" in document:
        return _resource(str(document["kind"]), file)
    if _is_brooklin(document):
        return f"this is a datastream of Brooklin; `twinlog import brooklin {file}` makes a settings file of it"
    config = document.get("config", document)
    if not isinstance(config, dict) or "connector.class" in config or _flat(config):
        return None
    return f"this is JSON, but no connector: it has no connector.class; {_EXPECTED}"


def _is_brooklin(document: dict[str, Any]) -> bool:
    return "connectorName" in document and isinstance(document.get("source"), dict)


def _flat(config: dict[str, Any]) -> bool:
    """Whether it may be a file of ours in another notation: all values are plain, and a key looks like one of ours."""
    of_links = any("." in key or key == "clusters" for key in config)
    return of_links and not any(isinstance(value, dict | list) for value in config.values())


def _yaml_kind(data: bytes, file: str) -> str | None:
    if not _YAML_START.search(data) and not (b"=" not in data and _YAML_BLOCK.search(data)):
        return None
    if re.search(rb"^[ \t]*clusters[ \t]*[=]", data, re.MULTILINE):
        return None
    kind = _KIND.search(data)
    if kind is not None:
        return _resource(kind.group(1).decode(), file)
    return f"this is YAML; {_EXPECTED}"


def _resource(kind: str, file: str) -> str:
    if kind == "KafkaMirrorMaker2":
        return (
            "this is a Kubernetes resource of Strimzi (KafkaMirrorMaker2); "
            f"`twinlog import strimzi {file}` makes a settings file of it"
        )
    return f"this is a Kubernetes resource ({kind}); {_EXPECTED}"
