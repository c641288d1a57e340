"""Normalization of an Avro schema: everything without meaning gets one order.

Properties and the keys inside of them are sorted, aliases are sorted by full name, defaults get the notation of their
type, empty docs of named types disappear. One difference to Confluent 8.1: a type without namespace inside a namespace
keeps `"namespace":""`. Confluent loses it, which moves the type into the outer namespace.
"""

from typing import Any

from twinlog.registry.schemas.avro.defaults import DROPPED, java_order, normal_default
from twinlog.registry.schemas.avro.model import (
    NO_PROPS,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Primitive,
    Props,
    Record,
    Union,
)

_LOGICAL = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "uuid": ("string", "fixed"),
    "big-decimal": ("bytes",),
    "duration": ("fixed",),
    "decimal": ("bytes", "fixed"),
}


def normalize(schema: AvroType) -> AvroType:
    """A normalized copy."""
    return _Normalizer({}).type(schema)


class _Normalizer:
    """Copies each named type once, so that a recursive schema stays recursive."""

    def __init__(self, copies: dict[int, AvroType]) -> None:
        self._copies = copies

    def type(self, schema: AvroType) -> AvroType:
        if isinstance(schema, Primitive):
            return Primitive(schema.kind, _props(schema.props, schema))
        if isinstance(schema, Array):
            return Array(self.type(schema.items), _props(schema.props, schema))
        if isinstance(schema, Map):
            return Map(self.type(schema.values), _props(schema.props, schema))
        if isinstance(schema, Union):
            return Union([self.type(branch) for branch in schema.branches])
        copy = self._copies.get(id(schema))
        if copy is None:
            copy = self._named(schema)
        return copy

    def _named(self, schema: AvroType) -> AvroType:
        made: AvroType
        if isinstance(schema, Record):
            made = record = Record(schema.name, schema.doc or None, False, [], _aliases(schema.aliases), NO_PROPS)
            self._copies[id(schema)] = made
            record.fields = [self._field(field) for field in schema.fields]
            record.props = _props(schema.props, schema)
            return record
        if isinstance(schema, Enum):
            aliases = _aliases(schema.aliases)
            props = _props(schema.props, schema)
            made = Enum(schema.name, schema.doc or None, schema.symbols, schema.default, aliases, props)
        elif isinstance(schema, Fixed):
            props = _props(schema.props, schema)
            made = Fixed(schema.name, schema.doc or None, schema.size, _aliases(schema.aliases), props)
        else:
            return schema
        self._copies[id(schema)] = made
        return made

    def _field(self, field: Field) -> Field:
        default = normal_default(field.type, field.default) if field.has_default else None
        has_default = field.has_default and default is not DROPPED
        aliases = sorted(field.aliases, key=java_order)
        props = _props(field.props, None)
        return Field(field.name, self.type(field.type), field.doc, has_default, default, field.order, aliases, props)


def _aliases(aliases: list[Name]) -> list[Name]:
    return sorted(aliases, key=lambda alias: java_order(alias.full))


def _props(props: Props, schema: AvroType | None) -> Props:
    """Sorted, but a valid logical type comes first with its precision and scale."""
    if not props:
        return NO_PROPS
    ordered = sorted(props, key=java_order)
    first = [key for key in _logical_keys(props, schema) if key in props] if schema is not None else []
    return {key: _sorted(props[key]) for key in [*first, *(key for key in ordered if key not in first)]}


def _logical_keys(props: Props, schema: AvroType) -> tuple[str, ...]:
    logical = props.get("logicalType")
    if not isinstance(logical, str) or schema.kind not in _LOGICAL.get(logical, ()):
        return ()
    size = schema.size if isinstance(schema, Fixed) else None
    if logical == "decimal":
        return _decimal_keys(props, size)
    wanted = {"uuid": 16, "duration": 12}.get(logical)
    return () if size is not None and size != wanted else ("logicalType",)


def _decimal_keys(props: Props, size: int | None) -> tuple[str, ...]:
    precision, scale = props.get("precision"), props.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or precision <= 0 or not 0 <= scale <= precision:
        return ()
    if size is not None and precision > len(str(2 ** (8 * min(size, 1000) - 1) - 1)) - 1:
        return ()
    return ("logicalType", "precision", "scale") if scale else ("logicalType", "precision")


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=java_order)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value
