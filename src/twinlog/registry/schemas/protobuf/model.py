"""A .proto file as its parts, in the order in which they were written."""

from dataclasses import dataclass, field
from typing import Any, Literal

OptionKind = Literal["STRING", "BOOLEAN", "NUMBER", "ENUM", "MAP", "LIST", "OPTION"]
Label = Literal["required", "optional", "repeated"]
MAX_TAG = 536870911
SCALARS = frozenset(
    {
        *("bool", "bytes", "double", "float", "fixed32", "fixed64", "int32", "int64", "sfixed32", "sfixed64"),
        *("sint32", "sint64", "string", "uint32", "uint64"),
    }
)


@dataclass(frozen=True)
class Primitive:
    """A value inside of a map or list that is no string: true, 5, NAME."""

    kind: OptionKind
    value: str


@dataclass
class Option:
    """`name = value`. The value of kind OPTION is the next option of a path such as `(a).b.c`."""

    name: str
    kind: OptionKind
    value: Any
    parenthesized: bool = False


@dataclass(frozen=True)
class Range:
    """`first to last`."""

    first: int
    last: int


Values = list[int | str | Range]


@dataclass
class Field:
    """A field of a message, a oneof, a group or an extension. `type` is its text, also for a map."""

    label: Label | None
    type: str
    name: str
    tag: int
    options: list[Option] = field(default_factory=list)
    default: str | None = None
    json_name: str | None = None


@dataclass
class Group:
    """A group of proto2."""

    label: Label | None
    name: str
    tag: int
    fields: list[Field] = field(default_factory=list)


@dataclass
class OneOf:
    """Fields of which one can be set."""

    name: str
    fields: list[Field] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass
class Extensions:
    """Numbers that other files may use."""

    values: Values
    options: list[Option] = field(default_factory=list)


@dataclass
class Extend:
    """Fields that are added to a message of another file."""

    name: str
    fields: list[Field] = field(default_factory=list)


@dataclass(eq=False)
class Message:
    """A message with everything inside of it."""

    name: str
    fields: list[Field] = field(default_factory=list)
    one_ofs: list[OneOf] = field(default_factory=list)
    types: list["Message | Enum"] = field(default_factory=list)
    extensions: list[Extensions] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    reserved: list[Values] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass
class Constant:
    """A value of an enum."""

    name: str
    tag: int
    options: list[Option] = field(default_factory=list)


@dataclass(eq=False)
class Enum:
    """An enum with its values."""

    name: str
    constants: list[Constant] = field(default_factory=list)
    reserved: list[Values] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass
class Rpc:
    """A method of a service."""

    name: str
    request: str
    response: str
    streams_request: bool = False
    streams_response: bool = False
    options: list[Option] = field(default_factory=list)


@dataclass
class Service:
    """A service with its methods."""

    name: str
    rpcs: list[Rpc] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


@dataclass
class ProtoFile:
    """A whole file. `syntax` is None where the text has none, which means proto2."""

    syntax: str | None = None
    package: str | None = None
    imports: list[str] = field(default_factory=list)
    public_imports: list[str] = field(default_factory=list)
    types: list[Message | Enum] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    extends: list[Extend] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)


def map_types(text: str) -> tuple[str, str] | None:
    """The types of key and value of `map<key, value>`."""
    if not text.startswith("map<"):
        return None
    key, _, value = text[4:-1].partition(", ")
    return key, value
