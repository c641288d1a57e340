"""From JSON to an Avro schema, as tolerant as Java's parser: odd names and wrong defaults pass unless `strict`.

Topics are full of schemas that a strict parser refuses, and the registry must read them for ever.
"""

from typing import Any

from twinlog.registry.schemas.avro.defaults import is_valid_default
from twinlog.registry.schemas.avro.model import (
    NO_PROPS,
    PRIMITIVES,
    Array,
    AvroType,
    Enum,
    Field,
    Fixed,
    Map,
    Name,
    Named,
    Primitive,
    Props,
    Record,
    Union,
    Unresolved,
    name_in,
)
from twinlog.registry.schemas.avro.write import print_type
from twinlog.registry.schemas.json_text import print_json
from twinlog.registry.schemas.schema import InvalidSchema

_RESERVED = frozenset({"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"})
_RESERVED_IN_ENUM = _RESERVED | {"default"}
_RESERVED_IN_FIELD = frozenset({"default", "doc", "name", "order", "type", "aliases"})
_ORDERS = frozenset({"ascending", "descending", "ignore"})
_MAX_SIZE = 2**31 - 1
_NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_NAME_PART = _NAME_START | frozenset("0123456789")


class Reader:
    """Reads several texts that know each other's names: first the referenced schemas, then the schema itself."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self._names: dict[str, Named] = {}
        self._unresolved = 0

    def read(self, value: Any) -> AvroType:
        """The schema that `value` describes, with all names resolved."""
        self._unresolved = 0
        schema = self._type(value, None)
        if not self._unresolved:
            return schema
        if isinstance(schema, Unresolved):
            known = self._names.get(schema.full)
            if known is None:
                raise InvalidSchema("Unknown schema: org.apache.avro.compiler.UnresolvedSchema_0")
            return known
        self._resolve(schema)
        return schema

    def _type(self, value: Any, space: str | None) -> AvroType:
        if isinstance(value, str):
            return self._find(value, space)
        if isinstance(value, dict):
            kind = value.get("type")
            if not isinstance(kind, str):
                raise InvalidSchema(f"No type: {print_json(value)}")
            if kind in PRIMITIVES:
                return Primitive(kind, _props(value, _RESERVED))
            if kind in {"record", "error"}:
                return self._record(value, space)
            if kind == "enum":
                return self._enum(value, space)
            if kind == "array":
                if "items" not in value:
                    raise InvalidSchema(f"Array has no items type: {print_json(value)}")
                return Array(self._type(value["items"], space), _props(value, _RESERVED))
            if kind == "map":
                if "values" not in value:
                    raise InvalidSchema(f"Map has no values type: {print_json(value)}")
                return Map(self._type(value["values"], space), _props(value, _RESERVED))
            if kind == "fixed":
                return self._fixed(value, space)
            return self._find(kind, space)
        if isinstance(value, list):
            union = Union([self._type(branch, space) for branch in value])
            _check_union(union)
            return union
        raise InvalidSchema(f"Schema not yet supported: {print_json(value)}")

    def _find(self, text: str, space: str | None) -> AvroType:
        if text in PRIMITIVES:
            return Primitive(text, NO_PROPS)
        full = f"{space}.{text}" if space is not None and "." not in text else text
        known = self._names.get(full) or self._names.get(text)
        if known is not None:
            return known
        self._unresolved += 1
        return Unresolved(full)

    def _record(self, value: dict[str, Any], space: str | None) -> Record:
        record = Record(self._name(value, space), _text(value, "doc"), value["type"] == "error", [], [], NO_PROPS)
        self._define(record)
        fields = value.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchema(f"Record has no fields: {print_json(value)}")
        places: dict[str, int] = {}
        for place, item in enumerate(fields):
            made = self._field(item, record.name.space)
            if made.name in places:
                first = places[made.name]
                other = record.fields[first]
                raise InvalidSchema(
                    f"Duplicate field {made.name} in record {record.name.full}: "
                    f"{describe(made, place)} and {describe(other, first)}."
                )
            places[made.name] = place
            record.fields.append(made)
        record.props = _props(value, _RESERVED)
        record.aliases = _type_aliases(value, record.name.space)
        return record

    def _field(self, value: Any, space: str | None) -> Field:
        name = value.get("name") if isinstance(value, dict) else None
        if not isinstance(name, str):
            raise InvalidSchema(f"No field name: {print_json(value)}")
        if "type" not in value:
            raise InvalidSchema(f"No field type: {print_json(value)}")
        kind = self._type(value["type"], space)
        order = _order(value)
        default = value.get("default")
        if isinstance(default, str) and kind.kind in {"float", "double"}:
            default = _number(default)
        self._check_name(name)
        has_default = "default" in value
        if has_default and self._strict and not is_valid_default(kind, default):
            raise InvalidSchema(f"Invalid default for field {name}: {print_json(default)} not a {print_type(kind)}")
        aliases = _aliases(value) if "aliases" in value else []
        props = _props(value, _RESERVED_IN_FIELD)
        return Field(name, kind, _text(value, "doc"), has_default, default, order, aliases, props)

    def _enum(self, value: dict[str, Any], space: str | None) -> Enum:
        name = self._name(value, space)
        symbols = value.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidSchema(f"Enum has no symbols: {print_json(value)}")
        if not all(isinstance(symbol, str) for symbol in symbols):
            raise InvalidSchema(f"Enum has a symbol that is no string: {print_json(value)}")
        seen = set()
        for symbol in symbols:
            self._check_name(symbol)
            if symbol in seen:
                raise InvalidSchema(f"Duplicate enum symbol: {symbol}")
            seen.add(symbol)
        default = _text(value, "default")
        if default is not None and default not in seen:
            listed = ", ".join(symbols)
            raise InvalidSchema(f"The Enum Default: {default} is not in the enum symbol set: [{listed}]")
        made = Enum(name, _text(value, "doc"), symbols, default, [], NO_PROPS)
        self._define(made)
        made.props = _props(value, _RESERVED_IN_ENUM)
        made.aliases = _type_aliases(value, name.space)
        return made

    def _fixed(self, value: dict[str, Any], space: str | None) -> Fixed:
        name = self._name(value, space)
        size = value.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size > _MAX_SIZE:
            raise InvalidSchema(f"Invalid or no size: {print_json(value)}")
        if size < 0:
            raise InvalidSchema(f"Malformed data. Length is negative: {size}")
        made = Fixed(name, _text(value, "doc"), size, [], NO_PROPS)
        self._define(made)
        made.props = _props(value, _RESERVED)
        made.aliases = _type_aliases(value, name.space)
        return made

    def _name(self, value: dict[str, Any], space: str | None) -> Name:
        text = value.get("name")
        if not isinstance(text, str):
            raise InvalidSchema(f"No name in schema: {print_json(value)}")
        own = value.get("namespace")
        name = name_in(text, own if isinstance(own, str) else space)
        self._check_name(name.short)
        if name.full in PRIMITIVES:
            raise InvalidSchema(f"Schemas may not be named after primitives: {name.full}")
        if self._strict and name.space is not None:
            for part in name.space.split("."):
                self._check_name(part, f'Namespace part "{part}" is invalid: ')
        return name

    def _define(self, made: Named) -> None:
        full = made.name.full
        known = self._names.get(full)
        if known is None:
            self._names[full] = made
        elif not _same_definition(known, made):
            raise InvalidSchema(f"Can't redefine: {full}")

    def _check_name(self, name: str, before: str = "") -> None:
        if not self._strict:
            return
        if not name:
            raise InvalidSchema(f"{before}Empty name")
        if name[0] not in _NAME_START:
            raise InvalidSchema(f"{before}Illegal initial character: {name}")
        if not _NAME_PART.issuperset(name):
            raise InvalidSchema(f"{before}Illegal character in: {name}")

    def _resolve(self, schema: AvroType) -> None:
        """Replaces names that were used before their definition. Visits each type once, without recursion."""
        waiting: list[AvroType] = [schema, *self._names.values()]
        seen: set[int] = set()
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if isinstance(part, Array):
                part.items = self._known(part.items)
                waiting.append(part.items)
            elif isinstance(part, Map):
                part.values = self._known(part.values)
                waiting.append(part.values)
            elif isinstance(part, Union):
                part.branches = [self._known(branch) for branch in part.branches]
                _check_union(part)
                waiting.extend(part.branches)
            elif isinstance(part, Record):
                for member in part.fields:
                    member.type = self._known(member.type)
                    waiting.append(member.type)

    def _known(self, part: AvroType) -> AvroType:
        if not isinstance(part, Unresolved):
            return part
        known = self._names.get(part.full)
        if known is None:
            raise InvalidSchema(f"Undefined schema: {part.full}")
        return known


def describe(field: Field, place: int) -> str:
    """A field as Java's messages show it."""
    kind = "RECORD" if isinstance(field.type, Unresolved) else field.type.kind.upper()
    return f"{field.name} type:{kind} pos:{place}"


