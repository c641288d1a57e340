"""The text of a .proto file as Confluent prints it, plain or normalized.

Normalized: names of types are complete and begin with a dot, fields are in the order of their numbers, options are
sorted, a list of reserved numbers becomes one line for each. Messages keep their order, because records count them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from twinlog.registry.schemas.protobuf.model import (
    MAX_TAG,
    SCALARS,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Message,
    OneOf,
    Option,
    OptionKind,
    ProtoFile,
    Range,
    Rpc,
    Service,
    Values,
    map_types,
)
from twinlog.registry.schemas.protobuf.names import Names, Scope, is_map_entry
from twinlog.registry.schemas.protobuf.write_options import OptionPrinter
from twinlog.registry.schemas.schema import InvalidSchema

_NUMERIC = SCALARS - {"bool", "string"}


class Printer:
    """Prints one file. With `names` the text is normalized."""

    def __init__(self, names: Names | None = None, *, ignore_extensions: bool = False) -> None:
        self._names = names
        self._ignore_extensions = ignore_extensions
        self._options = OptionPrinter(names, ignore_extensions=ignore_extensions)

    def file(self, file: ProtoFile) -> str:
        scope = Scope(file.package or "")
        parts: list[str] = []
        if file.syntax is not None and (self._names is None or file.syntax == "proto3"):
            parts.append(f'syntax = "{file.syntax}";\n')
        if file.package is not None:
            parts.append(f"package {file.package};\n")
        imports = [f'import "{path}";\n' for path in self._once(file.imports)]
        imports += [f'import public "{path}";\n' for path in self._once(file.public_imports)]
        extends = [] if self._ignore_extensions else self._extends(file.extends, scope)
        for block in (
            imports,
            self._option_lines(file.options, scope),
            self._types(file.types, scope),
            [self._extend(extend, scope) for extend in extends],
            [self._service(service, scope) for service in file.services],
        ):
            if block:
                parts += ["\n", *block]
        return "".join(parts)

    def _once(self, paths: list[str]) -> list[str]:
        return paths if self._names is None else sorted(set(paths))

    def _by_tag(self, members: Sequence[Any]) -> Sequence[Any]:
        return members if self._names is None else sorted(members, key=lambda member: member.tag)

    def _option_lines(self, options: list[Option], scope: Scope) -> list[str]:
        return [f"option {self._options.text(option, scope)};\n" for option in self._options.chosen(options, scope)]

    def _in_brackets(self, options: list[Option], scope: Scope) -> str:
        chosen = self._options.chosen(options, scope)
        return f" {self._options.in_brackets(chosen, scope)}" if chosen else ""

    def _types(self, types: Iterable[Message | Enum], scope: Scope) -> list[str]:
        """Messages first. A message that a compiler made for a map is left out of the normalized text."""
        messages = [
            element
            for element in types
            if isinstance(element, Message) and not (self._names is not None and is_map_entry(element))
        ]
        enums = [element for element in types if isinstance(element, Enum)]
        return [
            *(self._message(message, scope.inside(message.name)) for message in messages),
            *(self._enum(enum, scope.inside(enum.name)) for enum in enums),
        ]

    def _message(self, message: Message, scope: Scope) -> str:
        one_ofs = message.one_ofs
        if self._names is not None:
            filled = [one_of for one_of in one_ofs if one_of.fields]
            one_ofs = sorted(filled, key=lambda one_of: min(field.tag for field in one_of.fields))
        extensions: list[str] = []
        extends: list[str] = []
        if not self._ignore_extensions:
            extensions = self._extension_lines(message.extensions, scope)
            extends = [self._extend(extend, scope) for extend in self._extends(message.extends, scope)]
        return _block(
            f"message {message.name}",
            [f"reserved {_values(values, self._names)};\n" for values in self._reserved(message.reserved)] or None,
            self._option_lines(message.options, scope) or None,
            self._fields(message.fields, scope) or None,
            # the empty line stays also where normalization has left no oneof
            [self._one_of(one_of, scope) for one_of in one_ofs] if message.one_ofs else None,
            [self._group(group, scope) for group in self._by_tag(message.groups)] or None,
            extensions or None,
            extends or None,
            self._types(message.types, scope) or None,
        )

    def _fields(self, fields: list[Field], scope: Scope) -> list[str]:
        return [self._field(field, scope) for field in self._by_tag(fields)]

    def _field(self, field: Field, scope: Scope) -> str:
        label, kind = field.label, field.type
        if self._names is not None:
            kind = self._normal_type(kind, scope)
            label = None if map_types(kind) else label
        options = list(field.options)
        if field.default is not None:
            options.append(Option("default", _kind_of_default(kind), field.default))
        if field.json_name is not None:
            options.append(Option("json_name", "STRING", field.json_name))
        start = f"{label} " if label else ""
        return f"{start}{kind} {field.name} = {field.tag}{self._in_brackets(options, scope)};\n"

    def _normal_type(self, kind: str, scope: Scope) -> str:
        if self._names is None or kind in SCALARS:
            return kind
        if map_types(kind) is None:
            full = self._complete(kind, scope)
            known = self._names.find(full, scope)
            kind = (known.map_type() if known else None) or full
        types = map_types(kind)
        if types is None:
            return kind
        value = self._names.full_name(types[1], scope)
        return f"map<{types[0]}, {types[1] if value is None else f'.{value}'}>"

    def _complete(self, name: str, scope: Scope) -> str:
        if self._names is None:
            return name
        full = self._names.full_name(name, scope)
        if full is None:
            raise InvalidSchema(f"Could not resolve type: {name}", rejected_by_check=True)
        return f".{full}"

    def _one_of(self, one_of: OneOf, scope: Scope) -> str:
        return _block(
            f"oneof {one_of.name}",
            self._option_lines(one_of.options, scope) or None,
            self._fields(one_of.fields, scope) or None,
            [self._group(group, scope) for group in self._by_tag(one_of.groups)] or None,
        )

    def _group(self, group: Group, scope: Scope) -> str:
        start = f"{group.label} " if group.label else ""
        return _block(f"{start}group {group.name} = {group.tag}", self._fields(group.fields, scope) or None)

    def _extends(self, extends: list[Extend], scope: Scope) -> list[Extend]:
        """Normalized: one for each message, with all of its fields."""
        if self._names is None:
            return extends
        fields: dict[str, list[Field]] = {}
        for extend in extends:
            for field in extend.fields:
                fields.setdefault(self._complete(extend.name, scope), []).append(field)
        return [Extend(name, members) for name, members in fields.items()]

    def _extend(self, extend: Extend, scope: Scope) -> str:
        return _block(f"extend {extend.name}", self._fields(extend.fields, scope) or None)

    def _extension_lines(self, extensions: list[Extensions], scope: Scope) -> list[str]:
        if self._names is not None:
            single = [Extensions([value], part.options) for part in extensions for value in part.values]
            extensions = sorted(single, key=lambda part: _first(part.values[0]))
        return [
            f"extensions {_values(part.values, self._names)}{self._in_brackets(part.options, scope)};\n"
            for part in extensions
        ]

    def _reserved(self, reserved: list[Values]) -> list[Values]:
        if self._names is None:
            return reserved
        single: list[Values] = [[value] for values in reserved for value in values]
        return sorted(single, key=lambda values: (_first(values[0]), _java_text(values[0])))

    def _enum(self, enum: Enum, scope: Scope) -> str:
        constants: list[Constant] = enum.constants
        if self._names is not None:
            constants = sorted(constants, key=lambda constant: (constant.tag, constant.name))
        lines = [f"reserved {_values(values, self._names)};\n" for values in self._reserved(enum.reserved)]
        lines += self._option_lines(enum.options, scope)
        lines += [
            f"{constant.name} = {constant.tag}{self._in_brackets(constant.options, scope)};\n" for constant in constants
        ]
        return _block(f"enum {enum.name}", lines or None)

    def _service(self, service: Service, scope: Scope) -> str:
        return _block(
            f"service {service.name}",
            self._option_lines(service.options, scope) or None,
            [self._rpc(rpc, scope) for rpc in service.rpcs] or None,
        )

    def _rpc(self, rpc: Rpc, scope: Scope) -> str:
        def shown(name: str, *, streams: bool) -> str:
            return f"({'stream ' if streams else ''}{self._complete(name, scope)})"

        request = shown(rpc.request, streams=rpc.streams_request)
        response = shown(rpc.response, streams=rpc.streams_response)
        options = self._option_lines(rpc.options, scope)
        body = f" {{\n{indented(''.join(options))}}}" if options else ""
        return f"rpc {rpc.name} {request} returns {response}{body};\n"


def indented(text: str) -> str:
    """Each line two blanks further; an empty line gets them too."""
    lines = text.rstrip("\n").split("\n")
    return "".join(f"  {line}\n" for line in lines)


def _block(head: str, *members: list[str] | None) -> str:
    """A head with members in braces. Each kind of member follows an empty line; None is a kind without one."""
    body = "".join("\n" + "".join(indented(member) for member in kind) for kind in members if kind is not None)
    return f"{head} {{{body}}}\n"


def _first(value: int | str | Range) -> int:
    if isinstance(value, Range):
        return value.first
    return value if isinstance(value, int) else 2**31 - 1


def _java_text(value: int | str | Range) -> str:
    return f"{value.first}..{value.last}" if isinstance(value, Range) else str(value)


def _values(values: Values, names: Names | None) -> str:
    parts = []
    for value in values:
        if isinstance(value, str):
            parts.append(f'"{value}"')
        elif isinstance(value, Range) and not (names is not None and value.first == value.last):
            parts.append(f"{value.first} to {value.last if value.last < MAX_TAG else 'max'}")
        else:
            parts.append(str(_first(value)))
    return ", ".join(parts)


def _kind_of_default(kind: str) -> OptionKind:
    if kind == "bool":
        return "BOOLEAN"
    if kind == "string":
        return "STRING"
    return "NUMBER" if kind in _NUMERIC else "ENUM"
