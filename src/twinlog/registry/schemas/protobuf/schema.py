"""A Protobuf schema of the registry: the file, the files that it uses, and its texts."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from twinlog.registry.schemas.budget import Budget, bounded_depth
from twinlog.registry.schemas.protobuf.compatibility import differences
from twinlog.registry.schemas.protobuf.descriptor import descriptor_bytes
from twinlog.registry.schemas.protobuf.descriptor_read import read_descriptor
from twinlog.registry.schemas.protobuf.model import Enum, Field, Message, ProtoFile
from twinlog.registry.schemas.protobuf.names import Names
from twinlog.registry.schemas.protobuf.read import read_proto
from twinlog.registry.schemas.protobuf.write import Printer
from twinlog.registry.schemas.schema import InvalidSchema


@dataclass(frozen=True)
class ProtobufSchema:
    """`dependencies` are the files of the references by the paths under which the schema imports them.

    `normal_text` is set for a normalized schema: printing it again would move some options.
    """

    file: ProtoFile
    dependencies: Mapping[str, ProtoFile] = field(default_factory=dict)
    normal_text: str | None = None
    kind: Literal["PROTOBUF"] = "PROTOBUF"

    @cached_property
    def text(self) -> str:
        if self.normal_text is not None:
            return self.normal_text
        with bounded_depth():
            return Printer().file(self.file)

    @cached_property
    def names(self) -> Names:
        return Names(self.file, self.dependencies)

    def normalized(self) -> "ProtobufSchema":
        with bounded_depth():
            return ProtobufSchema(read_proto(self._normalized_text), self.dependencies, self._normalized_text)

    @cached_property
    def _normalized_text(self) -> str:
        """Raises InvalidSchema for a type that nobody has defined."""
        with bounded_depth():
            return Printer(self.names).file(self.file)

    def formatted(self, form: str) -> str:
        with bounded_depth():
            match form.strip().lower():
                case "serialized":
                    return base64.b64encode(descriptor_bytes(self.file, self.names, self.dependencies)).decode()
                case "ignore_extensions":
                    return Printer(ignore_extensions=True).file(self.file)
        return self.text

    def check(self) -> None:
        text = self._normalized_text
        if "default = " in text:  # of bytes it is printed without quotes: such a text could not be read again
            try:
                with bounded_depth():
                    read_proto(text)
            except InvalidSchema as wrong:
                raise InvalidSchema(wrong.message, rejected_by_check=True) from None

    def check_field_names(self) -> None:
        """Protobuf has no names that are kept for the system."""

    def has_field(self, name: str) -> bool:
        """Of any message at the top."""
        return any(member.name == name for element in self.file.types for member in _fields(element))

    def cannot_read(self, writer: "ProtobufSchema", _policy: str) -> list[str]:
        """Why records of `writer` cannot be read with this schema; each reason has two gaps for new and old."""
        with bounded_depth():
            all_differences = differences(writer.file, self.file, writer.names, self.names, Budget())
        return [str(difference) for difference in all_differences]


def parse_protobuf(text: str, resolved: Mapping[str, str]) -> ProtobufSchema:
    """The schema of a text, or of a serialized descriptor in Base64. Types that it names are not looked for yet."""
    with bounded_depth():
        return ProtobufSchema(_read(text), {name: _read(part) for name, part in resolved.items()})


def _read(text: str) -> ProtoFile:
    try:
        return read_proto(text)
    except InvalidSchema:
        file = read_descriptor(text)
        if file is None:
            raise
        return file


def _fields(element: Message | Enum) -> list[Field]:
    return element.fields if isinstance(element, Message) else []
