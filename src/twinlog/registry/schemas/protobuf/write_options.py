"""The text of options, plain or normalized."""

import re
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any

from twinlog.registry.schemas.protobuf.model import Option, Primitive
from twinlog.registry.schemas.protobuf.names import Names, Scope

_ESCAPED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
}
_TO_ESCAPE = re.compile("[" + re.escape("".join(_ESCAPED)) + "]")
_HEXADECIMAL = re.compile(r"(-?)(?:0[xX]|#)([0-9a-fA-F]+)")
_OCTAL = re.compile(r"(-?)0([0-7]+)")
_DECIMAL = re.compile(r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)[fFdDlL]?")
_KEPT_WITHOUT_EXTENSIONS = "confluent"
_THOUSANDTH = Decimal("0.001")
_MOST_DIGITS = 400


class OptionPrinter:
    """Chooses, orders and prints options. With `names` the text is normalized."""

    def __init__(self, names: Names | None, *, ignore_extensions: bool) -> None:
        self._names = names
        self._ignore_extensions = ignore_extensions

    def chosen(self, options: list[Option], scope: Scope) -> list[Option]:
        """The options to print. Normalized: with complete names, sorted, options of one name merged."""
        if self._ignore_extensions:
            options = [
                option
                for option in options
                if not option.parenthesized or option.name.startswith(_KEPT_WITHOUT_EXTENSIONS)
            ]
        if self._names is None:
            return options
        groups: dict[str, list[Option]] = {}
        for option in sorted((self._complete(option, scope) for option in options), key=lambda option: option.name):
            groups.setdefault(option.name, []).append(option)
        chosen: list[Option] = []
        for name, group in groups.items():
            field = self._names.extensions.get(name.removeprefix("."))
            if field is not None and field.label != "repeated":
                chosen.append(_merged(group))
            else:
                chosen += group
        return chosen

    def text(self, option: Option, scope: Scope) -> str:
        name = f"({option.name})" if option.parenthesized else option.name
        match option.kind:
            case "STRING":
                return f'{name} = "{escaped(str(option.value))}"'
            case "NUMBER":
                return f"{name} = {self._number(str(option.value))}"
            case "OPTION":
                return f"{name}.{self.text(option.value, scope)}"
            case "MAP":
                return f"{name} = {self._value(option.value, scope)}"
            case "LIST":
                return f"{name} = {self.in_brackets(option.value, scope)}"
        return f"{name} = {option.value}"

    def in_brackets(self, values: list[Any], scope: Scope) -> str:
        if len(values) == 1:
            return f"[{self._value(values[0], scope)}]"
        return f"[\n{_lines([self._value(value, scope) for value in values])}]"

    def _value(self, value: Any, scope: Scope) -> str:
        if isinstance(value, str):
            return f'"{escaped(value)}"'
        if isinstance(value, Option):
            return self.text(value, scope)
        if isinstance(value, Primitive):
            return self._number(value.value) if value.kind == "NUMBER" else value.value
        if isinstance(value, dict):
            members = self._members(value, scope)
            return f"{{\n{_lines([f'{key}: {self._value(inner, scope)}' for key, inner in members.items()])}}}"
        if self._names is not None and len(value) == 1:
            return self._value(value[0], scope)
        return f"[\n{_lines([self._value(inner, scope) for inner in value])}]"

    def _members(self, values: dict[str, Any], scope: Scope) -> dict[str, Any]:
        if self._names is None:
            return values
        complete: dict[str, Any] = {}
        for key, value in values.items():
            if value == []:
                continue
            inside = key.startswith("[") and key.endswith("]")
            full = self._names.full_extension(key[1:-1], scope) if inside else None
            complete.setdefault(key if full is None else f"[{full}]", value)
        return {key: complete[key] for key in sorted(complete)}

    def _complete(self, option: Option, scope: Scope) -> Option:
        if self._names is None or not option.parenthesized:
            return option
        full = self._names.full_extension(option.name, scope)
        return option if full is None else _as_map(Option(full, option.kind, option.value, True))

    def _number(self, digits: str) -> str:
        return digits if self._names is None else normal_number(digits)


def escaped(text: str) -> str:
    """The inside of a quoted text."""
    return _TO_ESCAPE.sub(lambda matched: _ESCAPED[matched[0]], text)


def normal_number(digits: str) -> str:
    """A number as Java's DecimalFormat prints it: no exponent, at most three digits after the point."""
    matched = _HEXADECIMAL.fullmatch(digits) or _OCTAL.fullmatch(digits)
    if matched is not None:
        number = int(matched[2], 16 if _HEXADECIMAL.fullmatch(digits) else 8)
        return f"-{number}" if matched[1] else str(number)
    decimal = _DECIMAL.fullmatch(digits)
    if decimal is None or len(digits) > _MOST_DIGITS:
        return digits  # inf, nan and the like
    try:
        value = Decimal(decimal[1])
        if value.is_zero():
            return "-0" if value.is_signed() and not decimal[1].lstrip("-").isdecimal() else "0"
        if value != value.to_integral_value():
            value = value.quantize(_THOUSANDTH, ROUND_HALF_EVEN)
    except InvalidOperation:
        return digits
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def merged_options(options: list[Option]) -> dict[str, Option]:
    """Options by name, those of one name merged."""
    by_name: dict[str, list[Option]] = {}
    for option in options:
        by_name.setdefault(option.name.removeprefix("."), []).append(option)
    return {name: _merged([_as_map(option) for option in group]) for name, group in by_name.items()}


def _lines(values: list[str]) -> str:
    """One value on each line, with commas between them, indented."""
    last = len(values) - 1
    return "".join(
        f"  {line}\n"
        for place, value in enumerate(values)
        for line in (value + ("," if place < last else "")).split("\n")
    )


def _as_map(option: Option) -> Option:
    """`(a).b.c = 1` as `(a) = { b: { c: 1 } }`."""
    if option.kind != "OPTION":
        return option
    inner: Option = option.value
    value = _as_map(inner).value if inner.kind == "OPTION" else inner.value
    if inner.kind in {"BOOLEAN", "ENUM", "NUMBER"}:
        value = Primitive(inner.kind, value)
    return Option(option.name, "MAP", {inner.name: value}, option.parenthesized)


def _merged(options: list[Option]) -> Option:
    """One option of several with the same name: maps grow, otherwise the last one counts."""
    merged = options[0]
    for option in map(_as_map, options[1:]):
        if merged.kind == option.kind == "MAP":
            values = dict(merged.value)
            for key, value in option.value.items():
                values[key] = _both(values[key], value) if key in values else value
            merged = Option(option.name, "MAP", values, option.parenthesized)
        else:
            merged = option
    return merged


def _both(before: Any, after: Any) -> list[Any]:
    several: list[Any] = []
    for value in (before, after):
        for item in value if isinstance(value, list) else [value]:
            if item not in several:
                several.append(item)
    return several
