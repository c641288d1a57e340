"""What the bytes of keys and values look like, whatever the converter is set to. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

_MAGIC_BYTES: Final = 5
_AVRO: Final = "Confluent wire format"


def kind_of(data: bytes | None) -> str:
    """One word or two about one value."""
    if data is None:
        return "null"
    if not data:
        return "empty"
    if data[0] == 0 and len(data) > _MAGIC_BYTES:
        return f"{_AVRO}, schema id {int.from_bytes(data[1:5], 'big')}"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are no text"
    try:
        parsed = json.loads(text)
    except ValueError:
        return "text"
    if isinstance(parsed, dict):
        return "JSON with a schema" if parsed.keys() == {"schema", "payload"} else "JSON object"
    return f"JSON {type(parsed).__name__}"


def remark(samples: Sequence[bytes | None], converter: str, *, schemas: bool) -> str | None:
    """A sentence when the converter does not fit what most samples are."""
    kinds = Counter(kind_of(sample) for sample in samples if sample is not None)
    if not kinds:
        return None
    kind = kinds.most_common(1)[0][0]
    name = converter.rpartition(".")[2]
    if kind.startswith(_AVRO) and name not in {"AvroConverter", "ProtobufConverter", "JsonSchemaConverter"}:
        return f"these bytes are in the {kind}; the converter is {name}"
    if name == "JsonConverter":
        if schemas and kind.startswith("JSON") and kind != "JSON with a schema":
            return "these bytes are JSON without a schema; set schemas.enable=false"
        if not schemas and kind == "JSON with a schema":
            return "these bytes are JSON with a schema; set schemas.enable=true"
        if kind == "text" or "no text" in kind:
            return f"these bytes are {kind}, not JSON; StringConverter or ByteArrayConverter reads them"
    return None
