"""The text of a JSON Schema: numbers keep their digits, of equal keys the last one counts."""

from decimal import Decimal, InvalidOperation
from typing import Any

from twinlog.registry.schemas.json_text import print_json, read_json
from twinlog.registry.schemas.schema import InvalidSchema

_MOST_EXPONENT = 2**31


def read_text(text: str) -> Any:
    """The first value of `text`; Jackson does not look at what follows it."""
    try:
        return read_json(text, parse_float=_decimal, first=True)
    except InvalidSchema as failed:
        raise InvalidSchema("Invalid JSON schema", cause=failed.message) from None


def print_text(value: Any) -> str:
    """The canonical text: compact, with the keys in their order."""
    return print_json(value)


def sorted_keys(value: Any) -> Any:
    """The value with the keys of all objects in Java's order."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value, key=_java_order)}
    if isinstance(value, list):
        return [sorted_keys(item) for item in value]
    return value


def sorted_text(value: Any) -> str:
    """A text that is equal for values that differ in the order of their keys only."""
    return print_json(sorted_keys(value))


def _java_order(text: str) -> bytes:
    """Java compares strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def _decimal(digits: str) -> Decimal:
    try:
        number = Decimal(digits)
    except InvalidOperation:
        raise InvalidSchema(f"{digits} is no number") from None
    if not number.is_finite() or abs(int(number.as_tuple().exponent)) >= _MOST_EXPONENT:
        raise InvalidSchema(f"the exponent of {digits} is too large")
    return abs(number) if number.is_zero() else number  # Java's decimals have no negative zero
