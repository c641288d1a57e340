"""An Avro schema of the registry: the parsed type and its texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from twinlog.registry.schemas.avro.compatibility import AmbiguousField, differences
from twinlog.registry.schemas.avro.model import AvroType, Enum, Fixed, Record
from twinlog.registry.schemas.avro.normal import normalize
from twinlog.registry.schemas.avro.read import Reader
from twinlog.registry.schemas.avro.write import print_type
from twinlog.registry.schemas.budget import Budget, bounded_depth
from twinlog.registry.schemas.json_text import read_json


@dataclass(frozen=True)
class AvroSchema:
    """`known` are the full names of the referenced schemas: the canonical text leaves them as names."""

    type: AvroType
    known: frozenset[str]
    kind: Literal["AVRO"] = "AVRO"

    @cached_property
    def text(self) -> str:
        with bounded_depth():
            return print_type(self.type, self.known)

    def normalized(self) -> "AvroSchema":
        with bounded_depth():
            return AvroSchema(normalize(self.type), self.known)

    def formatted(self, form: str) -> str:
        if form.strip().lower() != "resolved":
            return self.text
        with bounded_depth():
            return print_type(self.type)

    def check(self) -> None:
        """The reader has refused what has no meaning."""

    def check_field_names(self) -> None:
        """Avro has no names that are kept for the system."""

    def has_field(self, name: str) -> bool:
        return isinstance(self.type, Record) and any(field.name == name for field in self.type.fields)

    def cannot_read(self, writer: "AvroSchema", _policy: str) -> list[str]:
        """Why data of `writer` cannot be read with this schema; each reason has two gaps for new and old."""
        with bounded_depth():
            try:
                return [str(difference) for difference in differences(self.type, writer.type, Budget())]
            except AmbiguousField as twice:
                return [f"Unexpected exception during compatibility check: {twice}"]


def parse_avro(text: str, resolved: Mapping[str, str], *, new: bool) -> AvroSchema:
    """The schema of `text`. `new` checks names and default values, which stored schemas need not fulfil."""
    reader = Reader(strict=new)
    with bounded_depth():
        known = set()
        for referenced in resolved.values():
            part = reader.read(read_json(referenced, comments=True))
            if isinstance(part, (Record, Enum, Fixed)):
                known.add(part.name.full)
        return AvroSchema(reader.read(read_json(text, comments=True)), frozenset(known))
