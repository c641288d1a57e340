"""A JSON Schema as the rules for compatibility see it: one class for each way to limit a value.

Both readers (`drafts` and `modern`) give these classes. A schema without `type` gets the class of its keywords, several
types become an `anyOf`, keywords of several classes become an `allOf` that the reader has made.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from twinlog.registry.schemas.json.text import sorted_text

Criterion = Literal["allOf", "anyOf", "oneOf"]


@dataclass(slots=True)
class About:
    """What is known of any schema.

    `source` is the JSON from which it was read, `part` says which of the schemas from that JSON it is.
    """

    source: Any = None
    part: int | str = 0
    has_default: bool = False
    connect_type: str | None = None


@dataclass(slots=True, eq=False)
class Anything:
    """`{}` or `true`."""

    about: About


@dataclass(slots=True, eq=False)
class Nothing:
    """`false`."""

    about: About


@dataclass(slots=True, eq=False)
class Simple:
    """`boolean` or `null`: a type without keywords of its own."""

    about: About
    name: str


@dataclass(slots=True, eq=False)
class Text:
    """`string`, or keywords of strings."""

    about: About
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None


@dataclass(slots=True, eq=False)
class Number:
    """`number` or `integer`, or keywords of numbers."""

    about: About
    integer: bool = False
    minimum: int | Decimal | None = None
    maximum: int | Decimal | None = None
    exclusive_minimum: int | Decimal | None = None
    exclusive_maximum: int | Decimal | None = None
    multiple_of: int | Decimal | None = None


@dataclass(slots=True, eq=False)
class Object:
    """`additional` is the schema of additional properties; `open` is false where there must not be any."""

    about: About
    properties: dict[str, "Schema"] = field(default_factory=dict)
    patterns: dict[str, "Schema"] = field(default_factory=dict)
    open: bool = True
    additional: "Schema | None" = None
    required: set[str] = field(default_factory=set)
    min_properties: int | None = None
    max_properties: int | None = None
    needed: dict[str, set[str]] = field(default_factory=dict)
    needed_schemas: dict[str, "Schema"] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Array:
    """`items` is the schema of every item, `tuple` those of the first ones, `additional` that of the rest."""

    about: About
    items: "Schema | None" = None
    tuple: list["Schema"] | None = None
    open: bool = True
    additional: "Schema | None" = None
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False


@dataclass(slots=True, eq=False)
class Choice:
    """`enum`; the values are kept as canonical texts."""

    about: About
    values: frozenset[str]


@dataclass(slots=True, eq=False)
class Constant:
    """`const`."""

    about: About
    value: str


@dataclass(slots=True, eq=False)
class Not:
    """`not`."""

    about: About
    inner: "Schema"


@dataclass(slots=True, eq=False)
class Conditional:
    """`if`, `then`, `else`. Its changes are not compared."""

    about: About


@dataclass(slots=True, eq=False)
class Combined:
    """`generated` is true where the reader has made the combination from keywords beside each other."""

    about: About
    criterion: Criterion
    parts: list["Schema"]
    generated: bool = False


@dataclass(slots=True, eq=False)
class Link:
    """`$ref`. The reader sets the target when it has read all of the document."""

    about: About
    target: "Schema | None" = None


Schema = (
    Anything
    | Nothing
    | Simple
    | Text
    | Number
    | Object
    | Array
    | Choice
    | Constant
    | Not
    | Conditional
    | Combined
    | Link
)


def followed(schema: Schema) -> Schema:
    """The schema behind a chain of links. A chain that ends in itself allows everything."""
    start = schema
    seen: set[int] = set()
    while isinstance(schema, Link):
        if schema.target is None or id(schema) in seen:
            schema.target = Anything(schema.about)
        seen.add(id(schema))
        schema = schema.target
    if isinstance(start, Link):
        start.target = schema
    return schema


def distinct(parts: list[Schema]) -> list[Schema]:
    """The parts of a combination without repetitions: the same part of equal JSON counts once."""
    return list({(part.about.part, sorted_text(part.about.source)): part for part in reversed(parts)}.values())[::-1]
