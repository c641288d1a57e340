"""Reading and printing JSON as Jackson does: the canonical text of Avro and JSON Schema depends on it."""

import json
import math
import re
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from twinlog.registry.json_mistakes import first_mistake
from twinlog.registry.schemas.schema import InvalidSchema

MAX_DEPTH = 250
"""Nesting of objects and arrays. Jackson stops at 1000; real schemas stay far below 100."""

_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_STRINGS_AND_COMMENTS = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n\r]*', re.DOTALL)
_ESCAPES = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_WORD = re.compile(r"[^\s\[\]{},:\"]+")


def read_json(
    text: str, parse_float: Callable[[str], Any] | None = None, *, comments: bool = False, first: bool = False
) -> Any:
    """The value of `text`; of equal keys the last one counts. Raises InvalidSchema, never RecursionError.

    `first` reads the first value and ignores what follows, as Jackson does where nobody forbids it.
    """
    if len(text) > MAX_DEPTH:
        _check_depth(text)
    try:
        value = _load(text, parse_float, first=first)
    except json.JSONDecodeError as failed:
        if not (comments and "/" in text):
            raise InvalidSchema(_parse_message(text, failed)) from None
        bare = _STRINGS_AND_COMMENTS.sub(lambda matched: matched[0] if matched[0][0] == '"' else " ", text)
        try:
            value = _load(bare, parse_float)
        except json.JSONDecodeError as again:
            raise InvalidSchema(_parse_message(bare, again)) from None
    except ValueError as failed:  # an integer with more digits than Python converts
        raise InvalidSchema(str(failed)) from None
    if "\\ud" in text or "\\uD" in text:
        _check_surrogates(value)
    return value


def print_json(value: Any) -> str:
    """Compact text with the keys in their order."""
    parts: list[str] = []
    write_json(value, parts.append)
    return "".join(parts)


def write_json(value: Any, write: Callable[[str], object]) -> None:
    """Writes `value` piece by piece. Numbers that are no int or float print themselves (JSON Schema keeps decimals)."""
    if isinstance(value, str):
        write(quoted(value))
    elif isinstance(value, dict):
        separator = "{"
        for key, member in value.items():
            write(f"{separator}{quoted(key)}:")
            write_json(member, write)
            separator = ","
        write("}" if value else "{}")
    elif isinstance(value, list):
        separator = "["
        for member in value:
            write(separator)
            write_json(member, write)
            separator = ","
        write("]" if value else "[]")
    else:
        write(_scalar(value))


def quoted(text: str) -> str:
    """A JSON string; everything beyond control characters stays as it is."""
    printed: str = encode_basestring(text)
    return _ESCAPES.sub(_capital_hex, printed) if "\\u" in printed else printed


def java_double(value: float) -> str:
    """A double as Java prints it: 1.0, 1.0E10, 1.0E-7; Jackson quotes what is no number."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(value).partition("e")
    return _scientific(mantissa, int(exponent or 0))


def _scientific(mantissa: str, exponent: int) -> str:
    """One digit before the point. `mantissa` is what repr gives, with or without a point."""
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(digits)
    exponent += len(whole) - 1 - leading_zeros
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        return java_double(value)
    return str(value)


def _load(text: str, parse_float: Callable[[str], Any] | None, *, first: bool = False) -> Any:
    if not first:
        return json.loads(text, parse_float=parse_float, parse_constant=_refuse_constant)
    decoder = json.JSONDecoder(parse_float=parse_float, parse_constant=_refuse_constant)
    return decoder.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))[0]


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"Non-standard token '{name}'", name, 0)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for matched in _STRINGS_AND_BRACKETS.finditer(text):
        mark = matched[0]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                message = f"Document nesting depth ({depth}) exceeds the maximum allowed ({MAX_DEPTH})"
                raise InvalidSchema(message)
        elif mark in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    """Half a surrogate pair cannot be written into the topic."""
    try:
        print_json(value).encode()
    except UnicodeEncodeError:
        raise InvalidSchema("Invalid JSON: a string has half a surrogate pair") from None


def _capital_hex(escape: re.Match[str]) -> str:
    escaped = escape[1]
    return escape[0] if escaped[0] != "u" or len(escaped) == 1 else "\\u" + escaped[1:].upper()


def _parse_message(text: str, failed: json.JSONDecodeError) -> str:
    if failed.msg == "Extra data":
        return f"dangling content after end of schema: {text[failed.pos :].strip()}"
    place = f"line: {failed.lineno}, column: "
    source = "[Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); "
    word = _WORD.match(text, failed.pos)
    if failed.msg == "Expecting value" and word:
        wanted = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
        column = failed.colno + len(word[0])
        reason = f"Unrecognized token '{word[0]}': was expecting {wanted}"
    elif "property name" in failed.msg and (seen := text[failed.pos : failed.pos + 1]):
        column = failed.colno
        reason = f"Unexpected character ('{seen}' (code {ord(seen)})): was expecting double-quote to start field name"
    else:
        column = failed.colno
        reason = first_mistake(text, special=False) or failed.msg
    return f"com.fasterxml.jackson.core.JsonParseException: {reason}\n at {source}{place}{column}]"
