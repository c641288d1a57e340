"""What Jackson says about a body that is no JSON, or JSON of another shape. Pure."""

import json
import re
from typing import Any, Final

_WHERE: Final = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {}, column: {}]"
_VALUES: Final = "(JSON String, Number (or 'NaN'/'+INF'/'-INF'), Array, Object or token 'null', 'true' or 'false')"
_WORD: Final = re.compile(r"[^\s\[\]{},:\"'/]+")
_STRINGS_AND_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_SHAPES: Final[dict[type, tuple[str, str]]] = {
    dict: ("Object value", "START_OBJECT"),
    list: ("Array value", "START_ARRAY"),
    str: ("String value", "VALUE_STRING"),
}


def syntax_message(text: str, wrong: Exception) -> str:
    """Why a text cannot be read."""
    if not isinstance(wrong, json.JSONDecodeError):
        return f"The request is not JSON: {wrong}"
    at = wrong.pos
    rest = text[at:].lstrip()
    if not rest:
        return _cut_off(text)
    word = _WORD.match(rest)
    if wrong.msg in {"Expecting value", "Extra data"} and word and not rest[0].isdigit():
        return f"Unrecognized token '{word[0]}': was expecting {_VALUES}"
    seen = f"Unexpected character ('{rest[0]}' (code {ord(rest[0])}))"
    if "property name" in wrong.msg:
        return f"{seen}: was expecting double-quote to start field name"
    if wrong.msg == "Expecting ':' delimiter":
        return f"{seen}: was expecting a colon to separate field name and value"
    if wrong.msg == "Expecting ',' delimiter":
        inner, _ = _open_at(text[:at])
        return f"{seen}: was expecting comma to separate {inner} entries"
    if wrong.msg == "Expecting value":
        return f"{seen}: expected a valid value {_VALUES}"
    return f"The request is not JSON: {wrong}"


def wrong_shape(value: Any, kind: str) -> str:
    """Why a value is no `kind`, which is an object."""
    if isinstance(value, list):
        return mismatch(value, kind)
    creator = "(although at least one Creator exists): no"
    named, source = _scalar(value)
    said = f"{creator} {named}-argument constructor/factory method to deserialize from {source}"
    return f"Cannot construct instance of `{kind}` {said}"


def mismatch(value: Any, kind: str) -> str:
    """Why a value is not of a type."""
    shape, token = _SHAPES.get(type(value), ("Integer value", "VALUE_NUMBER_INT"))
    return f"Cannot deserialize value of type `{kind}` from {shape} (token `JsonToken.{token}`)"


def _scalar(value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        return "String", f"String value ('{value}')"
    if isinstance(value, bool):
        return "boolean/Boolean", f"boolean value ({str(value).lower()})"
    return ("int/Int" if isinstance(value, int) else "double/Double"), f"Number value ({value})"


def _cut_off(text: str) -> str:
    inner, start = _open_at(text)
    if text.rstrip()[-1:] in {":", ","}:
        return f"Unexpected end-of-input within/between {inner} entries"
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    marker = f"(start marker at {_WHERE.format(line, column)})"
    return f"Unexpected end-of-input: expected close marker for {inner} {marker}"


def _open_at(text: str) -> tuple[str, int]:
    """The innermost object or array that is open at the end of a text, and where it begins."""
    opened: list[tuple[str, int]] = []
    for token in _STRINGS_AND_BRACKETS.finditer(text):
        if token[0] in {"{", "["}:
            opened.append(("Object" if token[0] == "{" else "Array", token.start()))
        elif token[0] in {"}", "]"} and opened:
            opened.pop()
    return opened[-1] if opened else ("Object", 0)
