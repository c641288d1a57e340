"""From the text of a .proto file to its parts. As tolerant as Confluent's parser: numbers of fields may repeat."""

from collections.abc import Iterator
from typing import cast

from twinlog.registry.schemas.protobuf.model import (
    MAX_TAG,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    Group,
    Label,
    Message,
    OneOf,
    Option,
    ProtoFile,
    Range,
    Rpc,
    Service,
    Values,
)
from twinlog.registry.schemas.protobuf.read_options import read_option, read_options
from twinlog.registry.schemas.protobuf.syntax import Reader, int_of
from twinlog.registry.schemas.schema import InvalidSchema

_LABELS = frozenset({"required", "optional", "repeated"})


def read_proto(text: str) -> ProtoFile:
    """The file, or InvalidSchema with line and column."""
    return _Parser(Reader(text)).file()


class _Parser:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._proto3 = False

    def file(self) -> ProtoFile:
        file = ProtoFile()
        places: dict[str, int] = {}
        first = True
        while not self._reader.exhausted():
            if self._reader.take_if(";"):
                first = False
                continue
            place = self._reader.start()
            self._in_file(file, self._reader.word(), place, places, first=first)
            first = False
        return file

    def _in_file(self, file: ProtoFile, label: str, place: int, places: dict[str, int], *, first: bool) -> None:
        reader = self._reader
        match label:
            case "package":
                file.package = reader.name()
                reader.require(";")
            case "import":
                self._import(file)
            case "syntax":
                self._syntax(file, place, first=first)
            case "message":
                message = self._message()
                self._once(places, message.name, place)
                file.types.append(message)
            case "enum":
                enum = self._enum()
                self._once(places, enum.name, place)
                file.types.append(enum)
            case "service":
                service = self._service()
                self._once(places, service.name, place, kind="service ")
                file.services.append(service)
            case "extend":
                file.extends.append(self._extend())
            case "option":
                file.options.append(self._option())
            case "reserved":
                self._reserved(place)
            case "edition":
                reader.fail("edition is not currently supported")
            case _:
                reader.fail(f"unexpected label: {label}", place)

    def _once(self, places: dict[str, int], name: str, place: int, kind: str = "") -> None:
        known = places.setdefault(kind + name, place)
        if known != place:
            where = self._reader.place
            why = f"{name} ({where(place)}) is already defined at {where(known)}"
            raise InvalidSchema(f"Could not parse Protobuf - {why}")

    def _import(self, file: ProtoFile) -> None:
        word = self._reader.string()
        if word == "public":
            file.public_imports.append(_path(self._reader.string()))
        elif word == "weak":
            self._reader.string()  # Confluent forgets weak imports
        else:
            file.imports.append(_path(word))
        self._reader.require(";")

    def _syntax(self, file: ProtoFile, place: int, *, first: bool) -> None:
        if file.syntax is not None:
            self._reader.fail("too many syntax definitions", place)
        self._reader.require("=")
        if not first:
            self._reader.fail("'syntax' element must be the first declaration in a file", place)
        syntax = self._reader.quoted()
        if syntax not in {"proto2", "proto3"}:
            self._reader.fail(f"unexpected syntax: {syntax}", place)
        self._reader.require(";")
        file.syntax = syntax
        self._proto3 = syntax == "proto3"

    def _option(self) -> Option:
        option = read_option(self._reader, "=")
        self._reader.require(";")
        return option

    def _declarations(self, *, leading_digit: bool = True) -> Iterator[tuple[int, str]]:
        """Yield the place and the first word of each declaration up to the closing brace."""
        reader = self._reader
        while not reader.take_if("}"):
            if not reader.take_if(";"):
                yield reader.start(), reader.word(leading_digit=leading_digit)

    def _message(self) -> Message:
        reader = self._reader
        message = Message(reader.name())
        reader.require("{")
        for place, label in self._declarations():
            match label:
                case "option":
                    message.options.append(self._option())
                case "reserved":
                    message.reserved.append(self._reserved(place))
                case "message":
                    message.types.append(self._message())
                case "enum":
                    message.types.append(self._enum())
                case "extend":
                    message.extends.append(self._extend())
                case "oneof":
                    message.one_ofs.append(self._one_of())
                case "extensions":
                    message.extensions.append(self._extensions(place))
                case _:
                    member = self._member(label, place)
                    if isinstance(member, Group):
                        message.groups.append(member)
                    else:
                        message.fields.append(member)
        return message

    def _member(self, word: str, place: int) -> Field | Group:
        reader = self._reader
        label: Label | None = None
        if word in _LABELS:
            if word == "required" and self._proto3:
                reader.fail("'required' label forbidden in proto3 field declarations", place)
            label = cast("Label", word)
            kind = reader.data_type()
        else:
            if not self._proto3 and not (word == "map" and reader.peek() == "<"):
                reader.fail(f"unexpected label: {word}", place)
            kind = reader.data_type(word)
        if kind.startswith("map<") and label is not None:
            reader.fail("'map' type cannot have label", place)
        return self._group(label) if kind == "group" else self._field(label, kind)

    def _field(self, label: Label | None, kind: str) -> Field:
        name = self._reader.name(leading_digit=False)
        self._reader.require("=")
        made = Field(label, kind, name, self._reader.integer())
        for option in read_options(self._reader):
            if option.name == "default":
                made.default = str(option.value)
            elif option.name == "json_name":
                made.json_name = str(option.value)
            else:
                made.options.append(option)
        self._reader.require(";")
        return made

    def _group(self, label: Label | None) -> Group:
        reader = self._reader
        name = reader.word()
        reader.require("=")
        group = Group(label, name, reader.integer())
        reader.require("{")
        while not reader.take_if("}"):
            place = reader.start()
            member = self._member(reader.word(), place)
            if isinstance(member, Group):
                reader.fail(f"expected field declaration, was {member.name}")
            group.fields.append(member)
        return group

    def _one_of(self) -> OneOf:
        reader = self._reader
        made = OneOf(reader.name())
        reader.require("{")
        while not reader.take_if("}"):
            kind = reader.data_type()
            if kind == "group":
                made.groups.append(self._group(None))
            elif kind == "option":
                made.options.append(self._option())
            else:
                made.fields.append(self._field(None, kind))
        return made

    def _extend(self) -> Extend:
        reader = self._reader
        extend = Extend(reader.name())
        reader.require("{")
        for place, label in self._declarations():
            if label == "option":
                self._option()
            elif label == "reserved":
                self._reserved(place)
            else:
                member = self._member(label, place)
                if isinstance(member, Field):
                    extend.fields.append(member)
        return extend

    def _enum(self) -> Enum:
        reader = self._reader
        enum = Enum(reader.name())
        reader.require("{")
        for place, label in self._declarations(leading_digit=False):
            if label == "option":
                enum.options.append(self._option())
            elif label == "reserved":
                enum.reserved.append(self._reserved(place))
            else:
                reader.require("=")
                tag = reader.integer()
                enum.constants.append(Constant(label, tag, read_options(reader)))
                reader.require(";")
        return enum

    def _service(self) -> Service:
        reader = self._reader
        service = Service(reader.name())
        reader.require("{")
        for place, label in self._declarations():
            if label == "option":
                service.options.append(self._option())
            elif label == "rpc":
                service.rpcs.append(self._rpc(place))
            else:
                reader.fail(f"unexpected label: {label}", place)
        return service

    def _rpc(self, place: int) -> Rpc:
        reader = self._reader
        name = reader.name()
        request, streams_request = self._rpc_type()
        if reader.word() != "returns":
            reader.fail("expected 'returns'", place)
        response, streams_response = self._rpc_type()
        rpc = Rpc(name, request, response, streams_request, streams_response)
        if not reader.take_if("{"):
            reader.require(";")
            return rpc
        for inner, label in self._declarations():
            if label != "option":
                reader.fail(f"unexpected label: {label}", inner)
            rpc.options.append(self._option())
        return rpc

    def _rpc_type(self) -> tuple[str, bool]:
        self._reader.require("(")
        word = self._reader.word()
        streams = word == "stream"
        kind = self._reader.data_type() if streams else self._reader.data_type(word)
        self._reader.require(")")
        return kind, streams

    def _reserved(self, place: int) -> Values:
        reader = self._reader
        values: Values = []
        while True:
            if reader.peek() in {'"', "'"}:
                values.append(reader.quoted())
            else:
                values.append(self._tags(place, {",", ";"}, "expected ',', ';', or 'to'"))
            mark = reader.take()
            if mark == ";":
                return values
            if mark != ",":
                reader.fail("expected ',' or ';'")

    def _extensions(self, place: int) -> Extensions:
        reader = self._reader
        extensions = Extensions([])
        while True:
            extensions.values.append(self._tags(place, {",", ";", "["}, "expected ',', ';', '[' or 'to'"))
            if reader.peek() == "[":
                extensions.options += read_options(reader)
                reader.require(";")
                return extensions
            mark = reader.take()
            if mark == ";":
                return extensions
            if mark != ",":
                reader.fail("expected ',' or ';'")

    def _tags(self, place: int, ends: set[str], otherwise: str) -> int | Range:
        first = self._reader.integer()
        if self._reader.peek() in ends:
            return first
        if self._reader.word() != "to":
            self._reader.fail(otherwise, place)
        word = self._reader.word()
        last = MAX_TAG if word == "max" else int_of(word)
        if last is None:
            raise InvalidSchema(f'Could not parse Protobuf - For input string: "{word}"')
        return Range(first, last)


def _path(text: str) -> str:
    """A path with single slashes and without steps that stay in place."""
    parts = text.replace("\\", "/").split("/")
    kept = [part for place, part in enumerate(parts) if part not in {"", "."} or (not part and place == 0)]
    return "/".join(kept)
