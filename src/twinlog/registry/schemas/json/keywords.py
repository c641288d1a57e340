"""Values of keywords: each has the JSON type that its keyword demands, or the schema is refused."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from twinlog.registry.schemas.json.text import sorted_text
from twinlog.registry.schemas.schema import InvalidSchema

Value = TypeVar("Value")
_INT = 2**31


def refusal(why: str) -> InvalidSchema:
    """Confluent says nothing but these two words; `why` goes into the log."""
    return InvalidSchema("Invalid JSON", rejected_by_check=True, cause=why)


def refuse(why: str) -> NoReturn:
    """Ends the reading of a schema whose content is not valid."""
    raise refusal(why)


def text_of(value: Any) -> str:
    """A string."""
    return value if isinstance(value, str) else _wrong("a string", value)


def flag_of(value: Any) -> bool:
    """A boolean."""
    return value if isinstance(value, bool) else _wrong("a boolean", value)


def number_of(value: Any) -> int | Decimal:
    """A number."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return value
    return _wrong("a number", value)


def integer_of(value: Any) -> int:
    """A Java int that is written without a point."""
    if isinstance(value, int) and not isinstance(value, bool) and -_INT <= value < _INT:
        return value
    return _wrong("an integer", value)


def cut_integer_of(value: Any) -> int:
    """A number without its fraction, within the limits of a Java int."""
    return max(-_INT, min(_INT - 1, int(number_of(value))))


def list_of(value: Any) -> list[Any]:
    """An array."""
    return value if isinstance(value, list) else _wrong("an array", value)


def object_of(value: Any) -> dict[str, Any]:
    """An object."""
    return value if isinstance(value, dict) else _wrong("an object", value)


def maybe(json: dict[str, Any], keyword: str, read: Callable[[Any], Value]) -> Value | None:
    """The value of a keyword that may be absent."""
    return read(json[keyword]) if keyword in json else None


def _wrong(wanted: str, value: Any) -> NoReturn:
    refuse(f"expected {wanted}, found {sorted_text(value)[:200]}")