def _check_union(union: Union) -> None:
    seen = set()
    for branch in union.branches:
        if isinstance(branch, Union):
            raise InvalidSchema(f"Nested union: {print_type(union)}")
        if isinstance(branch, Unresolved):
            continue
        name = branch.name.full if isinstance(branch, (Record, Enum, Fixed)) else branch.kind
        if name in seen:
            raise InvalidSchema(f"Duplicate in union:{name}")
        seen.add(name)


def _same_definition(known: Named, again: Named) -> bool:
    """Java lets an enum or a fixed be defined twice alike; a record never, because its fields come later."""
    if isinstance(known, Enum) and isinstance(again, Enum):
        return known.symbols == again.symbols and not known.props
    return isinstance(known, Fixed) and isinstance(again, Fixed) and known.size == again.size and not known.props


def _props(value: dict[str, Any], reserved: frozenset[str]) -> Props:
    return (
        {key: member for key, member in value.items() if key not in reserved} if value.keys() - reserved else NO_PROPS
    )


def _text(value: dict[str, Any], key: str) -> str | None:
    text = value.get(key)
    return text if isinstance(text, str) else None


def _order(value: dict[str, Any]) -> str:
    if "order" not in value:
        return "ascending"
    order = value["order"]
    if not isinstance(order, str) or order.lower() not in _ORDERS:
        shown = order.upper() if isinstance(order, str) else print_json(order)
        raise InvalidSchema(f"No enum constant org.apache.avro.Schema.Field.Order.{shown}")
    return order.lower()


def _number(text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        raise InvalidSchema(f'For input string: "{text}"') from None


def _aliases(value: dict[str, Any]) -> list[str]:
    aliases = value["aliases"]
    if not isinstance(aliases, list):
        raise InvalidSchema(f"aliases not an array: {print_json(value)}")
    for alias in aliases:
        if not isinstance(alias, str):
            raise InvalidSchema(f"alias not a string: {print_json(alias)}")
    return list(dict.fromkeys(aliases))


def _type_aliases(value: dict[str, Any], space: str | None) -> list[Name]:
    return list(dict.fromkeys(name_in(alias, space) for alias in _aliases(value))) if "aliases" in value else []
