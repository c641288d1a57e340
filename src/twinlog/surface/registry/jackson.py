"""What Jackson says about a body that is no JSON, or JSON of another shape. Pure."""

import json
from typing import Any, Final

from twinlog.registry.json_mistakes import first_mistake

_TOKENS: Final = {
    "{": "START_OBJECT",
    "[": "START_ARRAY",
    '"': "VALUE_STRING",
    "t": "VALUE_TRUE",
    "f": "VALUE_FALSE",
    "n": "VALUE_NULL",
}
_SHAPES: Final[dict[type, tuple[str, str]]] = {
    dict: ("Object value", "START_OBJECT"),
    list: ("Array value", "START_ARRAY"),
    str: ("String value", "VALUE_STRING"),
}


def syntax_message(text: str, wrong: Exception, kind: str) -> str:
    """Why a text cannot be read as an object of a kind."""
    if text.lstrip()[:1] == "[":
        return mismatch([], kind)  # the shape is wrong before the rest is looked at
    said = first_mistake(text)
    if said is not None:
        return said
    if isinstance(wrong, json.JSONDecodeError) and wrong.msg == "Extra data":
        token = _TOKENS.get(text[wrong.pos :].lstrip()[:1], "VALUE_NUMBER_INT")
        told = "not allowed as per `DeserializationFeature.FAIL_ON_TRAILING_TOKENS`"
        return f"Trailing token (of type {token}) found after value (bound as `{kind}`): {told}"
    return f"The request is not JSON: {wrong}"


def wrong_shape(value: Any, kind: str) -> str:
    """Why a value is no `kind`, which is an object."""
    if isinstance(value, list):
        return mismatch(value, kind)
    if value == "":
        told = "(but could if coercion was enabled using `CoercionConfig`)"
        return f'Cannot coerce empty String ("") to `{kind}` value {told}'
    creator = "(although at least one Creator exists): no"
    named, source = _scalar(value)
    said = f"{creator} {named}-argument constructor/factory method to deserialize from {source}"
    return f"Cannot construct instance of `{kind}` {said}"


def mismatch(value: Any, kind: str) -> str:
    """Why a value is not of a type."""
    if isinstance(value, bool):
        shape, token = "Boolean value", f"VALUE_{str(value).upper()}"
    else:
        shape, token = _SHAPES.get(type(value), ("Integer value", "VALUE_NUMBER_INT"))
    return f"Cannot deserialize value of type `{kind}` from {shape} (token `JsonToken.{token}`)"


def _scalar(value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        return "String", f"String value ('{value}')"
    if isinstance(value, bool):
        return "boolean/Boolean", f"boolean value ({str(value).lower()})"
    written = "NaN" if value != value else value  # noqa: PLR0124  as it was written
    return ("int/Int" if isinstance(value, int) else "double/Double"), f"Number value ({written})"
