"""A schema as bytes of Google's FileDescriptorProto, as Confluent gives it for `format=serialized`.

Options that nobody but their own extensions knows are left out. Groups are left out as well.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from twinlog.registry.schemas.protobuf.descriptor_fields import (
    CONSTANT_OPTIONS,
    ENUM,
    ENUM_OPTIONS,
    FIELD_OPTIONS,
    FILE_OPTIONS,
    LABELS,
    MESSAGE,
    MESSAGE_OPTIONS,
    META,
    RPC_OPTIONS,
    SERVICE_OPTIONS,
    TYPES,
)
from twinlog.registry.schemas.protobuf.descriptor_fields import (
    Names as OptionNames,
)
from twinlog.registry.schemas.protobuf.model import (
    Constant,
    Enum,
    Extend,
    Field,
    Message,
    Option,
    Primitive,
    ProtoFile,
    Range,
    Service,
    Values,
    map_types,
)
from twinlog.registry.schemas.protobuf.names import Names, Scope
from twinlog.registry.schemas.protobuf.well_known import well_known_files
from twinlog.registry.schemas.protobuf.wire import Builder
from twinlog.registry.schemas.protobuf.write_options import merged_options

_NAME = "default"


def descriptor_bytes(file: ProtoFile, names: Names, dependencies: Mapping[str, ProtoFile]) -> bytes:
    """The bytes of the file. Files that it imports are named, not included."""
    return _Writer(names, file.syntax).file(file, dependencies.keys() | well_known_files().keys())


class _Writer:
    def __init__(self, names: Names, syntax: str | None) -> None:
        self._names = names
        self._proto3 = syntax == "proto3"

    def file(self, file: ProtoFile, known: set[str]) -> bytes:
        made = Builder()
        scope = Scope(file.package or "")
        made.text(1, _NAME)
        if file.package is not None:
            made.text(2, file.package)
        imported = list(dict.fromkeys(path for path in (*file.imports, *file.public_imports) if path in known))
        for path in imported:
            made.text(3, path)
        for path in dict.fromkeys(file.public_imports):
            if path in known:
                made.number(10, imported.index(path))
        for element in file.types:
            if isinstance(element, Message):
                made.message(4, self._message(element, scope.inside(element.name)))
            else:
                made.message(5, _enum(element))
        for service in file.services:
            made.message(6, _service(service))
        self._extends(made, 7, file.extends, scope)
        _options(made, 8, file.options, FILE_OPTIONS, "confluent.file_meta")
        if file.syntax is not None:
            made.text(12, file.syntax)
        return made.done()

    def _extends(self, made: Builder, number: int, extends: list[Extend], scope: Scope) -> None:
        for extend in extends:
            for field in extend.fields:
                made.message(number, self._field(field, scope, field.label, extendee=extend.name))

    def _message(self, message: Message, scope: Scope) -> bytes:
        made = Builder()
        made.text(1, message.name)
        for element in message.types:
            if isinstance(element, Message):
                made.message(3, self._message(element, scope.inside(element.name)))
            else:
                made.message(4, _enum(element))
        self._fields(made, message, scope)
        for extensions in message.extensions:
            for value in extensions.values:
                made.message(5, _range(value, past_the_end=1, with_options=True))
        self._extends(made, 6, message.extends, scope)
        _options(made, 7, message.options, MESSAGE_OPTIONS, "confluent.message_meta")
        _reserved(made, message.reserved, 9, past_the_end=1)
        return made.done()

    def _fields(self, made: Builder, message: Message, scope: Scope) -> None:
        """Members of oneofs first, then the other fields. A field that is optional in proto3 gets its own oneof."""
        in_one_ofs: set[str] = set()
        place = 0
        for one_of in message.one_ofs:
            made.message(8, _one_of(one_of.name))
            for field in one_of.fields:
                made.message(2, self._field(field, scope, "optional", one_of=place))
                in_one_ofs.add(field.name)
            place += 1
        for field in message.fields:
            if field.name in in_one_ofs:
                continue
            types = map_types(field.type)
            if types is not None:
                entry = _map_entry(field.name)
                made.message(3, self._entry(entry, types, scope))
                made.message(2, self._field(replace(field, type=entry), scope, "repeated"))
            elif field.label == "optional" and self._proto3:
                made.message(8, _one_of(f"_{field.name}"))
                made.message(2, self._field(field, scope, "optional", one_of=place, proto3_optional=True))
                place += 1
            else:
                made.message(2, self._field(field, scope, field.label))

    def _entry(self, name: str, types: tuple[str, str], scope: Scope) -> bytes:
        made = Builder()
        made.text(1, name)
        for number, (part, kind) in enumerate(zip(("key", "value"), types, strict=True), start=1):
            made.message(2, self._field(Field(None, kind, part, number), scope, None))
        options = Builder()
        options.number(7, 1)
        made.message(7, options.done())
        return made.done()

    def _field(
        self,
        field: Field,
        scope: Scope,
        label: str | None,
        *,
        extendee: str | None = None,
        one_of: int | None = None,
        proto3_optional: bool = False,
    ) -> bytes:
        made = Builder()
        made.text(1, field.name)
        if extendee is not None:
            made.text(2, extendee)
        made.number(3, field.tag)
        if label is not None:
            made.number(4, LABELS[label])
        if field.type in TYPES:
            made.number(5, TYPES[field.type])
        else:
            known = self._names.find(field.type, scope)
            if known is not None:
                made.number(5, MESSAGE if isinstance(known.element, Message) else ENUM)
            made.text(6, field.type)
        if field.default is not None:
            made.text(7, field.default)
        _options(made, 8, field.options, FIELD_OPTIONS, "confluent.field_meta")
        if one_of is not None:
            made.number(9, one_of)
        if field.json_name is not None:
            made.text(10, field.json_name)
        if proto3_optional:
            made.number(17, 1)
        return made.done()


def _map_entry(name: str) -> str:
    """The name of the message that holds one entry of a map."""
    if "_" not in name:
        return f"{name}Entry"
    return "".join(part[:1].upper() + part[1:].lower() for part in name.split("_")) + "Entry"


def _one_of(name: str) -> bytes:
    made = Builder()
    made.text(1, name)
    made.message(2, b"")
    return made.done()


def _enum(enum: Enum) -> bytes:
    made = Builder()
    made.text(1, enum.name)
    for constant in enum.constants:
        made.message(2, _constant(constant))
    _options(made, 3, enum.options, ENUM_OPTIONS, "confluent.enum_meta")
    _reserved(made, enum.reserved, 4, past_the_end=0)
    return made.done()


def _constant(constant: Constant) -> bytes:
    made = Builder()
    made.text(1, constant.name)
    made.number(2, constant.tag)
    _options(made, 3, constant.options, CONSTANT_OPTIONS, "confluent.enum_value_meta")
    return made.done()


def _service(service: Service) -> bytes:
    made = Builder()
    made.text(1, service.name)
    for rpc in service.rpcs:
        method = Builder()
        method.text(1, rpc.name)
        method.text(2, rpc.request)
        method.text(3, rpc.response)
        _options(method, 4, rpc.options, RPC_OPTIONS, None)
        method.number(5, int(rpc.streams_request))
        method.number(6, int(rpc.streams_response))
        made.message(2, method.done())
    _options(made, 3, service.options, SERVICE_OPTIONS, None)
    return made.done()


def _reserved(made: Builder, reserved: list[Values], number: int, *, past_the_end: int) -> None:
    for values in reserved:
        for value in values:
            if isinstance(value, str):
                made.text(number + 1, value)
            else:
                made.message(number, _range(value, past_the_end=past_the_end))


def _range(value: int | str | Range, *, past_the_end: int, with_options: bool = False) -> bytes:
    first, last = (value.first, value.last) if isinstance(value, Range) else (int(value), int(value))
    made = Builder()
    made.number(1, first)
    made.number(2, last + past_the_end)
    if with_options:
        made.message(3, b"")
    return made.done()


def _options(made: Builder, number: int, options: list[Option], known: OptionNames, meta: str | None) -> None:
    chosen = merged_options(options)
    inner = Builder()
    for name, (place, kind, values) in known.items():
        if name not in chosen:
            continue
        value = str(chosen[name].value)
        if kind == "STRING":
            inner.text(place, value)
        elif kind == "BOOLEAN":
            inner.number(place, int(value.lower() == "true"))
        elif value in values:
            inner.number(place, values.index(value))
    if meta is not None and meta in chosen:
        filled = _meta(chosen[meta].value)
        if filled:
            inner.message(META, filled)
    if not inner.empty():
        made.message(number, inner.done())


def _meta(value: Any) -> bytes:
    made = Builder()
    if not isinstance(value, dict):
        return b""
    if "doc" in value:
        made.text(1, _plain(value["doc"]))
    for entry in _listed(value.get("params")):
        pair = Builder()
        pair.text(1, _plain(entry.get("key", "")))
        pair.text(2, _plain(entry.get("value", "")))
        made.message(2, pair.done())
    for tag in _listed(value.get("tags")):
        made.text(3, _plain(tag))
    return made.done()


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _plain(value: Any) -> str:
    return value.value if isinstance(value, Primitive) else str(value)
