"""Bodies of requests: from JSON to values, with the messages of Confluent's server for what does not fit."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from twinlog.registry import refusals
from twinlog.registry.content import metadata_json, metadata_of
from twinlog.registry.records import CONFIG_FIELDS
from twinlog.registry.refusals import Refusal
from twinlog.registry.requests import SchemaRequest, printed_reference
from twinlog.registry.rule_sets import check_rules, rule_set_json, rule_set_of
from twinlog.registry.schemas.schema import InvalidSchema, Metadata, Reference, RuleSet
from twinlog.registry.scopes import LEVELS, MODES
from twinlog.surface.registry.jackson import mismatch, syntax_message, wrong_shape

_TRUTHS: Final = ("normalize", "validateFields", "validateNames", "validateNewSchemas", "validateRules")
_NO_TAGS: Final = (
    'Cannot construct instance of `Metadata`, problem: Cannot invoke "java.util.Set.stream()" because the return value '
    'of "java.util.Map$Entry.getValue()" is null'
)
_NO_METADATA: Final = "Cannot deserialize value of type `Metadata`: tags, properties or sensitive"
_POLICIES: Final = frozenset({"STRICT", "LENIENT"})
_TOKENS: Final[dict[type, tuple[str, str]]] = {dict: ("Object", "START_OBJECT"), list: ("Array", "START_ARRAY")}


def read_object(body: bytes, kind: str, argument: str) -> dict[str, Any]:
    """The JSON object of a body. Raises Refusal 400 or 422."""
    return _object(_read(body, argument, kind), kind)


def _read(body: bytes, argument: str, kind: str) -> Any:
    document = read_json(body, kind)
    if document is None:
        raise Refusal(422, f"{argument} must not be null (was null)")
    return document


def read_json(body: bytes, kind: str) -> Any:
    """The JSON value of a body, None for an empty one. UTF-8, and UTF-16 or UTF-32 if it begins so. Raises Refusal."""
    try:
        text = body.decode(json.detect_encoding(body), "surrogatepass")
    except UnicodeDecodeError as wrong:
        raise Refusal(
            400, f"Invalid UTF-8 start byte {body[wrong.start] if wrong.start < len(body) else 0:#x}"
        ) from None
    if not text.strip():
        return None
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as wrong:
        raise Refusal(400, syntax_message(text, wrong, kind)) from None


class _Written(float):
    """A number with a fraction, and how it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


_DECODER: Final = json.JSONDecoder(parse_float=_Written)


