"""The parts of an Avro schema after parsing. Names are resolved: a use of a named type is the type itself."""

from dataclasses import dataclass, field
from typing import Any, Literal

Props = dict[str, Any]
PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
TYPE_NAMES = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}
NO_PROPS: Props = {}


@dataclass(frozen=True, slots=True)
class Name:
    """A name and its namespace; an empty namespace is None."""

    short: str
    space: str | None

    @property
    def full(self) -> str:
        return self.short if self.space is None else f"{self.space}.{self.short}"

    def seen_from(self, space: str | None) -> str:
        """The shortest text that means this name inside of `space`."""
        return self.short if self.space == space and self.short not in TYPE_NAMES else self.full


def name_in(text: str, space: str | None) -> Name:
    """A name as Avro reads it: a dotted text brings its own namespace."""
    head, dot, tail = text.rpartition(".")
    return Name(tail, head or None) if dot else Name(text, space or None)


@dataclass(eq=False, slots=True)
class Primitive:
    """null, int, string and so on, possibly with properties such as logicalType."""

    kind: str
    props: Props = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Array:
    """Items of one type."""

    items: "AvroType"
    props: Props
    kind: Literal["array"] = "array"


@dataclass(eq=False, slots=True)
class Map:
    """Values of one type under string keys."""

    values: "AvroType"
    props: Props
    kind: Literal["map"] = "map"


@dataclass(eq=False, slots=True)
class Union:
    """One of several types."""

    branches: list["AvroType"]
    kind: Literal["union"] = "union"


@dataclass(eq=False, slots=True)
class Enum:
    """One of several symbols."""

    name: Name
    doc: str | None
    symbols: list[str]
    default: str | None
    aliases: list[Name]
    props: Props
    kind: Literal["enum"] = "enum"


@dataclass(eq=False, slots=True)
class Fixed:
    """A fixed number of bytes."""

    name: Name
    doc: str | None
    size: int
    aliases: list[Name]
    props: Props
    kind: Literal["fixed"] = "fixed"


@dataclass(eq=False, slots=True)
class Field:
    """A field of a record. `default` is meaningful only with `has_default`: null is a default too."""

    name: str
    type: "AvroType"
    doc: str | None
    has_default: bool
    default: Any
    order: str
    aliases: list[str]
    props: Props


@dataclass(eq=False, slots=True)
class Record:
    """Fields under names. `error` keeps the word of the text; it has no other meaning."""

    name: Name
    doc: str | None
    error: bool
    fields: list[Field]
    aliases: list[Name]
    props: Props
    kind: Literal["record"] = "record"


@dataclass(eq=False, slots=True)
class Unresolved:
    """A name that the text uses before it defines it. The parser replaces all of them before it returns."""

    full: str
    kind: Literal["unresolved"] = "unresolved"


Named = Record | Enum | Fixed
AvroType = Primitive | Array | Map | Union | Record | Enum | Fixed | Unresolved
