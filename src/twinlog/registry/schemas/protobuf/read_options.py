"""Reading of options: `option (a).b = 5;`, `[deprecated = true]` and values in braces."""

from typing import Any

from twinlog.registry.schemas.protobuf.model import Option, OptionKind, Primitive
from twinlog.registry.schemas.protobuf.syntax import Reader

_PRIMITIVE = frozenset({"BOOLEAN", "ENUM", "NUMBER"})


def read_options(reader: Reader) -> list[Option]:
    """Options in square brackets; none if there is no bracket."""
    if not reader.take_if("["):
        return []
    options = []
    while True:
        options.append(read_option(reader, "="))
        if reader.take_if("]"):
            return options
        if not reader.take_if(","):
            reader.fail("Expected ',' or ']")


def read_option(reader: Reader, separator: str) -> Option:
    """A name, the separator and a value."""
    start = reader.peek()
    name = reader.name()
    if start == "[":
        name = f"[{name}]"
    inner: list[str] = []
    mark = reader.take()
    while mark == ".":
        part = reader.name(wrapped=True)
        inner += [part] if part.startswith("(") else part.split(".")
        mark = reader.take()
    if separator == ":" and mark == "{":
        reader.at -= 1  # in a map the separator may be left out before a map
    elif mark != separator:
        reader.fail(f"expected '{separator}' in option")
    kind, value = _value(reader)
    for part in reversed(inner):
        parenthesized = part.startswith("(")
        value = Option(part[1:-1] if parenthesized else part, kind, value, parenthesized)
        kind = "OPTION"
    return Option(name, kind, value, start == "(")


def _value(reader: Reader) -> tuple[OptionKind, Any]:
    mark = reader.peek()
    if mark == "{":
        return "MAP", _map(reader)
    if mark == "[":
        return "LIST", _list(reader)
    if mark in {'"', "'"}:
        return "STRING", reader.quoted()
    word = reader.word()
    if mark.isdigit() or mark == "-":
        return "NUMBER", word
    return ("BOOLEAN" if word in {"true", "false"} else "ENUM"), word


def _inner(kind: OptionKind, value: Any) -> Any:
    return Primitive(kind, value) if kind in _PRIMITIVE else value


def _map(reader: Reader) -> dict[str, Any]:
    reader.require("{")
    entries: dict[str, Any] = {}
    while not reader.take_if("}"):
        option = read_option(reader, ":")
        value = _inner(option.kind, option.value)
        if isinstance(value, Option):
            nested = entries.get(option.name)
            if not isinstance(nested, dict):
                nested = entries[option.name] = {}
            nested[value.name] = value.value
        elif option.name in entries:
            before = entries[option.name]
            several = before if isinstance(before, list) else [before]
            several += value if isinstance(value, list) else [value]
            entries[option.name] = several
        else:
            entries[option.name] = value
        _ = reader.take_if(",") or reader.take_if(";")
    return entries


def _list(reader: Reader) -> list[Any]:
    reader.require("[")
    values: list[Any] = []
    while not reader.take_if("]"):
        values.append(_inner(*_value(reader)))
        if not reader.take_if(",") and reader.peek() != "]":
            reader.fail("expected ',' or ']'")
    return values