def _object(value: Any, kind: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refusal(400, wrong_shape(value, kind))
    return value


def check_texts(body: bytes) -> None:
    """Whether a body that is not used is an object of texts, or empty. Raises Refusal 400."""
    document = read_json(body, "Map")
    if isinstance(document, list):
        raise Refusal(400, mismatch(document, "String>"))
    if document is not None:
        for value in _object(document, "LinkedHashMap").values():
            _text(value)


def read_schema(body: bytes, subject: str, argument: str) -> SchemaRequest:
    """The body of a registration, a lookup or a compatibility check."""
    document = read_object(body, "RegisterSchemaRequest", argument)
    version, number = _integer(document.get("version")), _integer(document.get("id"))
    kind = _text(document.get("schemaType"))
    references = _references(document.get("references"))
    request = SchemaRequest(
        subject,
        _text(document.get("schema")),
        kind,
        tuple(reference for reference in references if isinstance(reference, Reference)),
        read_metadata(document.get("metadata")),
        read_rules(document.get("ruleSet")),
        version or 0,
        -1 if number is None else number,
    )
    broken = next((reference for reference in references if isinstance(reference, str)), None)
    if broken is not None and not request.is_blank:
        parts = [each if isinstance(each, str) else printed_reference(each) for each in references]
        shown = f"[{', '.join(parts)}]"
        said = InvalidSchema(f"Invalid reference: {broken}")
        printed = request.printed(bare=True, references=shown)
        raise refusals.invalid_schema(said.sentence(kind or "AVRO", printed, shown))
    return request


def read_config(body: bytes, argument: str) -> dict[str, Any]:
    """Changes of settings; None removes a field. Raises Refusal 42203 or 42210."""
    document = read_object(body, "ConfigUpdateRequest", argument)
    changes: dict[str, Any] = {}
    for name in CONFIG_FIELDS:
        sent = "compatibility" if name == "compatibilityLevel" else name
        if sent in document:
            value = document[sent]
            changes[name] = None if value is None else _setting(name, value)
    return changes


def _setting(name: str, value: Any) -> Any:
    if name in _TRUTHS:
        return _truth(value)
    if name.endswith("Metadata"):
        return None if (metadata := read_metadata(value)) is None else metadata_json(metadata)
    if name.endswith("RuleSet"):
        return None if (rules := read_rules(value)) is None else rule_set_json(rules)
    text = _text(value) or ""
    if name == "compatibilityLevel":
        if text.upper() not in LEVELS:
            raise refusals.invalid_level()
        return text.upper()
    if name == "compatibilityPolicy":
        return text.upper() if text.upper() in _POLICIES else None  # as Confluent: an unknown one is none
    return text


def read_mode(body: bytes, argument: str) -> tuple[bool, str | None, str | None]:
    """Whether a mode was sent, the mode, and the text as it was sent. Raises Refusal 42204."""
    document = _read(body, argument, "ModeUpdateRequest")
    document = {"mode": document} if isinstance(document, str) else _object(document, "ModeUpdateRequest")
    sent = _text(document.get("mode"))
    if sent is None:
        return "mode" in document, None, None
    if sent.upper() not in MODES:
        raise refusals.invalid_mode()
    return True, sent.upper(), sent


def read_metadata(document: Any) -> Metadata | None:
    """Metadata of a body. Raises Refusal 400."""
    if document is None:
        return None
    document = _object(document, "Metadata")
    for part, kind, wrong in (
        ("tags", "String>>", list),
        ("properties", "String>", list),
        ("sensitive", "String>", dict),
    ):
        if isinstance(document.get(part), wrong):
            raise Refusal(400, mismatch(document[part], kind))
    for tags in _values(document.get("tags")):
        if not isinstance(tags, list):
            raise Refusal(400, _NO_TAGS if tags is None else wrong_shape(tags, "HashSet"))
    try:
        properties = document.get("properties")
        if properties is not None:
            document = {**document, "properties": {key: _text(value) for key, value in properties.items()}}
        sets = (document.get("sensitive"), *_values(document.get("tags")), _values(document.get("properties")))
        if any(None in (names or ()) for names in sets):
            raise Refusal(400, _NO_METADATA)
        return metadata_of(document)
    except (AttributeError, TypeError):
        raise Refusal(400, _NO_METADATA) from None


def read_rules(document: Any) -> RuleSet | None:
    """Rules of a body. Raises Refusal 400 or 42210."""
    if document is None:
        return None
    document = _object(document, "RuleSet")
    try:
        rules = rule_set_of(document)
    except (AttributeError, TypeError):
        raise Refusal(400, "Cannot deserialize value of type `RuleSet`: lists of rules are expected") from None
    if rules is not None:
        check_rules(rules)
    return rules


def _references(documents: Any) -> Sequence[Reference | str]:
    """References; those that lack a part as Java prints them."""
    if documents is None:
        return ()
    if not isinstance(documents, list):
        raise Refusal(400, mismatch(documents, "SchemaReference>"))
    references: list[Reference | str] = []
    for document in documents:
        given = _object(document, "SchemaReference")
        name, subject, version = _text(given.get("name")), _text(given.get("subject")), _integer(given.get("version"))
        if name is None or subject is None or version is None:
            number = "null" if version is None else version
            references.append(f"{{name='{name or 'null'}', subject='{subject or 'null'}', version={number}}}")
        else:
            references.append(Reference(name, subject, version))
    return references


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else []


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool | int):
        return bool(value)
    text = str(value)
    if text in {"true", "True", "TRUE"}:
        return True
    if text in {"false", "False", "FALSE"}:
        return False
    if not text.strip():
        return None
    raise Refusal(
        400, f'Cannot deserialize value of type `Boolean` from String "{text}": only "true" or "false" recognized'
    )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, _Written):
        return value.text
    if isinstance(value, (int, float)):
        return str(value)
    shape, token = _TOKENS[type(value)]
    raise Refusal(400, f"Cannot deserialize value of type `String` from {shape} value (token `JsonToken.{token}`)")


def _integer(value: Any) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise Refusal(400, mismatch(value, "Integer"))
    if isinstance(value, (dict, list)):
        shape, token = _TOKENS[type(value)]
        raise Refusal(400, f"Cannot deserialize value of type `Integer` from {shape} value (token `JsonToken.{token}`)")
    try:
        number = int(value)
    except ValueError:
        said = f'from String "{value}": not a valid `java.lang.Integer` value'
        raise Refusal(400, f"Cannot deserialize value of type `Integer` {said}") from None
    if not -(2**31) <= number < 2**31:
        raise Refusal(400, f"Numeric value ({number}) out of range of int (-2147483648 - 2147483647)")
    return number
