"""A schema from Base64 of Google's FileDescriptorProto. Several clients register their schemas in this form."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any, cast

from twinlog.registry.schemas.protobuf.descriptor_fields import (
    CONSTANT_OPTIONS,
    ENUM_OPTIONS,
    FIELD_OPTIONS,
    FILE_OPTIONS,
    GROUP,
    LABELS,
    MESSAGE_OPTIONS,
    META,
    RPC_OPTIONS,
    SERVICE_OPTIONS,
    TYPES,
    Names,
)
from twinlog.registry.schemas.protobuf.model import (
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Label,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Rpc,
    Service,
)
from twinlog.registry.schemas.protobuf.wire import BrokenBytes, fields_of

_TYPES = {number: name for name, number in TYPES.items()} | {GROUP: "group"}
_LABELS = {number: cast("Label", name) for name, number in LABELS.items()}


def read_descriptor(text: str) -> ProtoFile | None:
    """The file; None if the text is no descriptor."""
    try:
        return _file(_Part(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError, BrokenBytes, IndexError):
        return None


class _Part:
    """The fields of a message by their numbers."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in fields_of(data):
            self._fields.setdefault(number, []).append(value)

    def __contains__(self, number: int) -> bool:
        return number in self._fields

    def bytes(self, number: int) -> Iterator[bytes]:
        for value in self._fields.get(number, []):
            if not isinstance(value, bytes):
                raise BrokenBytes
            yield value

    def parts(self, number: int) -> Iterator["_Part"]:
        return (_Part(value) for value in self.bytes(number))

    def texts(self, number: int) -> list[str]:
        return [value.decode() for value in self.bytes(number)]

    def text(self, number: int) -> str:
        return (self.texts(number) or [""])[-1]

    def numbers(self, number: int) -> list[int]:
        numbers = []
        for value in self._fields.get(number, []):
            if not isinstance(value, int):
                raise BrokenBytes
            numbers.append(value - 2**64 if value >= 2**63 else value)
        return numbers

    def number(self, number: int) -> int:
        return (self.numbers(number) or [0])[-1]

    def part(self, number: int) -> "_Part":
        """Options may come in several pieces, which count as one."""
        return _Part(b"".join(self.bytes(number)))


def _file(part: _Part) -> ProtoFile:
    syntax = part.text(12)
    file = ProtoFile(syntax if syntax in {"proto2", "proto3"} else None, part.text(2) or None)
    public, weak = set(part.numbers(10)), set(part.numbers(11))
    for place, path in enumerate(part.texts(3)):
        if place in public:
            file.public_imports.append(path)
        elif place not in weak:
            file.imports.append(path)
    proto3 = syntax == "proto3"
    file.types += [_message(inner, proto3=proto3) for inner in part.parts(4)]
    file.types += [_enum(inner) for inner in part.parts(5)]
    file.services = [_service(inner) for inner in part.parts(6)]
    file.extends = _extends(part.parts(7), proto3=proto3)
    file.options = _options(part.part(8), FILE_OPTIONS, "confluent.file_meta")
    return file


def _message(part: _Part, *, proto3: bool) -> Message:
    message = Message(part.text(1))
    one_ofs = [OneOf(inner.text(1)) for inner in part.parts(8)]
    for inner in part.parts(2):
        if 9 in inner and not inner.number(17):
            one_ofs[inner.number(9)].fields.append(_field(inner, proto3=proto3, in_one_of=True))
        else:
            message.fields.append(_field(inner, proto3=proto3))
    message.one_ofs = [one_of for one_of in one_ofs if one_of.fields]
    message.types += [_message(inner, proto3=proto3) for inner in part.parts(3)]
    message.types += [_enum(inner) for inner in part.parts(4)]
    message.reserved = [[_range(inner, past_the_end=1)] for inner in part.parts(9)]
    message.reserved += [[name] for name in part.texts(10)]
    message.extensions = [Extensions([_range(inner, past_the_end=1)]) for inner in part.parts(5)]
    message.extends = _extends(part.parts(6), proto3=proto3)
    message.options = _options(part.part(7), MESSAGE_OPTIONS, "confluent.message_meta")
    return message


def _extends(parts: Iterator[_Part], *, proto3: bool) -> list[Extend]:
    extends: dict[str, Extend] = {}
    for part in parts:
        name = part.text(2)
        extends.setdefault(name, Extend(name)).fields.append(_field(part, proto3=proto3))
    return list(extends.values())


def _field(part: _Part, *, proto3: bool, in_one_of: bool = False) -> Field:
    kind = part.text(6) if 6 in part else _TYPES.get(part.number(5), "double")
    made = Field(None, kind, part.text(1), part.number(3))
    if not in_one_of:
        label = _LABELS.get(part.number(4), "optional")
        if part.number(17):
            made.label = "optional"
        elif not proto3 or label == "repeated":
            made.label = label
    made.options = _options(part.part(8), FIELD_OPTIONS, "confluent.field_meta")
    made.json_name = part.text(10) if 10 in part else None
    made.default = part.text(7) if 7 in part and not proto3 else None
    return made


def _enum(part: _Part) -> Enum:
    enum = Enum(part.text(1))
    for inner in part.parts(2):
        options = _options(inner.part(3), CONSTANT_OPTIONS, "confluent.enum_value_meta")
        enum.constants.append(Constant(inner.text(1), inner.number(2), options))
    enum.options = _options(part.part(3), ENUM_OPTIONS, "confluent.enum_meta")
    enum.reserved = [[_range(inner, past_the_end=0)] for inner in part.parts(4)]
    enum.reserved += [[name] for name in part.texts(5)]
    return enum


def _service(part: _Part) -> Service:
    service = Service(part.text(1))
    for inner in part.parts(2):
        streams = bool(inner.number(5)), bool(inner.number(6))
        options = _options(inner.part(4), RPC_OPTIONS, None)
        service.rpcs.append(Rpc(inner.text(1), inner.text(2), inner.text(3), *streams, options))
    service.options = _options(part.part(3), SERVICE_OPTIONS, None)
    return service


def _range(part: _Part, *, past_the_end: int) -> int | Range:
    first, last = part.number(1), part.number(2) - past_the_end
    return first if first == last else Range(first, last)


def _options(part: _Part, known: Names, meta: str | None) -> list[Option]:
    options: list[Option] = []
    for name, (number, kind, values) in known.items():
        if number not in part:
            continue
        if kind == "STRING":
            options.append(Option(name, kind, part.text(number)))
        elif kind == "BOOLEAN":
            options.append(Option(name, kind, "true" if part.number(number) else "false"))
        elif 0 <= part.number(number) < len(values):
            options.append(Option(name, kind, values[part.number(number)]))
    value = _meta(part.part(META)) if meta is not None and META in part else {}
    if meta is not None and value:
        options.append(Option(meta, "MAP", value, True))
    return options


def _meta(part: _Part) -> dict[str, Any]:
    value: dict[str, Any] = {}
    if part.text(1):
        value["doc"] = part.text(1)
    params = dict.fromkeys(inner.text(1) for inner in part.parts(2))
    if params:
        texts = {inner.text(1): inner.text(2) for inner in part.parts(2)}
        value["params"] = [_param(key, texts[key]) for key in params]
    if part.texts(3):
        value["tags"] = part.texts(3)
    return value


def _param(key: str, text: str) -> dict[str, str]:
    """Confluent writes the value first for these two."""
    if key in {"precision", "scale"}:
        return {"value": text, "key": key}
    return {"key": key, "value": text}
